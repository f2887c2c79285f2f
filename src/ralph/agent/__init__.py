"""Boundary 1: runs one agent call. Input: a prompt. Output: words, markers, usage and limits."""
