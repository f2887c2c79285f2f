"""What a project's configuration would start on this machine, and whether this person has approved it."""
