"""The workers, one file each, all of one shape: lease, read, apply, advance, tick (doc 39 §39.5)."""
