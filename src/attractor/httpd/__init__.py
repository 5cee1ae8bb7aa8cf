"""The wire: HTTP/1.1 over TCP and TLS, authentication, authorization, watch streams.

Guarantees: requests on one connection are answered in order, each exactly once; a message that could be read in two
ways (request smuggling) is refused and its connection closed; what a client may make the server keep in memory is
bounded by ``Limits``, and a body that follows its head is not read for who may not ask; a client that reads slowly is
disconnected alone; an internal error is a 500 Status with a reference id, logged under that id; no header or body ever
reaches a log, unless an audit policy asks for bodies.

Read ``parser`` first (bytes to requests, no I/O), then ``connection`` (one client), ``listener`` (all of them),
``router`` (what answers which path), ``watch`` (one event, encoded once, to many watchers) and ``audit`` (what
is written down). What a request on objects means is not decided here but in ``attractor.apiserver``.
"""
