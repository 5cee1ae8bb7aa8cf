"""The audit log of a running server: which requests are told of, and where the lines go."""
