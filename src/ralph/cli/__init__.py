"""The command line: one small module for each command. It parses, calls and prints; it has no logic."""
