"""The domain: tasks, plans, outcomes and what comes next. Pure: no files, no processes, no clock."""
