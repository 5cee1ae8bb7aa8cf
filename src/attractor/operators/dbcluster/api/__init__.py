"""The kind ``Cluster`` and its validation."""
