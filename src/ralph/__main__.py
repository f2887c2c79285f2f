"""`python -m ralph` is the same as `ralph`."""

from ralph.cli.entry import main

if __name__ == "__main__":
    main()
