"""The kinds of the edge operator, their states and actors, admission and access."""
