"""Boundary 2: decides whether work passes, by gates, services and pages."""
