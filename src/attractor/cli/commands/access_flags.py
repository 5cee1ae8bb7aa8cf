"""Flags of ``serve`` that say who may do what: which authorizer decides, and which admission is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from attractor.apiserver.auth.authorizer import Authorizer


def add_access_flags(parser: ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument(
        "--disable-admission-plugins",
        default="",
        metavar="NAMES",
        help="admission to leave out, such as ServiceAccount,ValidatingAdmissionWebhook, or all that is for built-in "
        "kinds; a wrong name lists those there are (default: everything is on, as in kube-apiserver)",
    )
    parser.add_argument(
        "--authorization-mode",
        default="RBAC",
        metavar="MODES",
        help="who decides what users may do: RBAC, AlwaysAllow or AlwaysDeny, or several with commas, of which one has "
        "to allow a request (default: RBAC)",
    )


def admission_plugins(disabled: str) -> tuple[str, ...]:
    """Return the admission plug-ins of built-in kinds that stay switched on; raises ``ServeError``."""
    from attractor.apiserver.admission.chain import CHAIN_NAMES
    from attractor.apiserver.admission.plugins import PLUGIN_NAMES
    from attractor.cli.commands.serve import ServeError

    if disabled == "all":
        return ()
    names = _names(disabled)
    every = (*CHAIN_NAMES, *PLUGIN_NAMES)
    unknown = sorted(names - set(every))
    if unknown:
        said = f"there is no admission plug-in {', '.join(unknown)}; there are {', '.join(every)}"
        raise ServeError(f"--disable-admission-plugins: {said}", "see `attractor serve --help`")
    return tuple(name for name in PLUGIN_NAMES if name not in names)


def _names(text: str) -> set[str]:
    return {name.strip() for name in text.split(",") if name.strip()}


def without_admission(disabled: str) -> tuple[str, ...]:
    """Return the plug-ins of every chain that are switched off."""
    from attractor.apiserver.admission.chain import CHAIN_NAMES

    return tuple(name for name in CHAIN_NAMES if name in _names(disabled))


def authorizer_of(modes: str) -> Authorizer | None:
    """Return the authorizer of these modes, None for RBAC alone; raises ``ServeError``."""
    from attractor.apiserver.auth.authorizer import AlwaysAllow, AlwaysDeny
    from attractor.cli.commands.serve import ServeError

    names = _names(modes)
    unknown = sorted(names - {"RBAC", "AlwaysAllow", "AlwaysDeny"})
    if unknown or not names:
        said = f"there is no mode {', '.join(unknown) or repr(modes)}; there are RBAC, AlwaysAllow, AlwaysDeny"
        raise ServeError(
            f"--authorization-mode: {said}", "give RBAC, or AlwaysAllow for a server that trusts everybody"
        )
    if "AlwaysAllow" in names:
        return AlwaysAllow()
    return None if "RBAC" in names else AlwaysDeny()
