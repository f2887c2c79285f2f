"""The only package that starts programs: it spawns, streams, enforces time limits and ends whole process trees."""
