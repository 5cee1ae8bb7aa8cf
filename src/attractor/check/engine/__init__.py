"""The engines that explore a model: the native kernel, the Python oracle, liveness, symmetry."""
