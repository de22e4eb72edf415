"""People, their requests and approvals, gates, owners and exceptions: four eyes."""
