"""The specs workflow: tasks from `specs/*.md`, one commit for each spec."""
