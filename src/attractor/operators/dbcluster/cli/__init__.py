"""``attractor demo dbcluster``."""
