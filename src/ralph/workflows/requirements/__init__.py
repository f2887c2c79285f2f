"""The requirements workflow: tasks from a requirements file, steps from a configuration."""
