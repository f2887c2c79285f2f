"""Detects, undoes and reports changes that agents must not make, and restores plans after a killed run."""
