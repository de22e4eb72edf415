"""Candidates: the statement that writes them, and the ledger that counts them."""
