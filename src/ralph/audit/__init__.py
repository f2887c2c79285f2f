"""Finds in a difference what weakens the checks: tests, assertions, and what the gates lead to."""
