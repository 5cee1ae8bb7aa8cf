"""Options of ``attractor run`` for webhooks: where they are served, under which name, with which certificate."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.commands import serve
from attractor.objects.gvk import Key
from attractor.objects.names import dns1123_label

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator

    from attractor.cli.operator.operator_module import OperatorModule
    from attractor.client import Client
    from attractor.objects.json_types import JsonObject
    from attractor.webhookserver.certificate_stores import Keeper

ANY_HOST = {"0.0.0.0", "::", ""}  # noqa: S104 - compared with, not listened on


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group("webhooks", "An embedded cluster asks the module's webhooks in process.")
    group.add_argument(
        "--webhooks", default="", metavar="HOST:PORT", help="serve the module's webhooks there, by HTTPS"
    )
    group.add_argument(
        "--webhooks-service", default="", metavar="NAMESPACE/NAME",
        help="the Service that leads there; its certificate is kept in the Secret NAME-certificate beside it "
        "(default: the API server calls HOST:PORT, with a certificate of this process)",
    )  # fmt: skip
    group.add_argument(
        "--webhooks-name", default="", metavar="NAME", help="the webhook configurations (default: MODULE-webhooks)"
    )
    group.add_argument(
        "--webhooks-cert", type=Path, metavar="FILE", help="a certificate that somebody else renews, PEM"
    )
    group.add_argument("--webhooks-key", type=Path, metavar="FILE", help="its private key, PEM")
    group.add_argument(
        "--webhooks-ca", type=Path, metavar="FILE",
        help="the authority to write into the configurations, PEM (default: with --webhooks-cert, nothing is written)",
    )  # fmt: skip


def require_sense(args: argparse.Namespace) -> None:
    """Raise ``ServeError`` for options that would be given in vain."""
    is_elsewhere = args.kubeconfig is not None or args.in_cluster
    if args.webhooks and not is_elsewhere:
        raise serve.ServeError("--webhooks is for a cluster elsewhere", "drop it: an embedded one asks in process")
    for option in ("service", "name", "cert", "key", "ca"):
        if getattr(args, f"webhooks_{option}") and not args.webhooks:
            raise serve.ServeError(
                f"--webhooks-{option} says how webhooks are served, and they are not", "give --webhooks HOST:PORT"
            )
    if (args.webhooks_cert is None) != (args.webhooks_key is None):
        raise serve.ServeError("--webhooks-cert and --webhooks-key belong together", "give both, or neither")


def service_of(text: str) -> Key | None:
    """The Service that is named, if any; raises ``ServeError``."""
    if not text:
        return None
    namespace, slash, name = text.partition("/")
    if not slash or dns1123_label(namespace) or dns1123_label(name):
        raise serve.ServeError(f"--webhooks-service {text!r} names no Service", "write it as NAMESPACE/NAME")
    return Key(namespace, name)


@contextlib.asynccontextmanager
async def serving_webhooks(args: argparse.Namespace, loaded: OperatorModule, client: Client) -> AsyncIterator[None]:
    """Serve a module's webhooks while a block lasts, if they are to be; raises ``ServeError``."""
    if not args.webhooks:
        if loaded.webhooks and (args.kubeconfig is not None or args.in_cluster):
            print("note: the module's webhooks are not served; serve them with --webhooks HOST:PORT", file=sys.stderr)
        yield
        return
    from attractor.objects.errors import ApiError
    from attractor.webhooks import WebhookSet
    from attractor.webhookserver import Publisher, WebhookServer

    host, port = serve.parse_address(args.webhooks, "--webhooks")
    service = service_of(args.webhooks_service)
    hooks = WebhookSet(loaded.webhooks)

    def where(path: str) -> JsonObject:
        if service is not None:
            return {"service": {"namespace": service.namespace, "name": service.name, "path": path}}
        named = f"[{host}]" if ":" in host else host
        return {"url": f"https://{named}:{server.port}{path}"}

    publisher = Publisher(
        client, args.webhooks_name or f"{loaded.name}-webhooks", hooks, where, spared=_spared(service)
    )
    server = WebhookServer(hooks, _keeper(args, client, service, host), publisher)
    async with contextlib.AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(server.serving(host, port))
        except ApiError as error:
            raise serve.ServeError(
                f"the webhooks cannot be registered: {error.message}",
                "see that this user may; `attractor manifests` grants it, and prints what is to be there",
            ) from error
        except OSError as error:
            raise serve.ServeError(f"the webhooks cannot be served: {error}", "choose another --webhooks") from error
        print(f"webhooks:    https://{host}:{server.port}", flush=True)
        try:
            yield
        finally:
            if service is None and args.webhooks_cert is None:
                with contextlib.suppress(ApiError):
                    await publisher.withdraw()


def _spared(service: Key | None) -> tuple[str, ...]:
    return () if service is None else (service.namespace, "kube-system")


def _keeper(args: argparse.Namespace, client: Client, service: Key | None, host: str) -> Keeper:
    from attractor.webhookserver import FileCertificates, MemoryCertificates, SecretCertificates

    if args.webhooks_cert is not None:
        return FileCertificates(args.webhooks_cert, args.webhooks_key, args.webhooks_ca)
    if service is None:
        if host in ANY_HOST:
            raise serve.ServeError(
                f"--webhooks {args.webhooks} is no address that an API server can call",
                "give one that it reaches, or --webhooks-service NAMESPACE/NAME",
            )
        return MemoryCertificates([host])
    name = f"{service.name}.{service.namespace}.svc"
    secret = Key(service.namespace, f"{service.name}-certificate")
    return SecretCertificates(client, secret, [name, f"{name}.cluster.local"])
