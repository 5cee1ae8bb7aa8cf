"""The database engine: its configuration, its client, and a node that runs it as local processes."""
