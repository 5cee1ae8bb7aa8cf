"""Workers of a controller: from a watch event to a key of the queue, to a reconcile, to what follows it.

Guarantees: one object is never reconciled twice at once; a change is never missed, only joined with others; a reconcile
that fails or hangs hurts nobody else. Read ``running_controller`` first (queue, workers, limits), then ``routing``
(events to keys), ``driver`` and ``performer`` (who answers effects), ``views`` (the cached kinds of one controller) and
``outcome``; ``overdue``, ``self_triggers`` and ``unawaited`` find mistakes of authors while the controller runs.
"""
