"""OpenAPI documents: ``/openapi/v2`` and ``/openapi/v3``, of built-in and custom kinds, in JSON and protobuf.

Read ``v3`` first: one document for each group and version, made of ``schemas``, ``paths`` and their ``parameters``.
``v2`` is one document for all of them, which older clients ask for, and ``protobuf`` is its encoding.
"""
