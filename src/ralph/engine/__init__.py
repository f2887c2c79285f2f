"""Selects tasks, runs attempts, lands and settles their outcomes, and recovers after a kill."""
