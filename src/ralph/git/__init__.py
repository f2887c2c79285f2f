"""The git commands that Ralph runs. Never a push, a merge, a force, a stash, or a change to the person's files."""
