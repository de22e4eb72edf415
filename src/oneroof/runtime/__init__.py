"""The runtime: which worker runs when, on which connection."""
