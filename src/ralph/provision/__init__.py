"""What a clean checkout lacks and gates need: dependency folders, environments, files that git ignores."""
