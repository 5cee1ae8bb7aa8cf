"""The commands that are Attractor's own, one module each; those of operators stand with the operators.

A module has ``configure(parser)``, which says what its command takes and sets ``run``: a function from the parsed
arguments to the exit code. ``attractor.cli.registry`` names them; a module is imported when its command is called.
"""
