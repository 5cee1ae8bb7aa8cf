"""Answers about the server itself: health, metrics, flags, fairness, the token issuer."""
