"""The server's own controllers as planners: each maps a snapshot to the writes that are due."""
