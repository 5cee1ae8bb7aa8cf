"""This machine, for the operators that run something on it: processes and containers, found again. Linux only.

``processes`` tells a process from a later one of the same number, finds those that somebody who died had started, and
ends whole families. ``containers`` is the machine's container runtime. What is written down about them, and what a
process stands for, is each operator's own matter.
"""
