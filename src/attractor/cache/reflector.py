"""The reflector: how a view follows a server, as a state machine without clock or sockets.

    Listing ──listed──▶ Opening ──opened──▶ Watching ──ended in good order──▶ Opening
       ▲                   │ initial              │
       │                   ▼                      │ broken, garbage, silent, too old
       │                Syncing ──initial ended──▶│
       └──────────────── Waiting ◀────────────────┘

Each state is one activity of the driver; what comes of it is an input; ``step`` says what follows. A failure leads to
``Waiting`` with a growing delay, then either to where the watch was (``resume``) or to a new list. Resuming is right
only while the server's history is certainly the one we followed: after a broken connection, or silence. A server that
was away may have come back as another one (an emptied store counts its versions from the start), and one that sends
garbage says nothing about what it meant; both are listed anew. So nothing is missed, and nothing that is gone stays.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

import msgspec

from attractor.client.errors import AnswerLost, CredentialsUnavailable, GarbledAnswer, ServerUnreachable
from attractor.objects.errors import ApiError, BadRequest, Forbidden, Gone, Invalid, NotFound, Timeout, Unauthorized


class Listing(msgspec.Struct, frozen=True):
    """Reading the whole collection; a failure leads to ``Waiting``."""

    failures: int = 0


class Opening(msgspec.Struct, frozen=True):
    """Asking for a watch: from a version, or (``version`` None) with the initial state first."""

    version: str | None
    failures: int = 0


class Syncing(msgspec.Struct, frozen=True):
    """The initial state is coming through the watch; a failure throws away what came and leads to ``Waiting``."""

    failures: int = 0


class Watching(msgspec.Struct, frozen=True):
    """Following the server; ``version`` is how far. ``failures`` counts until something was heard."""

    version: str
    failures: int = 0


class Waiting(msgspec.Struct, frozen=True):
    """Letting time pass before the next try: from ``resume`` if there is one, else from a new list."""

    delay_s: float
    failures: int
    resume: str | None
    why: str


State: TypeAlias = Listing | Opening | Syncing | Watching | Waiting


class Listed(msgspec.Struct, frozen=True):
    """The list is complete."""

    version: str


class Opened(msgspec.Struct, frozen=True):
    """The watch has begun."""


class Heard(msgspec.Struct, frozen=True):
    """Something came, up to a version."""

    version: str


class InitialEnded(msgspec.Struct, frozen=True):
    """The initial state has come, complete at a version."""

    version: str


class Ended(msgspec.Struct, frozen=True):
    """The server ended the watch in good order; ``was_useful`` unless it did so at once and without a word."""

    was_useful: bool


class Silent(msgspec.Struct, frozen=True):
    """Nothing came for so long that the connection is taken for dead, although nobody closed it."""

    after_s: float


class Failed(msgspec.Struct, frozen=True):
    """A request or a stream failed."""

    error: ApiError


class Waited(msgspec.Struct, frozen=True):
    """The delay is over."""


Input: TypeAlias = Listed | Opened | Heard | InitialEnded | Ended | Silent | Failed | Waited


class Policy(msgspec.Struct, frozen=True):
    """Settings of a reflector: how it reads the initial state, and its backoff."""

    watch_list: bool = False
    """Whether the initial state comes through the watch instead of a list; servers that refuse are listed."""
    first_delay_s: float = 0.1
    max_delay_s: float = 30.0

    def delay_s(self, failures: int) -> float:
        """Return how long to wait after so many failures in a row."""
        return float(min(self.max_delay_s, self.first_delay_s * 2.0 ** min(failures - 1, 30)))

    def start(self, failures: int = 0, *, lists: bool = False) -> State:
        """The state in which the whole collection is read."""
        return Opening(None, failures) if self.watch_list and not lists else Listing(failures)


class UnexpectedInput(ValueError):
    """An input came that the state has no activity for: an error of the driver's."""


def step(state: State, happened: Input, policy: Policy) -> State:
    """Return the next state for an input; raises ``UnexpectedInput``."""
    match state:
        case Listing(failures):
            return _after_listing(state, failures, happened, policy)
        case Opening(version, failures):
            return _after_opening(state, version, failures, happened, policy)
        case Syncing(failures):
            return _after_syncing(state, failures, happened, policy)
        case Watching(version, failures):
            return _after_watching(state, version, failures, happened, policy)
        case Waiting(failures=failures, resume=resume):
            if not isinstance(happened, Waited):
                raise UnexpectedInput(f"{happened} while {state}")
            return policy.start(failures) if resume is None else Opening(resume, failures)
        case _:
            assert_never(state)


def _after_listing(state: State, failures: int, happened: Input, policy: Policy) -> State:
    match happened:
        case Listed(version):
            return Opening(version, failures)
        case Failed(error):
            return _failed(error, failures, None, policy)
    raise UnexpectedInput(f"{happened} while {state}")


def _after_opening(state: State, version: str | None, failures: int, happened: Input, policy: Policy) -> State:
    match happened:
        case Opened():
            return Syncing(failures) if version is None else Watching(version, failures)
        case Failed(BadRequest() | Invalid()) if version is None:
            return policy.start(failures, lists=True)
        case Failed(error):
            return _failed(error, failures, version, policy)
    raise UnexpectedInput(f"{happened} while {state}")


def _after_syncing(state: State, failures: int, happened: Input, policy: Policy) -> State:
    match happened:
        case Heard():
            return state
        case InitialEnded(version):
            return Watching(version)
        case Silent() | Ended():
            # A server that does not know initial events sends the state and never says that it is complete.
            return policy.start(failures, lists=True)
        case Failed(error):
            return _failed(error, failures, None, policy)
    raise UnexpectedInput(f"{happened} while {state}")


def _after_watching(state: State, version: str, failures: int, happened: Input, policy: Policy) -> State:
    match happened:
        case Heard(reached):
            return Watching(reached)
        case Ended(was_useful=True):
            return Opening(version)
        case Ended():
            return _waiting(failures, version, "the server ends the watch at once", policy)
        case Silent(after_s):
            # The silence was wait enough: a quiet collection of a server without bookmarks is not left alone longer
            # each time.
            return _waiting(0, version, f"nothing was heard for {after_s:g} s", policy)
        case Failed(error):
            return _failed(error, failures, version, policy)
    raise UnexpectedInput(f"{happened} while {state}")


def _failed(error: ApiError, failures: int, resume: str | None, policy: Policy) -> State:
    if resume is not None and is_outdated(error) and not failures:
        return policy.start(1)
    return _waiting(failures, resume if can_resume(error) else None, explained(error), policy)


def explained(error: ApiError) -> str:
    """Return the server's error as text, with what a person can do where it will not go away."""
    match error:
        case NotFound() if "CustomResourceDefinition" not in error.message:
            return f"{error.message}; the server does not serve this kind, create its CustomResourceDefinition first"
        case Forbidden():
            return f"{error.message}; grant it (`attractor manifests` prints the rights that controllers need)"
        case Unauthorized() if not isinstance(error, CredentialsUnavailable):
            return f"{error.message}; the server does not accept the credentials, or no longer: renew them"
        case _:
            return error.message


def _waiting(failures: int, resume: str | None, why: str, policy: Policy) -> Waiting:
    return Waiting(policy.delay_s(failures + 1), failures + 1, resume, why)


def is_outdated(error: ApiError) -> bool:
    """Return whether the server no longer has the history after our version, or does not have it yet."""
    is_ahead = isinstance(error, Timeout) and any(c.get("reason") == "ResourceVersionTooLarge" for c in error.causes)
    return isinstance(error, Gone) or is_ahead


def can_resume(error: ApiError) -> bool:
    """Return whether a watch may go on where it was after this error; see the module for why."""
    if isinstance(error, ServerUnreachable | GarbledAnswer) or is_outdated(error):
        return False
    return isinstance(error, AnswerLost) or error.code in {429, 500, 503, 504}


def is_live(state: State) -> bool:
    """Return whether the view follows the server as far as anybody can tell."""
    match state:
        case Watching():
            return True
        case Opening(version, failures):
            return version is not None and failures == 0
        case Listing() | Syncing() | Waiting():
            return False
        case _:
            assert_never(state)
