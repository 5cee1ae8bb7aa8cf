"""Kubernetes objects as values: kinds, keys, metadata, schemas, selectors, patches, API errors.

Guarantees: everything here is pure. No function opens a socket, reads a clock, draws a random number, or mutates
what it was given unless its name says so. Wire objects are plain JSON values (``dict``, ``list``, ``str``, ``int``,
``float``, ``bool``, ``None``); typed resources are views on them that lose nothing.

Start with ``gvk`` (names of things) and ``errors`` (how the API says no), then ``schema`` and ``patch``.
"""
