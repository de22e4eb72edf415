"""The fence: leases, cursors, and the transaction of one batch."""
