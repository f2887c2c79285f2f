"""Tells a person what happens in a run: on the desktop, by a command, or over the network. A run never waits for it."""
