"""A ConfigPair is two ConfigMaps with the same value: the smallest operator that can go wrong.

``types`` is the kind, ``controller`` the right controller and the naive one, ``properties`` what a pair promises and
the world in which the checker judges both. The naive one works on every good day; ``make demo`` shows the bad one.
"""
