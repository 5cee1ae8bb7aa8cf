"""The order of a merged list: the patch decides among its items, the server among the rest.

Worked example: the server has ``[a, x, b, y]`` and the patch names ``[b, a]``. The patch's items come as ``b, a``, the
server's own stay ``x, y``, and both runs are woven: before each item of the patch go those of the server that stood
before it. ``x`` stood before ``b``, nothing left stood before ``a``, so the list becomes ``[x, b, a, y]``. An item that
is new to the server has no place there: it goes first, so the patch ``[n]`` makes ``[n, a, x, b, y]``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def in_order_of(merged: list[Any], order: list[Any], server: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
    """The merged items: those that ``order`` names in its order, the others woven in by their place on the server."""
    rank: dict[Any, int] = {}
    for place, name in enumerate(order):
        rank.setdefault(name, place)
    patched = sorted((item for item in merged if identity(item) in rank), key=lambda item: rank[identity(item)])
    rest = [item for item in merged if identity(item) not in rank]
    if not rest or not patched:
        return patched or rest
    return _woven(patched, rest, server, identity)


def _woven(patched: list[Any], rest: list[Any], server: list[Any], identity: Callable[[Any], Any]) -> list[Any]:
    """Weave two runs: an item of ``rest`` goes first when it stood before the next patched item on the server."""
    places: dict[Any, int] = {}
    for place, item in enumerate(server):
        places.setdefault(identity(item), place)
    rest = sorted(rest, key=lambda item: places[identity(item)])
    woven: list[Any] = []
    left = 0
    for item in patched:
        place = places.get(identity(item), 0)  # nothing stood before an item that is new
        while left < len(rest) and places[identity(rest[left])] < place:
            woven.append(rest[left])
            left += 1
        woven.append(item)
    return woven + rest[left:]
