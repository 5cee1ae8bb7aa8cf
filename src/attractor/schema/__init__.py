"""Schemas of kinds: read, validate, prune, default, compare.

A kind's schema is a tree of ``Schema`` nodes (module ``node``) read from OpenAPI v3: a CustomResourceDefinition's
structural schema or a built-in definition. Every other module here is a pure function over a node and a JSON value.

Start with ``custom.CustomSchema`` (what a definition's schema means for its objects) and
``structural.check_structural`` (what is said about the schema itself). Validation has two paths: ``accept`` says
"surely valid" natively and fast; only what it does not accept is looked at by ``error_messages``, which says what is
wrong. ``cel`` is the language of validation rules. Those modules are not imported here: they bring native libraries
along.
"""

from attractor.schema.node import Schema

__all__ = ["Schema"]
