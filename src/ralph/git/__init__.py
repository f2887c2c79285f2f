"""What Ralph asks of git. Never a push, a merge, a force, a stash, or a person's file."""
