"""The demo: a small sample project, a scripted agent, and the real everything else."""
