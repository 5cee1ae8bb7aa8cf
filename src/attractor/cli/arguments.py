"""Types of arguments that several commands take; each refuses what makes no sense, in words."""

from __future__ import annotations

import argparse
import math

from attractor.objects.names import dns1123_label, dns1123_subdomain


def positive(text: str) -> int:
    """A whole number above 0."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def seconds(text: str) -> float:
    """A time that is not negative."""
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not (0 <= found < math.inf):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds")
    return found


def namespace(text: str) -> str:
    """The name of a namespace, or nothing."""
    if text and (why := dns1123_label(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a namespace: {why[0]}")
    return text


def object_name(text: str) -> str:
    """A name as most objects have one, or nothing."""
    if text and (why := dns1123_subdomain(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of an object: {why[0]}")
    return text
