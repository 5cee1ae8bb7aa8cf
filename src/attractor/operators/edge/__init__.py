"""The edge operator: cloudlets far away, clusters and apps on them, and an agent on each that does the work.

A cloudlet is a namespace: the ``Cloudlet`` of that name in it, and the ``ClusterInst`` and ``AppInst`` objects beside
it. Users write specs. The **coordinator** (``controllers.coordinator``, ``upgrades``) turns wishes into requests and
resolves what went wrong; the **agent** (``controllers.agent``, ``takeover``), one process for each cloudlet with
credentials of its own, does the work with a **driver** (``drivers``) and reports. ``api.states`` has the tables that
both follow. Beside its work an agent reports everything in each session and gives signs of life (``sessions``,
``reporter``), which the coordinator follows (``presence``); renews its token (``drivers.token_renewal``); and tells
people how far it has come (``progress``).

Guarantees: a state is moved only by its owner; there are never two operations on one object at once, and none on an
app during one on its cluster; a cluster goes only after its apps; every wish ends in Ready, NotPresent or a documented
error; when all is quiet, what the coordinator believes is what is there. Several coordinators may run at once.

Read ``api.states`` first, then ``api.types``, ``api.intents`` (the pure decisions), ``controllers.coordinator`` and
``controllers.agent``. ``admission`` makes the API server refuse early what coordinator and agent would not do anyway;
``cli`` has the programs, and ``attractor edge``.
"""
