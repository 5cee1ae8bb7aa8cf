"""Log of reconciles (and other work) that fail: enough to act on, and not more than can be read.

- An outage fails everything at once, and no line of the author's is to blame: one line now and then for the whole
  controller, with how much has failed meanwhile and what to do.
- What the server refuses, and what takes too long, is told in one line with the author's own line of code.
- Anything else is told with its traceback (of which our own frames above the author's are left out), and in one line
  where the same line of code fails again within a minute.
- Losing against another writer is no failure.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from attractor.client.errors import AnswerLost, CredentialsUnavailable, GarbledAnswer, ServerUnreachable
from attractor.objects.errors import ApiError, Conflict, Forbidden, ServiceUnavailable, TooManyRequests, Unauthorized
from attractor.runtime.observability.own_lines import own_line, without_ours
from attractor.runtime.worker.overdue import ReconcileTimeout

if TYPE_CHECKING:
    from attractor.runtime.observability.field_logger import FieldLogger

TELL_AGAIN_S = 10.0
"""How often an outage is told of, while it lasts."""
TRACE_AGAIN_S = 60.0
"""How often a traceback is printed whole, while the same line of code fails in the same way."""
MANY = 256
"""How many different failures are remembered; more than that are told anew."""
NOT_GRANTED = "declare what is needed with permissions=[Permission(...)]; `attractor manifests` grants it"
OUTAGES = (ServerUnreachable, AnswerLost, GarbledAnswer, CredentialsUnavailable, ServiceUnavailable, TooManyRequests)


def is_outage(error: BaseException) -> bool:
    """Return whether the server is away, or does not want to be asked now, whatever is asked of it."""
    if isinstance(error, BaseExceptionGroup):
        return all(map(is_outage, error.exceptions))
    return isinstance(error, OUTAGES)


class FailureLog:
    """Tells of the failures of one controller."""

    def __init__(self, log: FieldLogger) -> None:
        self._log = log
        self._told_s: dict[object, float] = {}
        """When a failure of this sort was told of in full."""
        self._untold = 0
        """How much has failed in the outage since it was told of."""

    def failed(self, what: str, error: BaseException, **fields: Any) -> None:
        """``what`` failed, and will be tried again: "reconcile failed"."""
        if isinstance(error, Conflict):
            self._log.info(f"{what}: lost against another writer, trying again", error=error.message, **fields)
        elif is_outage(error):
            self._tell_outage(what, error, fields)
        else:
            self._tell(what, error, fields)

    def _tell_outage(self, what: str, error: BaseException, fields: dict[str, Any]) -> None:
        self._untold += 1
        if self._is_due("outage", TELL_AGAIN_S):
            others, self._untold = self._untold - 1, 0
            self._log.error_in_short(
                f"{what}, and all that asks the server will until it answers; everything is tried again, with backoff",
                error,
                **fields,
                others=others,
                hint="see that the server runs and can be reached from here; nothing needs to be restarted",
            )

    def _tell(self, what: str, error: BaseException, fields: dict[str, Any]) -> None:
        line = error.line if isinstance(error, ReconcileTimeout) else own_line(error)
        if isinstance(error, Forbidden):
            fields["hint"] = NOT_GRANTED
        if isinstance(error, Unauthorized):
            fields["hint"] = "the server does not accept the credentials, or no longer: renew them"
        is_plain = isinstance(error, ApiError | ReconcileTimeout) and line
        if is_plain or not self._is_due((type(error), line or str(error)), TRACE_AGAIN_S):
            self._log.error_in_short(what, error, **({"line": line} if line else {}), **fields)
        else:
            self._log.error(what, error.with_traceback(without_ours(error.__traceback__)), **fields)

    def _is_due(self, sort: object, period_s: float) -> bool:
        """Return whether this was not told in full for so long; it is, now."""
        now_s = _now_s()
        if now_s - self._told_s.get(sort, -period_s) < period_s:
            return False
        if len(self._told_s) >= MANY:
            self._told_s.clear()
        self._told_s[sort] = now_s
        return True


def _now_s() -> float:
    """The time of the event loop; under check there is none, and time stands still."""
    try:
        return asyncio.get_running_loop().time()
    except RuntimeError:
        return 0.0
