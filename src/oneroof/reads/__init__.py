"""What people read: status and trace."""
