"""The feature workflow: `ralph run FEATURE`."""
