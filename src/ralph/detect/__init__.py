"""Finds out what a project already says about itself: its checks, its services, and what manages its dependencies."""
