"""What happened, typed and timed; every view, metric and log is made from it."""
