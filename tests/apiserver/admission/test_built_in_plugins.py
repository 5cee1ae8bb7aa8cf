"""What kube-apiserver's default admission makes of pods, nodes, claims and ingresses."""

from base64 import b64encode
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from attractor.apiserver.admission.chain import chain_with
from attractor.apiserver.admission.plugins import DEFAULT_PLUGINS, UnknownPlugin, plugins_named
from attractor.apiserver.admission.plugins.certificates import CLIENT_SIGNER
from attractor.apiserver.core import Core
from attractor.apiserver.server import Server
from attractor.embedded import EmbeddedCluster
from attractor.store.memory import MemoryStore
from tests.apiserver.conftest import Answer, Api
from tests.deterministic import CountingSource
from tests.httpd.wire import eventually

PODS = "/api/v1/namespaces/default/pods"
ACCOUNTS = "/api/v1/namespaces/default/serviceaccounts"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
CLASSES = "/apis/scheduling.k8s.io/v1/priorityclasses"
MOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"


@pytest.fixture
async def api() -> Api:
    server = Server(MemoryStore(), CountingSource(), Core(chain_with(tuple(DEFAULT_PLUGINS.values()))))
    await server.start()
    return Api(server, CountingSource())


async def made(api: Api, path: str, name: str, **content: Any) -> dict[str, Any]:
    answer = await tried(api, path, name, **content)
    assert answer.code == 201, answer.body
    body: dict[str, Any] = answer.body
    return body


async def tried(api: Api, path: str, name: str, **content: Any) -> Answer:
    return await api("POST", path, {"metadata": {"name": name, **content.pop("metadata", {})}, **content})


def spec(**more: Any) -> dict[str, Any]:
    return {"containers": [{"name": "c", "image": "i"}], **more}


async def test_a_pod_without_its_account_is_refused(api: Api) -> None:
    answer = await tried(api, PODS, "p", spec=spec())
    assert answer.code == 403
    assert answer.body["message"] == (
        'pods "p" is forbidden: error looking up service account default/default: serviceaccount "default" not found'
    )


async def test_a_pod_gets_its_account_and_token_in_every_container(api: Api) -> None:
    await made(api, ACCOUNTS, "default", imagePullSecrets=[{"name": "pull"}])
    pod = (await made(api, PODS, "p", spec=spec(initContainers=[{"name": "i", "image": "i"}])))["spec"]
    assert (pod["serviceAccountName"], pod["serviceAccount"]) == ("default", "default")
    assert pod["imagePullSecrets"] == [{"name": "pull"}]
    volume = pod["volumes"][0]
    assert volume["name"].startswith("kube-api-access-")
    mount = {"name": volume["name"], "readOnly": True, "mountPath": MOUNT}
    assert [one["volumeMounts"] for one in (*pod["initContainers"], *pod["containers"])] == [[mount], [mount]]


async def test_what_is_mounted_already_or_not_wanted_is_left_alone(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    await made(api, ACCOUNTS, "shy", automountServiceAccountToken=False)
    mounts = [{"name": "v", "mountPath": MOUNT}]
    container = {"name": "c", "image": "i", "volumeMounts": mounts}
    pod = await made(api, PODS, "p", spec=spec(containers=[container], volumes=[{"name": "v", "emptyDir": {}}]))
    assert len(pod["spec"]["volumes"]) == 1
    assert "volumes" not in (await made(api, PODS, "q", spec=spec(automountServiceAccountToken=False)))["spec"]
    assert "volumes" not in (await made(api, PODS, "r", spec=spec(serviceAccountName="shy")))["spec"]


async def test_an_account_may_limit_the_secrets_of_its_pods(api: Api) -> None:
    strict = {"kubernetes.io/enforce-mountable-secrets": "true"}
    await made(api, ACCOUNTS, "default", metadata={"annotations": strict}, secrets=[{"name": "a"}])
    volumes = [{"name": "v", "secret": {"secretName": "a"}}, {"name": "w", "secret": {"secretName": "b"}}]
    assert (await tried(api, PODS, "p", spec=spec(volumes=volumes[:1]))).code == 201
    answer = await tried(api, PODS, "q", spec=spec(volumes=volumes))
    assert answer.body["message"] == (
        'pods "q" is forbidden: volume with secret.secretName="b" is not allowed because service account default '
        "does not reference that secret"
    )


async def test_priority_comes_from_the_class(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    pod = (await made(api, PODS, "p", spec=spec()))["spec"]
    assert (pod["priority"], pod["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    await made(api, CLASSES, "high", value=7, preemptionPolicy="Never")
    pod = (await made(api, PODS, "q", spec=spec(priorityClassName="high")))["spec"]
    assert (pod["priority"], pod["preemptionPolicy"]) == (7, "Never")
    missing = await tried(api, PODS, "r", spec=spec(priorityClassName="none"))
    assert missing.body["message"] == 'pods "r" is forbidden: no PriorityClass with name none was found'
    wrong = await tried(api, PODS, "r", spec=spec(priorityClassName="high", priority=8))
    assert "the integer value of priority (8) must not be provided in pod spec" in wrong.body["message"]


async def test_one_class_at_most_is_the_default(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    await made(api, CLASSES, "usual", value=3, globalDefault=True)
    pod = (await made(api, PODS, "p", spec=spec()))["spec"]
    assert (pod["priority"], pod["priorityClassName"]) == (3, "usual")
    assert (
        (await tried(api, CLASSES, "other", value=4, globalDefault=True))
        .body["message"]
        .endswith("PriorityClass usual is already marked as default. Only one default can exist")
    )


async def test_a_pod_tolerates_a_silent_node_for_five_minutes_unless_it_says_otherwise(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    pod = (await made(api, PODS, "p", spec=spec(tolerations=[own])))["spec"]
    assert [one["tolerationSeconds"] for one in pod["tolerations"]] == [5, 300]
    everything = [{"operator": "Exists"}]
    assert (await made(api, PODS, "q", spec=spec(tolerations=everything)))["spec"]["tolerations"] == everything


async def test_new_nodes_are_tainted_and_storage_is_protected(api: Api) -> None:
    node = await made(api, "/api/v1/nodes", "n")
    assert node["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim = await made(api, CLAIMS, "c", spec=wanted)
    assert claim["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]
    patch = {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}
    grown = await api.merge(f"{CLAIMS}/c", patch)
    assert grown.code == 422
    await api.merge(f"{CLAIMS}/c/status", {"status": {"phase": "Bound"}})
    grown = await api.merge(f"{CLAIMS}/c", patch)
    assert grown.code == 403
    assert "only dynamically provisioned pvc can be resized" in grown.body["message"]


async def test_claims_and_ingresses_get_the_default_class(api: Api) -> None:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    mark = {"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}
    await made(api, "/apis/storage.k8s.io/v1/storageclasses", "fast", metadata=mark, provisioner="x")
    assert (await made(api, CLAIMS, "c", spec=wanted))["spec"]["storageClassName"] == "fast"
    assert (await made(api, CLAIMS, "d", spec={**wanted, "storageClassName": ""}))["spec"]["storageClassName"] == ""
    mark = {"annotations": {"ingressclass.kubernetes.io/is-default-class": "true"}}
    path = "/apis/networking.k8s.io/v1"
    await made(api, f"{path}/ingressclasses", "front", metadata=mark, spec={"controller": "example.org/x"})
    backend = {"defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}}
    ingress = await made(api, f"{path}/namespaces/default/ingresses", "i", spec=backend)
    assert ingress["spec"]["ingressClassName"] == "front"


def test_a_wrong_name_lists_the_plugins_there_are() -> None:
    with pytest.raises(UnknownPlugin, match="there is no admission plug-in Nope; there are LimitRanger, "):
        plugins_named(["Nope"])


async def test_a_pod_that_follows_its_namespace_at_once_waits_for_the_account() -> None:
    async with EmbeddedCluster(admission_plugins=DEFAULT_PLUGINS) as cluster:
        api = Api(cluster.server, CountingSource())
        await made(api, "/api/v1/namespaces", "new")
        pod = await made(api, "/api/v1/namespaces/new/pods", "p", spec=spec())
        assert pod["spec"]["serviceAccountName"] == "default"
        answer = await tried(api, "/api/v1/namespaces/new/pods", "q", spec=spec(serviceAccountName="other"))
        assert answer.body["message"].endswith('serviceaccount "other" not found')


async def test_a_deleted_claim_goes_once_no_pod_uses_it() -> None:
    async with EmbeddedCluster(admission_plugins=DEFAULT_PLUGINS) as cluster:
        api = Api(cluster.server, CountingSource())
        wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        await made(api, CLAIMS, "c", spec=wanted)
        volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]
        await made(api, PODS, "p", spec=spec(volumes=volumes))
        assert (await api.delete(f"{CLAIMS}/c")).body["metadata"]["deletionTimestamp"]
        assert (await api("GET", f"{CLAIMS}/c")).code == 200
        await api.delete(f"{PODS}/p")
        snapshot = cluster.store.snapshot_nowait
        await eventually(lambda: snapshot().get("core/persistentvolumeclaims/default/c") is None)


async def test_a_limit_range_fills_in_what_a_container_leaves_out_and_says_so(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    limits = [{"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}, "max": {"cpu": "1"}}]
    await made(api, "/api/v1/namespaces/default/limitranges", "l", spec={"limits": limits})
    pod = await made(api, PODS, "p", spec=spec())
    assert pod["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "500m"}, "requests": {"cpu": "100m"}}
    assert pod["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: cpu request for container c; cpu limit for container c"
    }
    big = [{"name": "c", "image": "i", "resources": {"limits": {"cpu": "2"}}}]
    answer = await tried(api, PODS, "q", spec={"containers": big})
    assert answer.code == 403
    assert answer.body["message"].endswith("maximum cpu usage per Container is 1, but limit is 2")


async def test_a_limit_range_bounds_the_whole_pod_and_claims(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    limits = [
        {"type": "Pod", "min": {"memory": "1Gi"}, "maxLimitRequestRatio": {"cpu": "2"}},
        {"type": "PersistentVolumeClaim", "max": {"storage": "1Gi"}},
    ]
    await made(api, "/api/v1/namespaces/default/limitranges", "l", spec={"limits": limits})
    asked = {"limits": {"cpu": "1"}, "requests": {"cpu": "250m", "memory": "512Mi"}}
    answer = await tried(api, PODS, "p", spec={"containers": [{"name": "c", "image": "i", "resources": asked}]})
    assert answer.body["message"].endswith(
        "[minimum memory usage per Pod is 1Gi, but request is 512Mi, "
        "cpu max limit to request ratio per Pod is 2, but provided ratio is 4.000000]"
    )
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    answer = await tried(api, CLAIMS, "c", spec=claim)
    assert answer.body["message"].endswith("maximum storage usage per PersistentVolumeClaim is 1Gi, but request is 2Gi")


async def test_a_pod_gets_what_its_runtime_class_says(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    scheduling = {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]}
    classes = "/apis/node.k8s.io/v1/runtimeclasses"
    await made(api, classes, "r", handler="h", overhead={"podFixed": {"cpu": "100m"}}, scheduling=scheduling)
    pod = (await made(api, PODS, "p", spec=spec(runtimeClassName="r")))["spec"]
    assert (pod["overhead"], pod["nodeSelector"]) == ({"cpu": "100m"}, {"a": "b"})
    assert {"key": "k", "operator": "Exists"} in pod["tolerations"]
    other = await tried(api, PODS, "q", spec=spec(runtimeClassName="r", nodeSelector={"a": "c"}))
    assert (other.code, "conflict: runtimeClass.scheduling.nodeSelector[a]" in other.body["message"]) == (403, True)
    missing = await tried(api, PODS, "q", spec=spec(runtimeClassName="nope"))
    assert missing.body["message"] == 'pods "q" is forbidden: pod rejected: RuntimeClass "nope" not found'


async def test_a_namespace_says_how_far_its_pods_may_go(api: Api) -> None:
    await made(api, ACCOUNTS, "default")
    await made(api, PODS, "old", spec=spec(hostPID=True))
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    answer = await api.merge("/api/v1/namespaces/default", {"metadata": {"labels": labels}})
    assert (answer.code, len(answer.warnings)) == (200, 2)
    answer = await tried(api, PODS, "p", spec=spec(hostPID=True))
    assert answer.body["message"] == (
        'pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)'
    )
    await made(api, PODS, "p", spec=spec())
    wrong = await api.merge(
        "/api/v1/namespaces/default", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "x"}}}
    )
    assert wrong.code == 422


async def test_the_systems_priority_classes_stay(api: Api) -> None:
    await made(api, CLASSES, "system-node-critical", value=2000001000)
    assert (await api.delete(f"{CLASSES}/system-node-critical")).code == 403


def certificate_request(signer: str, organization: str) -> dict[str, Any]:
    names = [x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, organization)]
    names.append(x509.NameAttribute(x509.NameOID.COMMON_NAME, "somebody"))
    built = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    pem = built.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256()).public_bytes(Encoding.PEM)
    return {"request": b64encode(pem).decode(), "signerName": signer, "usages": ["client auth"]}


async def test_nobody_asks_for_a_client_certificate_of_those_who_may_do_everything(api: Api) -> None:
    requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
    refused = await tried(api, requests, "a", spec=certificate_request(CLIENT_SIGNER, "system:masters"))
    assert (refused.code, refused.body["message"]) == (
        403,
        'certificatesigningrequests.certificates.k8s.io "a" is forbidden: use of kubernetes.io/kube-apiserver-client '
        "signer with system:masters group is not allowed",
    )
    await made(api, requests, "b", spec=certificate_request(CLIENT_SIGNER, "developers"))
    await made(api, requests, "c", spec=certificate_request("example.com/own", "system:masters"))
    damaged = certificate_request(CLIENT_SIGNER, "developers")
    pem = b"-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"
    answer = await tried(api, requests, "d", spec=damaged | {"request": b64encode(pem).decode()})
    assert answer.code == 403
    assert "failed to parse CSR" in answer.body["message"]
