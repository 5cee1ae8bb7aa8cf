"""The command line: parsing and printing only.

Guarantees: data goes to stdout, everything else to stderr; exit code 0 means that it holds or was done, 1 violated, 2
that the caller can mend it, 3 inconclusive, 70 a bug of ours. A command imports nothing but what it needs.

Read ``main`` first, then ``registry`` (commands by name, also of operators and other packages) and ``parser``;
``commands`` has a module for each command, ``check`` and ``operator`` what several of them share, ``terminal`` the
voice. It knows no operator: those stand above it, and register their commands in ``attractor.operators.commands``.
"""
