"""Formats of answers: discovery, OpenAPI, tables, metadata, YAML, protobuf.

Pure functions from what the server knows (a snapshot of the store, a kind, objects) and what the client says it takes
(``Accept``, ``Content-Type``) to bytes. No sockets, no clock: the time comes in as an argument.

Read ``catalog`` first (what is served), then ``negotiate`` (what the client takes), then any of ``discovery``,
``tables``, ``openapi``, ``protobuf`` (bodies), ``protobuf_answer``.
"""
