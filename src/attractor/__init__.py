"""Attractor: write, run and prove Kubernetes-style controllers in Python.

An attractor is the set of states that a system falls into from every start and then never leaves. Delivering
"eventually always desired" is what a controller owes its users, and what this package is for.

Read ``ARCHITECTURE.md`` for the house and its floors; each package's docstring says what it guarantees.
"""

__version__ = "0.1.0"
