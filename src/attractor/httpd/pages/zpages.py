"""``/flagz``, ``/statusz`` and ``/metrics/slis``: with what the server was started, since when, and how healthy it was.

As kube-apiserver 1.36 has them by default: the first two are plain text, or objects of the group ``config.k8s.io`` for
clients that name kind and version in ``Accept``; JSON as such is refused.
"""

from __future__ import annotations

import platform
import time
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from attractor.apiserver.request.bodies import JSON, YAML
from attractor.httpd.formats.encoding import encode
from attractor.httpd.formats.negotiate import parse_accept
from attractor.httpd.pages.health import CHECKS
from attractor.httpd.reply import TEXT, Reply
from attractor.k8s.catalog import KUBERNETES_VERSION
from attractor.objects.errors import NotAcceptable
from attractor.wire.prometheus import family, labelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from attractor.objects.json_types import JsonObject

ZPAGES = ("/flagz", "/metrics/slis", "/statusz")
GROUP, VERSIONS = "config.k8s.io", {"v1beta1", "v1alpha1"}
_PLAIN = "text/plain"
_WARNING = (
    "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is "
    "for debugging purposes only."
)
_NAME = "apiserver"
_LISTED = ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"]


class ServerFacts:
    """Facts about the server: its flags, when it started, and how its checks of health went."""

    def __init__(self, flags: Mapping[str, str]) -> None:
        self.flags = dict(sorted(flags.items()))
        self.started = datetime.now(UTC)
        self._since = time.monotonic()
        self._checked: Counter[tuple[str, str, str]] = Counter()
        self._last: dict[tuple[str, str], bool] = {}

    @property
    def uptime_s(self) -> int:
        """Whole seconds since the start."""
        return int(time.monotonic() - self._since)

    def checked(self, path: str, failing: Mapping[str, str]) -> None:
        """Remember how the checks of a path of health went; checks asked for one by one are not counted."""
        for check in CHECKS.get(path, ()):
            key, passed = (check, path[1:]), check not in failing
            self._last[key] = passed
            self._checked[check, "success" if passed else "error", path[1:]] += 1

    def reply(self, path: str, accept: str) -> Reply | None:
        """The page of that path; None when it is none of these. Raises ``NotAcceptable``."""
        if path == "/metrics/slis":
            return Reply(200, self._slis().encode(), f"{_PLAIN}; version=0.0.4; charset=utf-8")
        if path == "/flagz":
            return self._page("Flagz", accept, {"flags": self.flags})
        if path == "/statusz":
            return self._page("Statusz", accept, self._status())
        return None

    def _page(self, kind: Literal["Flagz", "Statusz"], accept: str, body: JsonObject) -> Reply:
        for clause in parse_accept(accept or "*/*"):
            asked = clause.params.get("g", ""), clause.params.get("as", "")
            if asked == (GROUP, kind) and clause.params.get("v") in VERSIONS:
                for media_type in (JSON, YAML):
                    if clause.covers(media_type):
                        return _object(kind, clause.params["v"], media_type, body)
            if not any(asked) and (clause.covers(_PLAIN) or (clause.type, clause.subtype) == ("text", "*")):
                return Reply(200, self._text(kind).encode(), TEXT)
        raise NotAcceptable(f"only the following media types are accepted: {JSON}, {YAML}, {_PLAIN}")

    def _status(self) -> JsonObject:
        return {
            "startTime": self.started.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "uptimeSeconds": self.uptime_s,
            "goVersion": f"python{platform.python_version()}",
            "binaryVersion": KUBERNETES_VERSION,
            "emulationVersion": KUBERNETES_VERSION.rpartition(".")[0],
            "paths": _LISTED,
        }

    def _text(self, kind: Literal["Flagz", "Statusz"]) -> str:
        head = f"\n{_NAME} {kind.lower()}\n{_WARNING}\n"
        if kind == "Flagz":
            return head + "".join(f"{name}: {value}\n" for name, value in self.flags.items())
        hours, minutes, seconds = self.uptime_s // 3600, self.uptime_s // 60 % 60, self.uptime_s % 60
        status = self._status()
        lines = {
            "Started": self.started.strftime("%a %b %e %H:%M:%S UTC %Y"),
            "Up": f"{hours} hr {minutes:02} min {seconds:02} sec",
            "Go version": status["goVersion"],
            "Binary version": status["binaryVersion"],
            "Emulation version": status["emulationVersion"],
            "Paths": " ".join(_LISTED),
        }
        return head + "\n" + "".join(f"{name}: {value}\n" for name, value in lines.items())

    def _slis(self) -> str:
        """Results of checks as Prometheus reads them."""
        last = [
            ("", labelled(("name", name), ("type", kind)), int(ok)) for (name, kind), ok in sorted(self._last.items())
        ]
        checked = [
            ("", labelled(("name", name), ("status", status), ("type", kind)), count)
            for (name, status, kind), count in sorted(self._checked.items())
        ]
        started = [("", "", self.started.timestamp())]
        lines = [
            *family(
                "kubernetes_healthcheck",
                "gauge",
                "[STABLE] This metric records the result of a single healthcheck.",
                last,
            ),
            *family(
                "kubernetes_healthchecks_total",
                "counter",
                "[STABLE] This metric records the results of all healthcheck.",
                checked,
            ),
            *family(
                "process_start_time_seconds",
                "gauge",
                "[ALPHA] Start time of the process since unix epoch in seconds.",
                started,
            ),
        ]
        return "\n".join(lines) + "\n"


def _object(kind: str, version: str, media_type: str, body: JsonObject) -> Reply:
    obj = {"kind": kind, "apiVersion": f"{GROUP}/{version}", "metadata": {"name": _NAME}, **body}
    content_type = f"{media_type};g={GROUP};v={version};as={kind}"
    said = f"This version of the {kind.lower()} endpoint is deprecated. Please use a newer version."
    return Reply(200, encode(obj, media_type), content_type, warnings=(said,) if version == "v1alpha1" else ())
