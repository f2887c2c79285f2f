"""Boundary 2: decides. Gates, services, pages, and the files no agent may touch."""
