"""The front door: one small module for each command. Parses, calls, prints; no logic."""
