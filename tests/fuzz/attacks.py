"""Requests whose size can be chosen, each built to make one decoder or one rule work more than its bytes deserve.

An attack is a function from a size in parts to requests: those before the last prepare the cluster and are not
measured. Families are written by hand where a decoder has a mechanism of its own (aliases, merges, pointers, orders);
the rest is generated: every list and every map of recorded objects is widened in turn, in every way of writing it.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import quote

from tests.fuzz.answers import CRD, CRDS

JSON, YAML = "application/json", "application/yaml"
MERGE, JSON_PATCH = "application/merge-patch+json", "application/json-patch+json"
STRATEGIC, APPLY = "application/strategic-merge-patch+json", "application/apply-patch+yaml"
PROTOBUF = "application/vnd.kubernetes.protobuf"
NAMESPACE = "/api/v1/namespaces/default"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


class Attack(NamedTuple):
    """One request."""

    method: str
    path: str
    content_type: str = JSON
    body: bytes = b""
    accept: str = JSON
    token: str = "admin-token"
    headers: tuple[tuple[bytes, bytes], ...] = ()


Family = Callable[[int], list[Attack]]


def text(value: Any) -> bytes:
    return json.dumps(value).encode()


def named(kind: str, api_version: str = "v1", name: str = "x", **fields: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}, **fields}


def config_map(**data: str) -> dict[str, Any]:
    return named("ConfigMap", data=data)


def pod(**container: Any) -> dict[str, Any]:
    return named("Pod", spec={"containers": [{"name": "c", "image": "i", **container}]})


def env(count: int, value: str = "v") -> list[dict[str, str]]:
    return [{"name": f"E{number}", "value": value} for number in range(count)]


def created(path: str, obj: dict[str, Any]) -> Attack:
    return Attack("POST", path, JSON, text(obj))


# YAML


def yaml_body(body: str) -> list[Attack]:
    return [Attack("POST", f"{NAMESPACE}/configmaps", YAML, body.encode())]


def nested(count: int, line: Callable[[int], str]) -> str:
    lines = ["apiVersion: v1", "kind: ConfigMap", "a0: &a0 {x: 1, y: 2}"]
    return "\n".join([*lines, *(f"a{level}: &a{level} {line(level - 1)}" for level in range(1, count))])


def yaml_merges(count: int) -> list[Attack]:
    return yaml_body(nested(count, lambda level: "{<<: [" + ", ".join([f"*a{level}"] * 9) + "]}"))


def yaml_aliases(count: int) -> list[Attack]:
    return yaml_body(nested(count, lambda level: "[" + ", ".join([f"*a{level}"] * 9) + "]"))


def yaml_merge_chain(count: int) -> list[Attack]:
    return yaml_body(nested(count, lambda level: f"{{<<: *a{level}, k{level}: 1}}"))


def yaml_wide_anchor(count: int) -> list[Attack]:
    anchor = "a: &a [" + ",".join(["1"] * count) + "]\n"
    return yaml_body(anchor + "b: [" + ",".join(["*a"] * count) + "]\n")


def yaml_wide_merge(count: int) -> list[Attack]:
    anchor = "a: &a {" + ",".join(f"k{number}: 1" for number in range(count)) + "}\n"
    return yaml_body(anchor + "b: {<<: [" + ",".join(["*a"] * count) + "]}\n")


def yaml_tags(count: int) -> list[Attack]:
    return yaml_body("".join(f"%TAG !t{number}! x\n" for number in range(count)) + "--- {a: 1}\n")


def yaml_repeated_keys(count: int) -> list[Attack]:
    return yaml_body("apiVersion: v1\nkind: ConfigMap\n" + "same: 1\n" * count)


def yaml_anchors(count: int) -> list[Attack]:
    return yaml_body("".join(f"k{number}: &n{number} 1\n" for number in range(count)))


def yaml_comments(count: int) -> list[Attack]:
    return yaml_body("# a comment\n" * count + "a: 1\n")


def yaml_flow_openings(count: int) -> list[Attack]:
    return yaml_body("[" * count)


def yaml_digits(count: int) -> list[Attack]:
    return yaml_body("a: " + "9" * count)


def yaml_hex_digits(count: int) -> list[Attack]:
    return yaml_body("a: 0x" + "f" * count)


def yaml_underscores(count: int) -> list[Attack]:
    return yaml_body("a: 1" + "_" * count + "x")


def yaml_apply_bomb(count: int) -> list[Attack]:
    body = nested(count, lambda level: "{<<: [" + ", ".join([f"*a{level}"] * 9) + "]}")
    return [Attack("PATCH", f"{NAMESPACE}/configmaps/x?fieldManager=m", APPLY, body.encode())]


# JSON


def json_unknown_fields(count: int) -> list[Attack]:
    return [created(f"{NAMESPACE}/configmaps", {**config_map(), **{f"u{number}": 1 for number in range(count)}})]


def json_unknown_fields_strictly(count: int) -> list[Attack]:
    (attack,) = json_unknown_fields(count)
    return [attack._replace(path=attack.path + "?fieldValidation=Strict")]


def json_unknown_and_repeated(count: int) -> list[Attack]:
    fields = "".join(f'"u{number}":1,"u{number}":2,' for number in range(count))
    body = "{" + fields + '"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}}'
    return [Attack("POST", f"{NAMESPACE}/configmaps", JSON, body.encode())]


def json_repeated_known(count: int) -> list[Attack]:
    fields = ",".join(f'"k{number % (count // 2 + 1)}":"v"' for number in range(count))
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{' + fields + "}}"
    return [Attack("POST", f"{NAMESPACE}/configmaps", JSON, body.encode())]


def json_nested_unknown(count: int) -> list[Attack]:
    items = [{"name": f"c{number}", "image": "i", "bogus": 1} for number in range(count)]
    return [created(f"{NAMESPACE}/pods", named("Pod", spec={"containers": items}))]


def json_custom_unknown(count: int) -> list[Attack]:
    thing = named("Thing", "e.com/v1", spec={f"u{number}": 1 for number in range(count)})
    return [created(CRDS, CRD), created("/apis/e.com/v1/namespaces/default/things", thing)]


def json_colons(count: int) -> list[Attack]:
    return [created(f"{NAMESPACE}/configmaps", config_map(**{f"k{number}": '":"' for number in range(count)}))]


def json_digits(count: int) -> list[Attack]:
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"x:y"},"b":' + "9" * count + "}"
    return [Attack("POST", f"{NAMESPACE}/configmaps", JSON, body.encode())]


def json_escapes(count: int) -> list[Attack]:
    body = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"' + "\\u0041" * count + '"'
    return [Attack("POST", f"{NAMESPACE}/configmaps", JSON, body.encode())]


def json_openings(count: int) -> list[Attack]:
    return [Attack("POST", f"{NAMESPACE}/configmaps", JSON, b"[" * count)]


def json_quotes(count: int) -> list[Attack]:
    return [Attack("POST", f"{NAMESPACE}/configmaps", JSON, b'{"' + b'\\"' * count)]


def base64_of_a_secret(count: int) -> list[Attack]:
    return [created(f"{NAMESPACE}/secrets", named("Secret", data={"a": "QUFB" * count + "!"}))]


def quantity_digits(count: int) -> list[Attack]:
    return [created(f"{NAMESPACE}/pods", pod(resources={"limits": {"cpu": "1" * count}}))]


def quantities(count: int) -> list[Attack]:
    amounts = {f"e.com/r{number}": f"{number}.{number}e{number % 900}" for number in range(count)}
    return [created(f"{NAMESPACE}/pods", pod(resources={"limits": amounts, "requests": amounts}))]


def timestamps(count: int) -> list[Attack]:
    lease = named("Lease", "coordination.k8s.io/v1", spec={"renewTime": "2026-01-01T00:00:00." + "1" * count + "Z"})
    return [created("/apis/coordination.k8s.io/v1/namespaces/default/leases", lease)]


def owners(count: int) -> list[Attack]:
    obj = config_map()
    refs = [{"apiVersion": "v1", "kind": "Pod", "name": f"p{n}", "uid": f"u{n}"} for n in range(count)]
    obj["metadata"]["ownerReferences"] = refs + refs
    return [created(f"{NAMESPACE}/configmaps", obj)]


def finalizers(count: int) -> list[Attack]:
    obj = config_map()
    obj["metadata"]["finalizers"] = [f"e.com/f{number}" for number in range(count)]
    return [created(f"{NAMESPACE}/configmaps", obj)]


def managed_fields(count: int) -> list[Attack]:
    obj = config_map(a="b")
    fields: dict[str, Any] = {"f:data": {f"f:k{number}": {} for number in range(count)}}
    entry = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": fields}
    obj["metadata"]["managedFields"] = [entry]
    return [created(f"{NAMESPACE}/configmaps", obj)]


def managers(count: int) -> list[Attack]:
    obj = config_map(a="b")
    entry = {"operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {"f:a": {}}}}
    obj["metadata"]["managedFields"] = [{"manager": f"m{number}", **entry} for number in range(count)]
    change = {**copy.deepcopy(obj), "data": {"a": "c"}}
    return [created(f"{NAMESPACE}/configmaps", obj), Attack("PUT", f"{NAMESPACE}/configmaps/x", JSON, text(change))]


# Patches


def patched(content_type: str, obj: dict[str, Any], patch: Any, resource: str = "configmaps") -> list[Attack]:
    where = f"{NAMESPACE}/{resource}/x?fieldManager=m"
    return [created(f"{NAMESPACE}/{resource}", obj), Attack("PATCH", where, content_type, text(patch))]


def json_patch_inserts(count: int) -> list[Attack]:
    obj = pod(args=["a"] * (4 * count))
    operations = [{"op": "add", "path": "/spec/containers/0/args/0", "value": "b"}] * min(count, 9_999)
    return patched(JSON_PATCH, obj, operations, "pods")


def json_patch_copies(count: int) -> list[Attack]:
    operations = [{"op": "copy", "from": "/data", "path": f"/data{number}"} for number in range(min(count, 9_999))]
    return patched(JSON_PATCH, config_map(**{f"k{number}": "v" for number in range(count)}), operations)


def json_patch_nested_copies(count: int) -> list[Attack]:
    operations = [{"op": "copy", "from": "", "path": f"/data/d{number}"} for number in range(min(count, 9_999))]
    return patched(JSON_PATCH, config_map(a="b"), operations)


def json_patch_empty_copies(count: int) -> list[Attack]:
    """Copies of what weighs little but is to be walked: empty containers."""
    operations: list[Any] = [{"op": "add", "path": "/data", "value": [[]] * count}]
    operations += [{"op": "copy", "from": "/data", "path": "/other"}] * min(count, 9_998)
    return patched(JSON_PATCH, config_map(a="b"), operations)


def json_patch_tests(count: int) -> list[Attack]:
    """Tests of a whole document, from where something was copied each time."""
    operations: list[Any] = []
    for _ in range(min(count, 4_999)):
        operations += [{"op": "test", "path": "/data", "value": {}}, {"op": "copy", "from": "/data", "path": "/b"}]
    return patched(JSON_PATCH, config_map(**{f"k{number}": "v" for number in range(count)}), operations)


def json_patch_moves(count: int) -> list[Attack]:
    operations = [{"op": "move", "from": "/data", "path": "/other"}, {"op": "move", "from": "/other", "path": "/data"}]
    return patched(JSON_PATCH, config_map(**{f"k{n}": "v" for n in range(count)}), operations * min(count, 4_999))


def json_patch_long_pointer(count: int) -> list[Attack]:
    return patched(JSON_PATCH, config_map(a="b"), [{"op": "add", "path": "/a" * count, "value": 1}])


def json_patch_index_digits(count: int) -> list[Attack]:
    operation = {"op": "add", "path": "/metadata/finalizers/" + "1" * count, "value": "x"}
    obj = config_map(a="b")
    obj["metadata"]["finalizers"] = ["e.com/f"]
    return patched(JSON_PATCH, obj, [operation])


def json_patch_deep_pointers(count: int) -> list[Attack]:
    """Each operation goes one level further down, and the path is walked anew."""
    operations = [{"op": "add", "path": "/data" + "/a" * depth, "value": {}} for depth in range(1, min(count, 150))]
    return patched(JSON_PATCH, config_map(), operations)


def strategic_deletes(count: int) -> list[Attack]:
    changes = [{"$patch": "delete", "name": f"E{number}"} for number in range(count)]
    patch = {"spec": {"containers": [{"name": "c", "env": changes}]}}
    return patched(STRATEGIC, pod(env=env(count)), patch, "pods")


def strategic_primitives(count: int) -> list[Attack]:
    obj = config_map()
    obj["metadata"]["finalizers"] = [f"e.com/f{number}" for number in range(count)]
    return patched(STRATEGIC, obj, {"metadata": {"$deleteFromPrimitiveList/finalizers": obj["metadata"]["finalizers"]}})


def strategic_order(count: int) -> list[Attack]:
    names = [{"name": f"E{number}"} for number in reversed(range(count))]
    patch = {"spec": {"containers": [{"name": "c", "$setElementOrder/env": names, "env": env(count)[::-1]}]}}
    return patched(STRATEGIC, pod(env=env(count)), patch, "pods")


def strategic_retained(count: int) -> list[Attack]:
    data = {f"k{number}": "v" for number in range(count)}
    return patched(STRATEGIC, config_map(**data), {"data": {"$retainKeys": list(data), **data}})


def merge_wide(count: int) -> list[Attack]:
    return patched(MERGE, config_map(), {f"u{number}": {"a": 1} for number in range(count)})


def merge_metadata(count: int) -> list[Attack]:
    labels = {f"l{number}": "v" for number in range(count)}
    return patched(MERGE, config_map(), {"metadata": {"labels": labels, "annotations": labels}})


def refused_pod_change(count: int) -> list[Attack]:
    before, after = pod(env=env(count)), pod(env=env(count, "w"))
    return [created(f"{NAMESPACE}/pods", before), Attack("PUT", f"{NAMESPACE}/pods/x", JSON, text(after))]


def refused_pod_change_shuffled(count: int) -> list[Attack]:
    before, after = pod(env=env(count)), pod(env=env(count)[::-1])
    return [created(f"{NAMESPACE}/pods", before), Attack("PUT", f"{NAMESPACE}/pods/x", JSON, text(after))]


def applied_wide(count: int) -> list[Attack]:
    obj = named("Pod", spec={"containers": [{"name": "c", "image": "i", "env": env(count)}]})
    where = f"{NAMESPACE}/pods/x?fieldManager="
    again = Attack("PATCH", f"{where}b", APPLY, text(obj | {"metadata": {"name": "x", "labels": {"a": "b"}}}))
    return [Attack("PATCH", f"{where}a", APPLY, text(obj)), again]


def applied_conflicts(count: int) -> list[Attack]:
    def of(value: str) -> bytes:
        return text(config_map(**{f"k{number}": value for number in range(count)}))

    where = f"{NAMESPACE}/configmaps/x?fieldManager="
    return [Attack("PATCH", f"{where}a", APPLY, of("1")), Attack("PATCH", f"{where}b", APPLY, of("2"))]


def applied_repeated_items(count: int) -> list[Attack]:
    items = [{"k": "same", "v": number} for number in range(count)]
    thing = named("Thing", "e.com/v1", spec={"l": items})
    where = "/apis/e.com/v1/namespaces/default/things/x?fieldManager=m"
    return [created(CRDS, CRD), Attack("PATCH", where, APPLY, text(thing))]


# Selectors, options, heads


def listed(query: str, resource: str = "configmaps") -> list[Attack]:
    return [Attack("GET", f"{NAMESPACE}/{resource}?{query}")]


def label_selector_requirements(count: int) -> list[Attack]:
    return listed("labelSelector=" + quote(",".join(f"k{number}=v" for number in range(min(count, 6_000)))))


def label_selector_values(count: int) -> list[Attack]:
    return listed("labelSelector=" + quote("k in (" + ",".join(f"v{n}" for n in range(min(count, 8_000))) + ")"))


def label_selector_symbols(count: int) -> list[Attack]:
    return listed("labelSelector=" + quote("k" + "=!" * min(count, 8_000)))


def field_selector_terms(count: int) -> list[Attack]:
    return listed("fieldSelector=" + quote(",".join(["metadata.name=a"] * min(count, 3_000))))


def field_selector_plain(count: int) -> list[Attack]:
    return listed("fieldSelector=" + "a" * min(count, 60_000))


def query_parameters(count: int) -> list[Attack]:
    return listed("&".join(["limit=1"] * min(count, 6_000)))


def continue_token(count: int) -> list[Attack]:
    return listed("limit=1&continue=" + "A" * min(count, 60_000))


def accept_clauses(count: int) -> list[Attack]:
    accept = ",".join(["application/json;as=Table;v=v1;g=meta.k8s.io;q=0.1"] * min(count, 1_000))
    return [Attack("GET", f"{NAMESPACE}/configmaps", accept=accept)]


def accept_parameters(count: int) -> list[Attack]:
    return [Attack("GET", f"{NAMESPACE}/configmaps", accept="application/json" + ";a=b" * min(count, 10_000))]


def impersonated_groups(count: int) -> list[Attack]:
    groups = tuple((b"impersonate-group", b"g%d" % number) for number in range(min(count, 90)))
    return [Attack("GET", f"{NAMESPACE}/configmaps", headers=((b"impersonate-user", b"u"), *groups))]


def path_segments(count: int) -> list[Attack]:
    return [Attack("GET", "/api/v1" + "/a" * min(count, 30_000))]


def path_escapes(count: int) -> list[Attack]:
    return [Attack("GET", f"{NAMESPACE}/configmaps/" + "%41" * min(count, 20_000))]


# Definitions, rules and patterns


def defined(schema: dict[str, Any], **version: Any) -> dict[str, Any]:
    crd = copy.deepcopy(CRD)
    spec: Any = crd["spec"]
    spec["versions"][0] |= {"schema": {"openAPIV3Schema": {"type": "object", "properties": schema}}, **version}
    return crd


def definition_properties(count: int) -> list[Attack]:
    properties = {f"p{number}": {"type": "string"} for number in range(count)}
    return [created(CRDS, defined({"spec": {"type": "object", "properties": properties}}))]


def definition_rules(count: int) -> list[Attack]:
    rules = [{"rule": f"self.a > {number}"} for number in range(count)]
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": rules}
    return [created(CRDS, defined({"spec": spec}))]


def definition_long_rule(count: int) -> list[Attack]:
    rule = " && ".join(["self.a > 1"] * count)
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]}
    return [created(CRDS, defined({"spec": spec}))]


def definition_rule_of(rule: str) -> list[Attack]:
    spec = {"type": "object", "properties": {"a": {"type": "integer"}}, "x-kubernetes-validations": [{"rule": rule}]}
    return [created(CRDS, defined({"spec": spec}))]


def cel_digits(count: int) -> list[Attack]:
    return definition_rule_of("self.a > " + "9" * min(count, 90_000))


def cel_parentheses(count: int) -> list[Attack]:
    return definition_rule_of("(" * min(count, 90_000))


def cel_additions(count: int) -> list[Attack]:
    return definition_rule_of("self.a > 1" + " + 1" * min(count, 20_000))


def cel_conditionals(count: int) -> list[Attack]:
    return definition_rule_of("true ? " * min(count, 10_000) + "true")


def cel_lists(count: int) -> list[Attack]:
    return definition_rule_of("self.a in [" + ",".join(["12345"] * min(count, 15_000)) + "]")


def cel_maps(count: int) -> list[Attack]:
    pairs = ",".join(f"{number}: 1" for number in range(min(count, 12_000)))
    return definition_rule_of("{" + pairs + "}[1] == 1")


def cel_selects(count: int) -> list[Attack]:
    return definition_rule_of("self" + ".a" * min(count, 40_000) + " > 1")


def cel_strings(count: int) -> list[Attack]:
    return definition_rule_of("'" + "\\\\x41" * min(count, 20_000) + "' != ''")


def cel_unclosed(count: int) -> list[Attack]:
    return definition_rule_of("'''" * min(count, 30_000))


def cel_mistakes(count: int) -> list[Attack]:
    return definition_rule_of("# " * min(count, 45_000))


def custom_sets(count: int) -> list[Attack]:
    items = {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}
    spec = {"type": "object", "properties": {"s": items}}
    thing = named("Thing", "e.com/v1", spec={"s": [f"v{number}" for number in range(count)]})
    return [created(CRDS, defined({"spec": spec})), created("/apis/e.com/v1/namespaces/default/things", thing)]


def custom_map_lists(count: int) -> list[Attack]:
    thing = named("Thing", "e.com/v1", spec={"l": [{"k": f"k{number}", "v": 1} for number in range(count)]})
    return [created(CRDS, CRD), created("/apis/e.com/v1/namespaces/default/things", thing)]


def custom_errors(count: int) -> list[Attack]:
    thing = named("Thing", "e.com/v1", spec={"l": [{"k": f"k{number}", "v": "no"} for number in range(count)]})
    return [created(CRDS, CRD), created("/apis/e.com/v1/namespaces/default/things", thing)]


def custom_unique(count: int) -> list[Attack]:
    items = {"type": "array", "maxItems": 50, "items": {"type": "string", "maxLength": 10}}
    rule = {"rule": "self.s.all(a, self.s.exists_one(b, a == b))"}
    spec = {"type": "object", "properties": {"s": items}, "x-kubernetes-validations": [rule]}
    thing = named("Thing", "e.com/v1", spec={"s": [f"v{number}" for number in range(count)]})
    return [created(CRDS, defined({"spec": spec})), created("/apis/e.com/v1/namespaces/default/things", thing)]


# Access


def role_of_many_permissions(count: int) -> list[Attack]:
    """A rule that says little and means much: verbs times groups times resources times names."""
    each = [f"n{number}" for number in range(count)]
    rule = {"verbs": each, "apiGroups": each, "resources": each, "resourceNames": each}
    role = named("Role", "rbac.authorization.k8s.io/v1", rules=[rule])
    return [*role_writer(), created(f"{RBAC}/namespaces/default/roles", role)._replace(token="writer-token")]


def role_of_many_rules(count: int) -> list[Attack]:
    rules = [{"verbs": ["get"], "apiGroups": [""], "resources": [f"r{number}"]} for number in range(count)]
    role = named("Role", "rbac.authorization.k8s.io/v1", rules=rules)
    return [*role_writer(count), created(f"{RBAC}/namespaces/default/roles", role)._replace(token="writer-token")]


def role_writer(held: int = 0) -> list[Attack]:
    """Lets a user write roles, and holds so many other permissions."""
    api = "rbac.authorization.k8s.io/v1"
    rules = [{"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["roles"]}]
    rules += [{"verbs": ["list"], "apiGroups": [""], "resources": [f"r{number}"]} for number in range(held)]
    ref = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "writer"}
    subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "writer"}
    return [
        created(f"{RBAC}/clusterroles", named("ClusterRole", api, "writer", rules=rules)),
        created(
            f"{RBAC}/clusterrolebindings",
            named("ClusterRoleBinding", api, "writer", roleRef=ref, subjects=[subject]),
        ),
    ]


# Protobuf


def field(number: int, data: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def protobuf(raw: bytes) -> list[Attack]:
    unknown = field(1, field(1, b"v1") + field(2, b"ConfigMap")) + field(2, raw)
    return [Attack("POST", f"{NAMESPACE}/configmaps", PROTOBUF, b"k8s\x00" + unknown)]


def protobuf_entries(count: int) -> list[Attack]:
    entries = b"".join(field(2, field(1, b"k%d" % number) + field(2, b"v")) for number in range(count))
    return protobuf(field(1, field(1, b"x")) + entries)


def protobuf_repeated_metadata(count: int) -> list[Attack]:
    return protobuf(field(1, field(1, b"x")) * count)


def protobuf_groups(count: int) -> list[Attack]:
    return protobuf(b"\x7b" * count)


def protobuf_empty_messages(count: int) -> list[Attack]:
    return protobuf(b"\x0a\x00" * count)


def by_hand() -> dict[str, Family]:
    """Every family of this module, by name."""
    skipped = {"field"}
    return {
        name: family
        for name, family in globals().items()
        if callable(family)
        and getattr(family, "__module__", "") == __name__
        and getattr(family, "__annotations__", {}) == {"count": "int", "return": "list[Attack]"}
        and name not in skipped
    }
