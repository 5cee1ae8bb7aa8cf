"""Rules of pods and of all that a pod is made of."""
