"""The proof: one snapshot, what it has to show, and the certificate."""
