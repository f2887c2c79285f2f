"""The only place that starts programs: spawn, stream, time out, and end the whole tree."""
