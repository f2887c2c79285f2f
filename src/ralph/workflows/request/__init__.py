"""The request workflow: research, decisions, a plan, its execution."""
