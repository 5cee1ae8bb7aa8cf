"""What runs a database: the engine's configuration, its client, a node of local processes."""
