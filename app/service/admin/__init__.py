"""Keys, audit trail, backup, recovery and the state of the system."""
