"""Operators that come with Attractor: real controllers, each in ``types``, ``controller`` and ``properties``.

They are the examples to copy from and the measure of the framework: each runs on the embedded server and on any
cluster, and each is proved by the checker. ``types`` and ``controller`` use only what a controller's author may use;
``properties`` says what the operator promises, and is the one part that knows the checker.

Start with ``configpair``, the smallest.
"""
