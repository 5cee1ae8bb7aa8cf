"""Objects by key and by what index functions say about them.

Worked example: the index ``owner`` says {"u1"} for pod a and {"u1", "u2"} for pod b. ``keys("owner", "u1")`` is
{a, b}; after b is put again with {"u2"}, it is {a}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.objects.compiling import mypyc_attr

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from attractor.client.kinds import EncodedObject
    from attractor.objects.gvk import Key

    IndexFunction = Callable[[Any], Iterable[str]]


@mypyc_attr(allow_interpreted_subclasses=True)
class Indexer:
    """A map of objects with indexes. ``decode`` turns an object's text into what index functions are given."""

    def __init__(self, decode: Callable[[EncodedObject], Any], indexes: Mapping[str, IndexFunction]) -> None:
        self._decode = decode
        self._functions = dict(indexes)
        self._objects: dict[Key, EncodedObject] = {}
        self._keys: dict[str, dict[str, set[Key]]] = {name: {} for name in self._functions}
        """By index and value, the keys that have it; values that no object has are not kept."""
        self._values: dict[str, dict[Key, frozenset[str]]] = {name: {} for name in self._functions}
        """By index and key, the values it has; keys without values are not kept."""
        self._asked: dict[tuple[str, Key], tuple[EncodedObject, frozenset[str]]] = {}
        """The last answer of ``values_of`` for each index and key: readers ask again until the watch has caught up."""

    def check_invariants(self) -> None:
        """Assert the invariants, which hold between any two calls."""
        for name, by_key in self._values.items():
            inverted: dict[str, set[Key]] = {}
            for key, values in by_key.items():
                assert key in self._objects, f"index {name} has a key without an object"
                assert values, f"index {name} keeps a key without values"
                for value in values:
                    inverted.setdefault(value, set()).add(key)
            assert inverted == self._keys[name], f"index {name} and its inverse differ"

    def __len__(self) -> int:
        return len(self._objects)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._objects)

    def __contains__(self, key: Key) -> bool:
        return key in self._objects

    def get(self, key: Key) -> EncodedObject | None:
        """The object, if there is one."""
        return self._objects.get(key)

    def put(self, obj: EncodedObject) -> None:
        """Take up an object, in place of one with the same key; whatever index functions raise, nothing is changed."""
        values = self._all_values(obj)
        self.discard(obj.key)
        self._objects[obj.key] = obj
        for name, found in values.items():
            if found:
                self._values[name][obj.key] = found
                for value in found:
                    self._keys[name].setdefault(value, set()).add(obj.key)

    def _all_values(self, obj: EncodedObject) -> dict[str, frozenset[str]]:
        """The values of every index for an object, which is decoded once for all of them."""
        if not self._functions:
            return {}
        decoded = self._decode(obj)
        return {name: frozenset(function(decoded)) for name, function in self._functions.items()}

    def discard(self, key: Key) -> None:
        """Forget an object, if it is there."""
        for name in self._functions:
            self._asked.pop((name, key), None)
        if self._objects.pop(key, None) is None:
            return
        for name, by_key in self._values.items():
            for value in by_key.pop(key, ()):
                keys = self._keys[name][value]
                keys.remove(key)
                if not keys:
                    del self._keys[name][value]

    def add_index(self, name: str, function: IndexFunction) -> None:
        """One more index, over what is there and what comes."""
        if self._functions.get(name) is function:
            return
        if name in self._functions:
            raise ValueError(f"there is an index {name!r} already, with another function; choose another name")
        values = {key: frozenset(function(self._decode(obj))) for key, obj in self._objects.items()}
        self._functions[name] = function
        self._values[name] = {key: found for key, found in values.items() if found}
        self._keys[name] = {}
        for key, found in self._values[name].items():
            for value in found:
                self._keys[name].setdefault(value, set()).add(key)

    def values_of(self, name: str, obj: EncodedObject) -> frozenset[str]:
        """Return the values of an index for an object."""
        known = self._asked.get((name, obj.key))
        if known is not None and known[0] is obj:
            return known[1]
        found = frozenset(self._function(name)(self._decode(obj)))
        self._asked[name, obj.key] = (obj, found)
        return found

    def keys(self, name: str, value: str) -> frozenset[Key]:
        """The keys of the objects that have a value in an index."""
        self._function(name)
        return frozenset(self._keys[name].get(value, ()))

    def _function(self, name: str) -> IndexFunction:
        try:
            return self._functions[name]
        except KeyError:
            known = ", ".join(sorted(self._functions)) or "none"
            raise LookupError(
                f"there is no index {name!r}; add it to the informer first (there are: {known})"
            ) from None

    def objects(self) -> Mapping[Key, EncodedObject]:
        """Everything, to be looked at only."""
        return self._objects
