"""Boundary 1: runs one agent call. Prompt in; words, markers, usage and limits out."""
