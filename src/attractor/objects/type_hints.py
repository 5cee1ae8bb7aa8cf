"""Annotations, whenever Python evaluates them: at once, never (``from __future__ import annotations``), or when asked.

The last is the rule from Python 3.14 on. A name that does not exist, or not yet, such as one that is imported for type
checkers only, is then an error for whoever asks, and none for whoever wrote it; here it is none for either.

A class body, before there is a class, keeps its annotations as a dictionary, or as a function that evaluates them.
"""

from __future__ import annotations

import inspect
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

if sys.version_info >= (3, 14):
    from annotationlib import (
        Format,
        ForwardRef,
        call_annotate_function,
        get_annotate_from_class_namespace,
        get_annotations,
    )

    def hints_of(owner: Any) -> dict[str, Any]:
        """The annotations of a class or function; as text where they cannot be evaluated."""
        found = get_annotations(owner, format=Format.FORWARDREF)
        return {name: hint.__forward_arg__ if isinstance(hint, ForwardRef) else hint for name, hint in found.items()}

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """What a function takes."""
        return inspect.signature(function, annotation_format=Format.FORWARDREF)

    def hints_in(body: dict[str, Any]) -> dict[str, Any]:
        """What a class body annotates; hints that cannot be evaluated yet are forward references."""
        annotate = get_annotate_from_class_namespace(body)
        if annotate is None:
            written: dict[str, Any] = body.get("__annotations__", {})
            return written
        return call_annotate_function(annotate, Format.FORWARDREF)

    def annotate_more(body: dict[str, Any], more: Mapping[str, type]) -> None:
        """Annotate further names in a class body."""
        annotate = get_annotate_from_class_namespace(body)
        if annotate is None:
            body["__annotations__"] = {**hints_in(body), **more}
        else:
            body["__annotate_func__"] = _with(annotate, more)

    def _with(annotate: Callable[[Format], dict[str, Any]], more: Mapping[str, type]) -> Callable[[Format], Any]:
        def annotate_all(format: Format, /) -> dict[str, Any]:  # noqa: A002 - the protocol's name
            if format == Format.VALUE_WITH_FAKE_GLOBALS:
                raise NotImplementedError(format)
            added = {name: hint.__name__ for name, hint in more.items()} if format == Format.STRING else more
            return {**call_annotate_function(annotate, format), **added}

        return annotate_all

else:

    def hints_of(owner: Any) -> dict[str, Any]:
        """The annotations of a class or function, as they are: evaluated or as text."""
        written: dict[str, Any] = getattr(owner, "__annotations__", {})
        return written

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """What a function takes."""
        return inspect.signature(function)

    def hints_in(body: dict[str, Any]) -> dict[str, Any]:
        """What a class body annotates."""
        written: dict[str, Any] = body.get("__annotations__", {})
        return written

    def annotate_more(body: dict[str, Any], more: Mapping[str, type]) -> None:
        """Annotate further names in a class body."""
        body["__annotations__"] = {**hints_in(body), **more}
