"""Writes ``embedded/fresh.jsonl``: what a fresh kube-apiserver has, as it is stored here.

    fresh_objects.py https://127.0.0.1:6443 TOKEN ca.crt > src/attractor/embedded/fresh.jsonl

Run it against a kube-apiserver that was just started on an empty etcd, without a controller manager. Each line is a key
and an object; uids and times are left open. Endpoints are left out, because they name that server's address.
"""

from __future__ import annotations

import json
import re
import ssl
import sys
import urllib.request
from typing import Any

from attractor.apiserver.kinds.registry import builtin_kind

RESOURCES = (
    ("", "configmaps"),
    ("", "services"),
    ("apiregistration.k8s.io", "apiservices"),
    ("flowcontrol.apiserver.k8s.io", "flowschemas"),
    ("flowcontrol.apiserver.k8s.io", "prioritylevelconfigurations"),
    ("networking.k8s.io", "ipaddresses"),
    ("networking.k8s.io", "servicecidrs"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "roles"),
)
TIME = re.compile(r'"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"')


def listed(server: str, token: str, authority: str, group: str, resource: str) -> list[dict[str, Any]]:
    """All objects of a resource, with their kind."""
    path = f"/apis/{group}/v1/{resource}" if group else f"/api/v1/{resource}"
    request = urllib.request.Request(server + path, headers={"Authorization": f"Bearer {token}"})
    context = ssl.create_default_context(cafile=authority)
    with urllib.request.urlopen(request, context=context) as answer:
        found = json.load(answer)
    identity = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
    return [{**identity, **item} for item in found["items"]]


def main() -> None:
    """Print the lines."""
    server, token, authority = sys.argv[1:]
    for group, resource in RESOURCES:
        kind = builtin_kind(group, "v1", resource)
        assert kind is not None
        for obj in listed(server, token, authority, group, resource):
            metadata = obj["metadata"]
            del metadata["resourceVersion"]
            metadata["uid"] = "{uid}"
            if resource == "configmaps":
                obj["data"]["since"] = "{today}"
            if resource == "servicecidrs":
                obj["spec"]["cidrs"] = ["10.0.0.0/16"]
            if resource == "services":
                obj["spec"]["ports"][0]["targetPort"] = 6443
            text = TIME.sub('"{now}"', kind.encode(obj).decode())
            print(f"{kind.key(metadata.get('namespace', ''), metadata['name'])} {text}")


main()
