"""``attractor edge`` and ``attractor demo edge``.

``command`` parses, ``programs`` are the coordinator and the agent, ``credentials`` is what an administrator hands out
and repairs, ``status`` prints what everything is.
"""
