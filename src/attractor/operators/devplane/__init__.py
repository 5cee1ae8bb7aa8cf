"""The developer control plane: the parts of an application as objects, run on this machine while it is worked on.

An ``Executable`` is a process, an ``ExecutableReplicaSet`` some equal ones. A ``Service`` is one address for whoever
serves it, an ``Endpoint`` one who does just now. A ``Container`` is a container of Docker or Podman, with networks,
volumes and commands inside as objects beside it. ``attractor dev up FILE`` runs what YAML files say.

Guarantees: a process is started at most once for each of its runs, whoever crashes; what it starts ends with it. A
published address never changes. Clients are sent only to processes that run, and whose probes succeed. What is taken
down leaves nothing behind.

It has no tunnels from containers to processes of the machine yet. One machine, Linux only.

Read ``api.executables`` and ``api.services`` first; in ``controllers``, ``executables`` (with ``launch``, ``health``,
``run_status``) and ``replica_sets``, then ``endpoints`` and ``services``; ``declarations`` has all of them together.
``drivers`` says what they need of the machine, and ``drivers.local`` is the machine. ``cli`` is ``attractor dev``.
Of containers, read
``api.containers`` and ``controllers.containers``. ``proofs.worlds``, ``proofs.service_worlds`` and
``proofs.container_worlds`` are what is proved.
"""
