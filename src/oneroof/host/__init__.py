"""What the host has: its tables, and which of its channels carry rows of ours."""
