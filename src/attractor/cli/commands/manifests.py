"""``attractor crd`` and ``attractor manifests``: YAML from a module's kinds and controllers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from attractor.cli.arguments import namespace, positive
from attractor.cli.operator.operator_module import HELP, definitions, load, need_controllers
from attractor.cli.operator.python_modules import ModuleError
from attractor.cli.terminal import say
from attractor.objects.names import dns1123_label
from attractor.objects.resource import yaml_text

if TYPE_CHECKING:
    import argparse

    from attractor.objects.json_types import JsonObject


def configure_crd(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor crd`` takes."""
    parser.description = "Print the CustomResourceDefinitions of the kinds that a module defines or uses."
    parser.epilog = "example:\n  attractor crd my_operator.py | kubectl apply -f -"
    parser.add_argument("module", metavar="MODULE[:NAME]", help=HELP)
    parser.set_defaults(run=print_crds)


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor manifests`` takes."""
    parser.description = (
        "Print CRDs, RBAC, ServiceAccount, Lease role, webhooks, Deployment and PodDisruptionBudget, ready to apply."
    )
    parser.epilog = "example:\n  attractor manifests my.operator --image example.org/my-operator:1 | kubectl apply -f -"
    parser.add_argument("module", metavar="MODULE[:NAME]", help=HELP)
    parser.add_argument(
        "--image", default="", metavar="IMAGE", help="the container image that has the module (default: NAME:latest)"
    )
    parser.add_argument("--name", default="", metavar="NAME", help="what to call it (default: the module's name)")
    parser.add_argument(
        "--namespace", type=namespace, default="default", metavar="NAME", help="where it runs (default: default)"
    )
    parser.add_argument(
        "--watch-namespace",
        type=namespace,
        default="",
        metavar="NAME",
        help="reconcile one namespace only, with rights only there",
    )
    parser.add_argument(
        "--replicas", type=positive, default=2, metavar="N", help="how many, of which one leads (default: 2)"
    )
    parser.add_argument(
        "--cert-manager",
        action="store_true",
        help="have cert-manager make the certificate of webhooks (default: the operator makes and renews its own)",
    )
    parser.set_defaults(run=print_manifests)


def print_crds(args: argparse.Namespace) -> int:
    """Print CRDs; 0, or 2 when the module cannot be used."""
    try:
        found = definitions(load(args.module))
        _print(found)
        if not found:
            print(f"note: {args.module} has no kinds of its own, so there is nothing to print", file=sys.stderr)
    except ModuleError as error:
        print(f"error: {error}\n\nhint: {error.hint}", file=sys.stderr)
        return 2
    return 0


def print_manifests(args: argparse.Namespace) -> int:
    """Print manifests; 0, or 2 when the module cannot be used."""
    from attractor.runtime.manifests import Operator, manifests
    from attractor.webhooks import WebhookSet

    try:
        loaded = load(args.module)
        need_controllers(loaded)
        definitions(loaded)
        name = _named(args.name or loaded.name)
    except ModuleError as error:
        print(f"error: {error}\n\nhint: {error.hint}", file=sys.stderr)
        return 2
    operator = Operator(
        name=name,
        namespace=args.namespace,
        image=args.image or f"{name}:latest",
        module=args.module,
        watch_namespace=args.watch_namespace,
        replicas=args.replicas,
        webhooks=WebhookSet(loaded.webhooks),
        cert_manager=args.cert_manager,
    )
    _print(manifests(operator, loaded.controllers, loaded.kinds))
    if not args.image:
        print(f"note: the image is {operator.image}; name another with --image", file=sys.stderr)
    return 0


def _named(name: str) -> str:
    if why := dns1123_label(name):
        raise ModuleError(f"{name!r} cannot be the name of an operator: {why[0]}", "choose another with --name")
    return name


def _print(documents: list[JsonObject]) -> None:
    if documents:
        say([yaml_text.dump_all(documents).rstrip("\n")])
