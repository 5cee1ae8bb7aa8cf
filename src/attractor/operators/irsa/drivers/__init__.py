"""AWS IAM behind one protocol: the real one, and a simulated one."""
