"""The tail: which rows of a source are new, and where they lie."""
