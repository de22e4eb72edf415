"""The intake: newest rows, the frontier pass, and what a change marks."""
