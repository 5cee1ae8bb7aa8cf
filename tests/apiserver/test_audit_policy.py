"""Which requests an audit policy chooses, and how much of them is written down."""

import pytest

from attractor.apiserver.audit.policy import METADATA_ONLY, NOT_AUDITED, Level, Policy, PolicyError
from attractor.apiserver.auth.authorizer import Attributes, attributes_of
from attractor.apiserver.request.caller import User

JANE = User("jane", groups=("dev", "system:authenticated"))
PODS = attributes_of("GET", "/api/v1/namespaces/a/pods", {})
POD_LOG = attributes_of("GET", "/api/v1/namespaces/a/pods/p/log", {})
HEALTH = attributes_of("GET", "/healthz/ping", {})


def policy(rules: str, more: str = "") -> Policy:
    return Policy.parse(f"{{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{rules}]{more}}}".encode())


def level(rules: str, asked: Attributes, user: User | None = JANE) -> Level:
    return policy(rules).decide(user, asked).level


def test_the_first_rule_that_matches_decides() -> None:
    rules = "{level: Request, verbs: [list]}, {level: None, users: [jane]}, {level: Metadata}"
    assert level(rules, PODS) is Level.REQUEST
    assert level(rules, HEALTH) is Level.NONE
    assert level(rules, HEALTH, User("joe")) is Level.METADATA


def test_what_no_rule_matches_is_not_written_down() -> None:
    assert policy("{level: Metadata, users: [joe]}").decide(JANE, PODS) == NOT_AUDITED


@pytest.mark.parametrize(
    ("rule", "asked", "matches"),
    [
        ("users: [jane]", PODS, True),
        ("users: [joe]", PODS, False),
        ("userGroups: [ops, dev]", PODS, True),
        ("userGroups: [ops]", PODS, False),
        ("verbs: [list, watch]", PODS, True),
        ("verbs: [get]", PODS, False),
        ("namespaces: [a]", PODS, True),
        ("namespaces: [b]", PODS, False),
        ("namespaces: [a]", HEALTH, False),
        ('namespaces: [""]', attributes_of("GET", "/api/v1/nodes", {}), True),
        ('resources: [{group: ""}]', PODS, True),
        ("resources: [{group: apps}]", PODS, False),
        ('resources: [{group: "", resources: [pods]}]', PODS, True),
        ('resources: [{group: "", resources: [pods]}]', POD_LOG, False),
        ('resources: [{group: "", resources: [pods/log]}]', POD_LOG, True),
        ('resources: [{group: "", resources: ["pods/*"]}]', POD_LOG, True),
        ('resources: [{group: "", resources: ["*/log"]}]', POD_LOG, True),
        ('resources: [{group: "", resources: ["*/log"]}]', PODS, False),
        ('resources: [{group: "", resources: ["*"]}]', POD_LOG, True),
        ('resources: [{group: "", resources: [pods/log], resourceNames: [p]}]', POD_LOG, True),
        ('resources: [{group: "", resources: [pods/log], resourceNames: [q]}]', POD_LOG, False),
        ("resources: [{group: apps}]", HEALTH, False),
        ('nonResourceURLs: ["/healthz*"]', HEALTH, True),
        ('nonResourceURLs: ["/healthz"]', HEALTH, False),
        ('nonResourceURLs: ["*"]', PODS, False),
    ],
)
def test_all_that_a_rule_names_must_be_so(rule: str, asked: Attributes, matches: bool) -> None:
    assert level(f"{{level: Metadata, {rule}}}", asked) is (Level.METADATA if matches else Level.NONE)


def test_a_rule_about_users_is_not_about_those_whom_nobody_knows() -> None:
    assert level("{level: Metadata, users: [jane]}", PODS, None) is Level.NONE
    assert level("{level: Metadata, userGroups: [dev]}", PODS, None) is Level.NONE
    assert level("{level: Metadata}", PODS, None) is Level.METADATA


def test_stages_are_left_out_for_one_rule_and_for_all() -> None:
    verdict = policy("{level: Metadata, omitStages: [RequestReceived]}", ", omitStages: [Panic]").decide(JANE, PODS)
    assert verdict.omit_stages == {"RequestReceived", "Panic"}


def test_a_rule_may_keep_managed_fields_that_the_policy_leaves_out() -> None:
    rules = "{level: Request, verbs: [list], omitManagedFields: false}, {level: Request}"
    chosen = policy(rules, ", omitManagedFields: true")
    assert not chosen.decide(JANE, PODS).omit_managed_fields
    assert chosen.decide(JANE, POD_LOG).omit_managed_fields


def test_without_a_policy_every_request_is_one_line_of_metadata() -> None:
    verdict = METADATA_ONLY.decide(JANE, PODS)
    assert verdict == (Level.METADATA, frozenset({"RequestReceived"}), False)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "it must say apiVersion: audit.k8s.io/v1 and kind: Policy"),
        ("{apiVersion: audit.k8s.io/v1beta1, kind: Policy, rules: []}", "it must say apiVersion: audit.k8s.io/v1"),
        ("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: []}", "it has no rules"),
        ("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{}]}", "missing required field `level`"),
        ("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: All}]}", r"'All' - at `\$.rules\[0\].level`"),
        ("{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, user: [x]}]}", "unknown field `user`"),
        (
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, namespaces: [a], nonResourceURLs: [/x]}]}",
            r"rules\[0\]: rules cannot apply to both",
        ),
        (
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, nonResourceURLs: ['/a*b']}]}",
            r"rules\[0\].nonResourceURLs: '/a\*b' must be",
        ),
        (
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, resources: [{resourceNames: [a]}]}]}",
            r"rules\[0\].resources\[0\]: using resourceNames requires",
        ),
        (
            "{apiVersion: audit.k8s.io/v1, kind: Policy, rules: [{level: None, omitStages: [Middle]}]}",
            "Invalid enum value 'Middle'",
        ),
        ("a: [", "yaml"),
    ],
)
def test_a_policy_that_cannot_be_used_is_refused_with_the_place(text: str, complaint: str) -> None:
    with pytest.raises(PolicyError, match=complaint):
        Policy.parse(text.encode())
