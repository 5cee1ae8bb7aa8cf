"""Schemas of kinds: read, validate, prune, default, compare.

A kind's schema is a tree of ``Schema`` nodes (module ``node``) read from OpenAPI v3: a CustomResourceDefinition's
structural schema or a built-in definition. Every other module here is a pure function over a node and a JSON value.
"""

from attractor.objects.schema.node import Schema

__all__ = ["Schema"]
