"""Server and controllers in one process: ``EmbeddedCluster``.

Read ``cluster`` first (what lives and ends together), then ``controllers`` (the loop that drives the planners),
``webhooks`` (calls to the outside), ``source`` (the real clock and randomness), ``bootstrap`` (default roles) and
``kubeconfig``.
"""

from attractor.embedded.cluster import Address, EmbeddedCluster
from attractor.embedded.source import SystemSource

__all__ = ["Address", "EmbeddedCluster", "SystemSource"]
