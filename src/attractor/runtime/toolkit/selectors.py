"""Label selectors of specs: which objects a ``LabelSelector`` chooses.

Contract: as Kubernetes reads it: all rules must hold, an empty selector chooses everything, and none chooses nothing.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from attractor.objects import labels as matching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from attractor.objects.resource.metadata import LabelSelector

Rules = tuple[tuple[str, str, tuple[str, ...]], ...]
_OPERATORS = {"In": "in", "NotIn": "notin", "Exists": "exists", "DoesNotExist": "!"}


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Return whether a selector of a spec chooses an object with these labels."""
    if selector is None:
        return False
    wanted = selector.match_labels
    if any(labels.get(name) != value for name, value in wanted.items()):
        return False
    if not selector.match_expressions:
        return True
    return _compiled(tuple((one.key, one.operator, tuple(one.values)) for one in selector.match_expressions))(labels)


@lru_cache(maxsize=1024)
def _compiled(rules: Rules) -> Callable[[Mapping[str, str]], bool]:
    found = [matching.Requirement.checked(key, _OPERATORS[operator], values) for key, operator, values in rules]
    return matching.LabelSelector(found).matches
