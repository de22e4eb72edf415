"""Ratios against the limits that PostgreSQL itself sets, measured side by side in one run."""
