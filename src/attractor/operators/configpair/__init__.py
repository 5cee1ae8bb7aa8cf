"""A ConfigPair is two ConfigMaps with the same value: the smallest operator that can go wrong.

``api`` is the kind, ``controllers`` the right controller and the naive one, ``proofs`` what a pair promises and the
world in which the checker judges both, ``cli`` the demonstration. The naive one works on every good day; ``attractor
demo`` shows the bad one.

Guarantees, proved: whatever crashes, and whoever writes meanwhile, both ConfigMaps end up with the pair's value, and go
with it.
"""
