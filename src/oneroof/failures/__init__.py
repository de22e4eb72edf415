"""Failures: which kind an error is, and the items that wait or are dead."""
