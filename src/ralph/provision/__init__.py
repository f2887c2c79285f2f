"""Provides what gates need and a clean checkout lacks: dependency folders, environments and ignored files."""
