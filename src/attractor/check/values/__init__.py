"""Snapshots of values that are part of a state: a closed list of types, compared whole."""
