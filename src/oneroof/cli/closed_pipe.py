"""A closed pipe: the program that reads our output has ended, as `head` does."""

from __future__ import annotations


class ClosedPipe(Exception):
    """The reader of our output is gone, and there is no place left for a message."""
