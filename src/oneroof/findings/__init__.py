"""Findings: open issues of the host's own table, and how they are counted."""
