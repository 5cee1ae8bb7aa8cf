"""Stand-ins for the programs that controller-runtime's envtest starts: ``kube-apiserver``, ``etcd`` and ``kubectl``.

Whatever looks for ``KUBEBUILDER_ASSETS`` finds them in the directory that ``attractor envtest path`` prints, and starts
Attractor's server as it would start the originals: the same flags, the same health endpoints, the same signals. Begin
with ``apiserver_flags``, which says what becomes of each flag. ``programs`` writes the directory.
"""
