"""The session workflow: four roles that write their own files."""
