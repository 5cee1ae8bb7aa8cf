"""Classic mistakes, each a shipped specification with one thing done wrong: what the checker is measured by.

Every class says in its docstring what is wrong. ``tests/quality`` demands that each is found, by which property, and
after how many steps; the page on the track record lists them all, with the command that shows each again.
"""
