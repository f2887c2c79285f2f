"""The engine: take the next work, make an attempt, settle its outcome, save, again."""
