"""Counters and one histogram, in Prometheus' text format and under Kubernetes' names where it has them."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING

from attractor.wire.prometheus import family, histogram_samples, labelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_BUCKETS_S = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """Metrics of the server; observes connections and streams."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._buckets = [0] * (len(_BUCKETS_S) + 1)
        self._took_s = 0.0
        self._disconnects: dict[str, int] = {}
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self.more: list[Callable[[], Iterator[str]]] = []
        """What others count, line by line."""
        self.watch_events = 0
        """Events handed to watchers, counted once for each."""

    def answered(self, method: str, code: int, took_s: float) -> None:
        """A request was answered, or its stream has begun."""
        self._requests[method, code] += 1
        self._buckets[bisect_left(_BUCKETS_S, took_s)] += 1
        self._took_s += took_s

    def disconnected(self, why: str) -> None:
        """A client was disconnected for a reason of the server's."""
        self._disconnects[why] = self._disconnects.get(why, 0) + 1

    def gauge(self, name: str, explanation: str, read: Callable[[], float]) -> None:
        """Show a number that is read when asked for, and left out while reading it raises ``OSError``."""
        self._gauges[name] = (explanation, read)

    def render(self) -> bytes:
        """The page."""
        return ("\n".join(self._lines()) + "\n").encode()

    def _lines(self) -> Iterator[str]:
        requests = [
            ("", labelled(("method", method), ("code", code)), count)
            for (method, code), count in sorted(self._requests.items())
        ]
        yield from family("apiserver_request_total", "counter", "Requests answered, by method and code.", requests)
        yield from family(
            "apiserver_request_duration_seconds",
            "histogram",
            "From a whole request to its answer, or to a stream's start.",
            histogram_samples(_BUCKETS_S, self._buckets, self._took_s),
        )
        yield from family(
            "apiserver_watch_events_total", "counter", "Events handed to watchers.", [("", "", self.watch_events)]
        )
        reasons = [("", labelled(("reason", why)), count) for why, count in sorted(self._disconnects.items())]
        explanation = "Clients that the server disconnected, by reason."
        yield from family("attractor_disconnects_total", "counter", explanation, reasons)
        for name, (explanation, read) in self._gauges.items():
            try:
                value = read()
            except OSError:  # this system does not tell it
                continue
            yield from family(name, "gauge", explanation, [("", "", value)])
        for lines in self.more:
            yield from lines()
