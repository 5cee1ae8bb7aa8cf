"""Operators that come with Attractor: real controllers, all by one plan.

They are the examples to copy from and the measure of the framework: each runs on the embedded server and on any
cluster, and each is proved by the checker. ``api`` (kinds) and ``controllers`` use only what a controller's author may
use; ``drivers`` reach outside systems; ``proofs`` say what the operator promises, the one part that knows the checker;
``cli`` has its commands and its demonstration, which ``commands`` registers. No operator knows another.

Start with ``configpair``, the smallest.
"""
