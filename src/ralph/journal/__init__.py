"""The journal: typed, timed events, from which every view, metric and log is made."""
