"""Finds out whether a configured agent really works here, with a call or two in a throw-away repository."""
