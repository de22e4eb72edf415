"""Connections, transactions and named queries: the only way to PostgreSQL."""
