"""The production server, caches, queues and workers, run step by step inside a model."""
