"""The engine: takes the next task, makes attempts, settles and lands what they came to, and recovers after a kill."""
