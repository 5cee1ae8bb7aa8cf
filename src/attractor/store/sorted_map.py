"""A persistent sorted map: text keys in order, every old version stays readable, a copy is free.

It is a B+ tree of tuples. A change copies the nodes on one path from the root to a leaf (two or three small tuples
for a hundred thousand keys) and shares all the others with the version before::

    one = SortedMap().set("a", 1).set("b", 2)
    two = one.set("a", 3).delete("b")
    one.get("a"), one.get("b")    # 1, 2: still there
    two.get("a"), two.get("b")    # 3, None

Branches carry the size of their subtree, so that counting a range takes no longer than finding its two ends.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

V = TypeVar("V")

# A leaf is (keys, values). A branch is (separators, children, size): child i holds the keys k with
# separators[i-1] <= k < separators[i]. Plain tuples are made four times as fast as objects with slots, and a write
# makes three of them. A node does not say which of the two it is: the tree's height does.
_Node: TypeAlias = tuple[Any, ...]
Place: TypeAlias = tuple[list[tuple[_Node, int]], _Node, int, V | None]
"""The branches above a key's leaf with the child taken at each, the leaf, the index in it, and what is there."""

FANOUT = 24
"""Most keys of a leaf, most children of a branch; docs/explanation/performance.md has the measurement."""
SPARSE = FANOUT // 4
"""A node with fewer is joined with its neighbour."""

_EMPTY: _Node = ((), ())


class SortedMap(Generic[V]):
    """An immutable sorted map from text to values, none of which is None."""

    __slots__ = ("_height", "_root", "_size")

    def __init__(self, root: _Node = _EMPTY, height: int = 0, size: int = 0) -> None:
        self._root = root
        self._height = height
        self._size = size

    @staticmethod
    def of(keys: Sequence[str], values: Sequence[V]) -> SortedMap[V]:
        """A map of keys that are in order already; many times faster than setting one after the other."""
        half = FANOUT // 2
        nodes: list[_Node] = [
            (tuple(keys[i : i + half]), tuple(values[i : i + half])) for i in range(0, len(keys), half)
        ]
        lows = list(keys[::half])
        new: SortedMap[V] = SortedMap()
        while len(nodes) > 1:
            new._height += 1
            starts = _cuts(len(nodes), half)
            nodes = [
                (tuple(lows[a + 1 : b]), tuple(nodes[a:b]), _sizes(tuple(nodes[a:b]), new._height - 1))
                for a, b in pairwise(starts)
            ]
            lows = [lows[a] for a in starts[:-1]]
        new._root = nodes[0] if nodes else _EMPTY
        new._size = len(keys)
        return new

    def __len__(self) -> int:
        return self._size

    def get(self, key: str) -> V | None:
        """The value of a key."""
        node = self._root
        for _ in range(self._height):
            node = node[1][bisect_right(node[0], key)]
        keys = node[0]
        i = bisect_left(keys, key)
        if i < len(keys) and keys[i] == key:
            found: V = node[1][i]
            return found
        return None

    def set(self, key: str, value: V) -> SortedMap[V]:
        """A map in which the key has this value."""
        return self.set_at(self.place(key), key, value)

    def place(self, key: str) -> Place[V]:
        """Where a key is, or would be, in this very map; ``set_at`` takes it."""
        node = self._root
        path = []
        for _ in range(self._height):
            i = bisect_right(node[0], key)
            path.append((node, i))
            node = node[1][i]
        keys, values = node
        i = bisect_left(keys, key)
        return path, node, i, values[i] if i < len(keys) and keys[i] == key else None

    def set_at(self, place: Place[V], key: str, value: V) -> SortedMap[V]:
        """A map in which the key that the place is of has this value."""
        path, (keys, values), i, before = place
        if before is not None:
            return self._replaced(path, (keys, _with(values, i, value)), 0)
        keys, values = _inserted(keys, i, key), _inserted(values, i, value)
        if len(keys) <= FANOUT:
            return self._replaced(path, (keys, values), 1)
        half = len(keys) // 2
        halves = ((keys[:half], values[:half]), (keys[half:], values[half:]))
        return self._rebuilt(path, halves, (keys[half],), 1)

    def delete(self, key: str) -> SortedMap[V]:
        """A map without the key; this very map if it has none."""
        path, (keys, values), i, before = self.place(key)
        if before is None:
            return self
        leaf = (keys[:i] + keys[i + 1 :], values[:i] + values[i + 1 :])
        if not path or len(keys) > SPARSE:
            return self._replaced(path, leaf, -1)
        return self._rebuilt(path, (leaf,), (), -1)

    def values(self, low: str = "", high: str | None = None, limit: int = 0) -> list[V]:
        """Values of the keys with low <= key < high, in key order; no ``high`` means to the end, no limit means all."""
        node = self._root
        for _ in range(self._height):
            node = node[1][bisect_right(node[0], low)]
        if high is not None and node[0] and node[0][-1] >= high:  # one leaf has it all
            inside: list[V] = list(node[1][bisect_left(node[0], low) : bisect_left(node[0], high)])
            return inside[:limit] if limit else inside
        found: list[V] = []
        for keys, values in self._leaves(low):
            start = bisect_left(keys, low) if not found else 0
            if high is not None and keys[-1] >= high:
                found += values[start : bisect_left(keys, high)]
                break
            found += values[start:]
            if limit and len(found) >= limit:
                break
        return found[:limit] if limit else found

    def keys(self) -> list[str]:
        """All keys in order."""
        return [key for keys, _ in self._leaves("") for key in keys]

    def rank(self, key: str) -> int:
        """How many keys are less than this one."""
        node, before = self._root, 0
        for height in range(self._height, 0, -1):
            i = bisect_right(node[0], key)
            before += _sizes(node[1][:i], height - 1)
            node = node[1][i]
        return before + bisect_left(node[0], key)

    def check_invariants(self) -> None:
        """The order, the balance and the sizes are what the other methods rely on."""
        keys = self.keys()
        assert keys == sorted(set(keys)), "keys are out of order or twice"
        assert _checked(self._root, self._height, "", None) == self._size == len(keys), "a size is wrong"
        assert self._height == 0 or len(self._root[1]) > 1, "a root with one child"

    def _replaced(self, path: list[tuple[_Node, int]], node: _Node, grown: int) -> SortedMap[V]:
        """The map with another node at the path's end, neither split nor joined: the usual case, made fast."""
        for (separators, children, size), i in reversed(path):
            changed = list(children)
            changed[i] = node
            node = (separators, tuple(changed), size + grown)
        return SortedMap(node, self._height, self._size + grown)

    def _rebuilt(
        self, path: list[tuple[_Node, int]], nodes: tuple[_Node, ...], separators: tuple[str, ...], grown: int
    ) -> SortedMap[V]:
        """The map in which the path's end is replaced by one node, or by two with a separator between them."""
        height = 0
        for branch, i in reversed(path):
            old_separators, old_children, size = branch
            if grown < 0 and len(nodes[0][height and 1]) < SPARSE:
                i, width, nodes, separators = _joined(branch, i, nodes[0], height)  # noqa: PLW2901
            else:
                width = 1
            children = (*old_children[:i], *nodes, *old_children[i + width :])
            if len(nodes) != width or separators:
                separators = (*old_separators[:i], *separators, *old_separators[i + width - 1 :])
            else:
                separators = old_separators
            height += 1
            if len(children) <= FANOUT:
                nodes, separators = ((separators, children, size + grown),), ()
            else:
                nodes, separators = _split(separators, children, height)
        if len(nodes) == 2:
            return SortedMap((separators, nodes, self._size + grown), height + 1, self._size + grown)
        root = nodes[0]
        while height and len(root[1]) == 1:
            root = root[1][0]
            height -= 1
        return SortedMap(root, height, self._size + grown)

    def _leaves(self, low: str) -> Iterator[_Node]:
        """The leaves that may hold keys from ``low`` on, none of them empty."""
        stack = []
        node = self._root
        for _ in range(self._height):
            i = bisect_right(node[0], low)
            stack.append(iter(node[1][i + 1 :]))
            node = node[1][i]
        if node[0]:
            yield node
        while stack:
            below = next(stack[-1], None)
            if below is None:
                stack.pop()
                continue
            for _ in range(self._height - len(stack)):
                children = iter(below[1])
                below = next(children)
                stack.append(children)
            yield below


@lru_cache(maxsize=1024)
def prefix_end(prefix: str) -> str | None:
    """The least text greater than every text with that prefix; None if there is none."""
    for i in range(len(prefix) - 1, -1, -1):
        if prefix[i] != "\U0010ffff":
            return prefix[:i] + chr(ord(prefix[i]) + 1)
    return None


# Through a list: three times as fast as adding slices of tuples.


def _with(items: tuple[Any, ...], i: int, item: object) -> tuple[Any, ...]:
    """The same items but one."""
    changed = list(items)
    changed[i] = item
    return tuple(changed)


def _inserted(items: tuple[Any, ...], i: int, item: object) -> tuple[Any, ...]:
    """The same items and one more."""
    changed = list(items)
    changed.insert(i, item)
    return tuple(changed)


def _sizes(nodes: tuple[_Node, ...], height: int) -> int:
    """How many keys some siblings hold together."""
    return sum(node[2] for node in nodes) if height else sum(len(node[0]) for node in nodes)


def _cuts(length: int, width: int) -> list[int]:
    """Where to cut siblings into parts of about that width, none of them with less than two unless there is but one."""
    parts = max(length // width, 1)
    return [length * part // parts for part in range(parts + 1)]


def _split(
    separators: tuple[str, ...], children: tuple[_Node, ...], height: int
) -> tuple[tuple[_Node, ...], tuple[str, ...]]:
    """Two branches of height ``height`` out of one that is too wide, and what separates them."""
    half = len(children) // 2
    low, high = children[:half], children[half:]
    halves = (
        (separators[: half - 1], low, _sizes(low, height - 1)),
        (separators[half:], high, _sizes(high, height - 1)),
    )
    return halves, (separators[half - 1],)


def _joined(branch: _Node, i: int, child: _Node, height: int) -> tuple[int, int, tuple[_Node, ...], tuple[str, ...]]:
    """Join a sparse child (or what became of it) with a neighbour.

    Answers the place of the first child replaced, how many are replaced, by which nodes, and their separators.
    """
    separators, children, _ = branch
    left, right = (children[i - 1], child) if i else (child, children[1])
    i = max(i - 1, 0)
    if height == 0:
        keys, values = left[0] + right[0], left[1] + right[1]
        if len(keys) <= FANOUT:
            return i, 2, ((keys, values),), ()
        half = len(keys) // 2
        return i, 2, ((keys[:half], values[:half]), (keys[half:], values[half:])), (keys[half],)
    inner = (*left[0], separators[i], *right[0])
    below = left[1] + right[1]
    if len(below) <= FANOUT:
        return i, 2, ((inner, below, left[2] + right[2]),), ()
    nodes, between = _split(inner, below, height)
    return i, 2, nodes, between


def _checked(node: _Node, height: int, low: str, high: str | None) -> int:
    """Check a subtree whose keys must lie in [low, high); answers its size."""
    if height == 0:
        assert len(node[0]) == len(node[1]) <= FANOUT
        assert all(low <= key and (high is None or key < high) for key in node[0]), "a key is in the wrong leaf"
        return len(node[0])
    separators, children = node[0], node[1]
    assert len(separators) == len(children) - 1, "separators do not fit the children"
    assert 1 <= len(children) <= FANOUT
    bounds: list[Any] = [low, *separators, high]
    found = sum(_checked(child, height - 1, bounds[i], bounds[i + 1]) for i, child in enumerate(children))
    assert found == node[2], "a branch does not know its size"
    return found
