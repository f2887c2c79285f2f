"""What agents must not change: noticed, undone and reported; and what a killed run's agents must not have changed."""
