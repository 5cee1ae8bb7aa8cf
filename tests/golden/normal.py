"""Takes out of an answer what differs from run to run, so that two servers' answers can be compared.

uids, times and generated names become placeholders; resourceVersions become v1, v2, … in order of first appearance,
so that "the same version as before" stays visible; several causes of one error are sorted.
"""

import json
import re
from typing import Any

UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
GENERATED = re.compile(r"(kube-api-access-|Gen_)[a-z0-9]{5}")
VERSION = re.compile(
    r"(resourceVersion(?:\\*\"|): ?\\*\"|current: |UID in precondition: |ResourceVersion in (?:the )?precondition: "
    r"|record: |record \(|too old resource version: 1 \()\d+"
)
LONG_AGO = re.compile(r"\b(\d{3,}d|\d+y(\d+d)?)\b")
"""How long ago a date was that a conversation names: more with every day."""
FIXED_UIDS = {c * 8 + "-" + "-".join([c * 4] * 3) + "-" + c * 12 for c in "0123"}


class Normal:
    """Normalises the answers of one conversation in one namespace."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.versions: dict[str, str] = {}

    def version(self, value: str) -> str:
        if value in {"", "0", "1"} or not value.isdigit():
            return value
        return self.versions.setdefault(value, f"v{len(self.versions) + 1}")

    def text(self, text: str) -> str:
        text = UID.sub(lambda found: found.group() if found.group() in FIXED_UIDS else "<uid>", text)
        text = TIME.sub(
            lambda found: found.group() if found.group().startswith("2026-01-01T00:00:00") else "<time>", text
        )
        text = GENERATED.sub(lambda found: found.group(1) + "<generated>", text)
        text = VERSION.sub(lambda found: found.group(1) + "<version>", text)
        return text.replace(self.namespace, "{ns}")

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, str):
            return self.text(value)
        if not isinstance(value, dict):
            return value
        out = {name: self.value(self.field(name, item, value)) for name, item in value.items()}
        if out.get("kind") == "Table":
            self.table(out)
        if out.get("kind") == "Status":
            self.status(out)
        if isinstance(out.get("managedFields"), list):
            out["managedFields"] = sorted(out["managedFields"], key=lambda item: json.dumps(item, sort_keys=True))
        return out

    def field(self, name: str, item: Any, owner: dict[str, Any]) -> Any:
        if name == "resourceVersion" and isinstance(item, str):
            return self.version(item)
        if name == "continue" and item:
            return "<continue>"
        generate = owner.get("generateName")
        if name == "name" and isinstance(generate, str) and isinstance(item, str) and item.startswith(generate):
            return f"{generate}<generated>"
        return "<age>" if name in {"age", "Age"} else item

    @staticmethod
    def table(table: dict[str, Any]) -> None:
        columns = table.get("columnDefinitions") or []
        ages = [index for index, column in enumerate(columns) if column.get("name") == "Age"]
        for column in columns:
            column.pop("description", None)
        for row in table.get("rows") or []:
            for index in (*ages, *range(len(columns) or len(row["cells"]), len(row["cells"]))):
                row["cells"][index] = "<age>"  # kube-apiserver tells that of IPAddresses beyond their columns
            row["cells"] = [LONG_AGO.sub("<long>", cell) if isinstance(cell, str) else cell for cell in row["cells"]]

    @staticmethod
    def status(status: dict[str, Any]) -> None:
        causes = (status.get("details") or {}).get("causes")
        if causes and len(causes) > 1:
            causes.sort(key=lambda cause: json.dumps(cause, sort_keys=True))
            status["message"] = status["message"].split("[")[0] + "[several]"


def differences(want: Any, got: Any, path: str = "") -> list[str]:
    """Where two answers differ, as readable lines."""
    if type(want) is not type(got):
        return [f"{path or '.'}: want {json.dumps(want)[:300]}, got {json.dumps(got)[:300]}"]
    if isinstance(want, dict):
        found = []
        for name in sorted(set(want) | set(got)):
            if name in want and name in got:
                found += differences(want[name], got[name], f"{path}.{name}")
            else:
                which = "missing" if name in want else "extra"
                found.append(f"{path}.{name}: {which} {json.dumps(want.get(name, got.get(name)))[:300]}")
        return found
    if isinstance(want, list):
        if len(want) != len(got):
            return [f"{path}: want {len(want)} items, got {len(got)}: {json.dumps(got)[:300]}"]
        return [
            line
            for index, pair in enumerate(zip(want, got, strict=True))
            for line in differences(*pair, f"{path}[{index}]")
        ]
    return [] if want == got else [f"{path or '.'}: want {json.dumps(want)[:300]}, got {json.dumps(got)[:300]}"]
