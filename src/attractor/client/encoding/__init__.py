"""Objects on the wire: where a kind is served, and how its objects are decoded.

``mapping`` finds a kind's resource and ``paths`` its URL; ``codec`` decodes whole objects, ``heads`` only what a cache
needs of them.
"""
