"""Encloses programs that Ralph does not trust: what they may write, read and talk to."""
