"""The API server without I/O: ``(request, transaction) -> response``.

Guarantees: ``core.handle`` is a pure function of the request and of what the transaction shows and hands out (the
stored objects, the time, fresh uids and name suffixes). It writes only into the transaction. The same code answers
sockets, in-process clients and the model checker.
"""
