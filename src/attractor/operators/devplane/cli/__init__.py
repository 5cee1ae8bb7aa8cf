"""``attractor dev`` and ``attractor demo devplane``.

``command`` parses, ``up`` runs a plane until it is told to stop, ``session`` is what it applies and takes down,
``view`` prints its objects, ``log_tail`` what its processes write.
"""
