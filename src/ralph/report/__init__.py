"""What the runs of a plan did, and what they left: collected as facts, then written as Markdown, a page or JSON."""
