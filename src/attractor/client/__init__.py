"""The client: one protocol for every Kubernetes API server, over sockets or in process.

Guarantees: objects handed out are the caller's own; unknown fields survive a round trip; a write is never repeated once
it may have happened. Read ``client`` first (what it offers), then ``transport`` (the seam), ``kinds`` (how a caller
names a kind), ``verbs`` (each call and what it raises) and ``errors``; ``encoding`` is about objects on the wire,
``configuration`` and ``http`` are the way to real servers. It knows nothing of servers: the in-process transport is
given its handler.
"""

from attractor.client.client import Client
from attractor.client.configuration.config import ClientConfig, in_cluster_config
from attractor.client.configuration.kubeconfig import find_config, load_kubeconfig
from attractor.client.errors import AnswerLost, ConfigError, CredentialsUnavailable, GarbledAnswer, ServerUnreachable
from attractor.client.events import Bookmark, Event, WatchEvent
from attractor.client.kinds import Encoded, EncodedObject, MetadataOnly, ObjectList, PartialObjectMetadata, Scale
from attractor.client.transport import ByteStream, ClientRequest, ClientResponse, Transport
from attractor.client.verbs.retry import NO_RETRY, RetryPolicy
from attractor.client.verbs.watch import Watch
from attractor.client.verbs.write_observer import WriteObserver

__all__ = [
    "NO_RETRY",
    "AnswerLost",
    "Bookmark",
    "ByteStream",
    "Client",
    "ClientConfig",
    "ClientRequest",
    "ClientResponse",
    "ConfigError",
    "CredentialsUnavailable",
    "Encoded",
    "EncodedObject",
    "Event",
    "GarbledAnswer",
    "MetadataOnly",
    "ObjectList",
    "PartialObjectMetadata",
    "RetryPolicy",
    "Scale",
    "ServerUnreachable",
    "Transport",
    "Watch",
    "WatchEvent",
    "WriteObserver",
    "find_config",
    "in_cluster_config",
    "load_kubeconfig",
]
