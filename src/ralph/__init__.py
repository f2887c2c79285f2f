"""Ralph: any AI coding agent in a loop, and only your own checks decide what is done."""

__version__ = "0.1.0"
