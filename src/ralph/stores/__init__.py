"""How plans are stored on disk: atomic files, the lock, records and the task codec."""
