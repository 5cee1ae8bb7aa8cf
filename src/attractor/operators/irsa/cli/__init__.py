"""``attractor demo irsa``."""
