"""The kinds of the edge operator, their states and actors, intents and access."""
