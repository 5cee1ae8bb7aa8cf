"""Bytes between two processes: sockets that never block, plain or over TLS.

The server's connections and the client's stand on the same ``Link``. It guarantees: what is written goes out in order
and whole, or the party at this end is told that the connection is lost, once; what comes in is handed on in order; a
party hears of the end in a turn of its own, never within a call that it makes itself.

asyncio's transports guarantee the same, in some forty calls of Python for an answer over TLS; a link needs five. Read
``link`` first, then ``poller``, which finds out for all links of an event loop who has something to read, and ``tls``,
which knows no sockets. Nothing here knows HTTP.
"""
