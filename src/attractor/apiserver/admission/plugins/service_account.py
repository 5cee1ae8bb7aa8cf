"""ServiceAccount: every pod runs as an account that exists, with its token mounted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attractor.apiserver.admission.plugin import Plugin
from attractor.apiserver.admission.plugins.lookup import PODS, find, forbidden, is_about
from attractor.apiserver.transaction import NotYet
from attractor.objects.errors import NotFound
from attractor.objects.gvk import GroupResource

if TYPE_CHECKING:
    from collections.abc import Iterator

    from attractor.apiserver.admission.plugin import Attributes
    from attractor.objects.json_types import JsonObject

DEFAULT_ACCOUNT = "default"
VOLUME_PREFIX = "kube-api-access-"
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_LIFETIME_S = 3607
"""An hour, and a little: Kubernetes tells the tokens of this volume from others by it."""

_MIRROR = "kubernetes.io/config.mirror"
_ENFORCES_SECRETS = "kubernetes.io/enforce-mountable-secrets"
_TRUE = frozenset({"1", "t", "T", "true", "TRUE", "True"})


class ServiceAccount(Plugin):
    """Sets the account of new pods, mounts its token, and refuses pods whose account is missing."""

    concerns = frozenset({PODS})

    def admit(self, attributes: Attributes) -> None:
        """Fill in what the account gives a new pod."""
        pod = _pod_with_account(attributes)
        if pod is None:
            return
        spec = pod["spec"]
        name = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        spec["serviceAccountName"] = spec["serviceAccount"] = name
        account = _account(attributes, name)
        if _wants_token(account, spec):
            _mount_token(spec, attributes)
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": one["name"]} for one in account["imagePullSecrets"] if "name" in one]
        _check_secrets(attributes, account, spec)

    def validate(self, attributes: Attributes) -> None:
        """Webhooks may have changed the account."""
        pod = _pod_with_account(attributes)
        if pod is None:
            return
        name = pod["spec"].get("serviceAccountName")
        if not name:
            where = f"{attributes.op.namespace}/{pod['metadata'].get('name', '')}"
            raise forbidden(attributes, f"no service account specified for pod {where}")
        _check_secrets(attributes, _account(attributes, name), pod["spec"])


def _pod_with_account(attributes: Attributes) -> JsonObject | None:
    """The new pod, if it has an account: a mirror of a node's own pod must have none."""
    pod = _new_pod(attributes)
    if pod is not None and _is_mirror(pod):
        _check_mirror(attributes, pod)
        return None
    return pod


def _new_pod(attributes: Attributes) -> JsonObject | None:
    if attributes.old is not None or not is_about(attributes, "", "pods"):
        return None
    return attributes.obj


def _is_mirror(pod: JsonObject) -> bool:
    return _MIRROR in (pod["metadata"].get("annotations") or {})


def _check_mirror(attributes: Attributes, pod: JsonObject) -> None:
    """A kubelet's own pod has no account, and nothing that would need one."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise forbidden(attributes, "a mirror pod may not reference service accounts")
    if any(True for _ in _secret_names(spec)):
        raise forbidden(attributes, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("serviceAccountToken"):
                raise forbidden(attributes, "a mirror pod may not use ServiceAccountToken volume projections")


def _account(attributes: Attributes, name: str) -> JsonObject:
    txn, namespace = attributes.txn, attributes.op.namespace
    account = find(txn, "", "serviceaccounts", namespace, name)
    if account is not None:
        return account
    if name == DEFAULT_ACCOUNT and txn.may_wait:
        raise NotYet(f"core/serviceaccounts/{namespace}/{name}")
    missing = NotFound.of(GroupResource("", "serviceaccount"), name)
    raise forbidden(attributes, f"error looking up service account {namespace}/{name}: {missing.message}")


def _wants_token(account: JsonObject, spec: JsonObject) -> bool:
    """The pod's word counts before the account's."""
    for said in (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken")):
        if said is not None:
            return bool(said)
    return True


def _mount_token(spec: JsonObject, attributes: Attributes) -> None:
    volumes = spec.get("volumes") or []
    present = next((one["name"] for one in volumes if one.get("name", "").startswith(VOLUME_PREFIX)), None)
    name = present or VOLUME_PREFIX + attributes.txn.source.suffix()
    is_needed = False
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        mounts = container.get("volumeMounts") or []
        if all(mount.get("mountPath") != MOUNT_PATH for mount in mounts):
            container["volumeMounts"] = [*mounts, {"name": name, "readOnly": True, "mountPath": MOUNT_PATH}]
            is_needed = True
    if is_needed and present is None:
        spec["volumes"] = [*volumes, _token_volume(name)]


def _token_volume(name: str) -> dict[str, Any]:
    namespace = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": TOKEN_LIFETIME_S, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": namespace}]}},
    ]
    return {"name": name, "projected": {"sources": sources, "defaultMode": 420}}


def _check_secrets(attributes: Attributes, account: JsonObject, spec: JsonObject) -> None:
    """An account may say that its pods use only the secrets that it names."""
    annotations = account["metadata"].get("annotations") or {}
    if annotations.get(_ENFORCES_SECRETS) not in _TRUE:
        return
    who = f"is not allowed because service account {account['metadata']['name']} does not reference that"
    known = {one.get("name") for one in account.get("secrets") or ()}
    for where, name in _secret_names(spec):
        if name not in known:
            raise forbidden(attributes, f'{where}="{name}" {who} secret')
    pulls = {one.get("name") for one in account.get("imagePullSecrets") or ()}
    for index, one in enumerate(spec.get("imagePullSecrets") or ()):
        if one.get("name") not in pulls:
            raise forbidden(attributes, f'imagePullSecrets[{index}].name="{one.get("name")}" {who} imagePullSecret')


def _secret_names(spec: JsonObject) -> Iterator[tuple[str, str]]:
    """Where a secret is used, in the words of the refusal, and which."""
    for volume in spec.get("volumes") or ():
        if volume.get("secret") is not None:
            yield "volume with secret.secretName", volume["secret"].get("secretName") or ""
    for field, what in (("initContainers", "init container"), ("containers", "container")):
        for container in spec.get(field) or ():
            yield from _container_secrets(container, f"{what} {container.get('name', '')}")


def _container_secrets(container: JsonObject, what: str) -> Iterator[tuple[str, str]]:
    for env in container.get("env") or ():
        ref = (env.get("valueFrom") or {}).get("secretKeyRef")
        if ref is not None:
            yield f"{what} with envVar {env.get('name', '')} referencing secret.secretName", ref.get("name") or ""
    for source in container.get("envFrom") or ():
        if source.get("secretRef") is not None:
            yield f"{what} with envFrom referencing secret.secretName", source["secretRef"].get("name") or ""
