"""Sources: the tables that are followed, and how their rows are read."""
