"""``attractor dev`` and ``attractor demo devplane``.

``command`` parses; ``application_files`` finds and reads what is to run; ``up`` runs a plane until it is told to stop,
``detached`` does so in the background; ``session`` is what it applies and takes down. ``view`` prints its objects,
``logs`` and ``log_tail`` what its processes write. ``waiting``, ``restarts`` and ``mcp`` ask a plane that runs, by
``plane_client``.
"""
