"""Signals: their types, the outbox and the inbox."""
