"""`python -m oneroof` is `oneroof`."""

from oneroof.cli import main

if __name__ == "__main__":
    main()
