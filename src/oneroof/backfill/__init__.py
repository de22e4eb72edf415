"""The backfill: an inventory from its beginning, in ranges or whole."""
