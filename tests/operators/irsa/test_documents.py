"""Names, documents, settings and admission: what needs no cluster."""

import json
from typing import Any

import pytest

from attractor.objects.errors import Invalid
from attractor.objects.gvk import Key
from attractor.operators.irsa.api import IamRoleServiceAccount, IrsaSpec, PolicySpec, Statement
from attractor.operators.irsa.controllers.documents import canonical, policy_document, trust_document
from attractor.operators.irsa.controllers.irsas import problem_of
from attractor.operators.irsa.controllers.names import MAX_NAME, aws_names
from attractor.operators.irsa.controllers.settings import Settings, SettingsError
from attractor.testing import ClusterUnderTest
from tests.operators.irsa.things import ISSUER, NAMES, PROVIDER, READ, SETTINGS, WRITE, A, irsa


def test_names_on_aws_follow_from_cluster_namespace_and_name() -> None:
    assert NAMES.name == "irsa-op-prod-default-reader"
    assert NAMES.policy_path == "/irsa-operator/prod/default/reader/policy/"
    assert NAMES.policy_arn == f"arn:aws:iam::123456789012:policy{NAMES.policy_path}{NAMES.name}"
    assert NAMES.role_arn == f"arn:aws:iam::123456789012:role/irsa-operator/prod/default/reader/role/{NAMES.name}"


def test_long_names_are_cut_and_stay_different() -> None:
    one, two = (aws_names(SETTINGS, Key("default", "x" * 80 + end)).name for end in "ab")
    assert one != two
    assert len(one) == len(two) == MAX_NAME


def test_a_policy_document_is_as_iam_wants_it() -> None:
    assert json.loads(policy_document([WRITE, READ])) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Action": ["s3:GetObject", "s3:ListBucket"],
                "Resource": ["arn:aws:s3:::reports/*"],
            },
            {"Effect": "Allow", "Action": ["s3:PutObject"], "Resource": ["*"]},
        ],
    }


def test_a_trust_document_lets_one_service_account_in() -> None:
    assert json.loads(trust_document(SETTINGS, "default", "reader")) == {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"Federated": PROVIDER},
                "Action": ["sts:AssumeRoleWithWebIdentity"],
                "Condition": {
                    "StringEquals": {
                        f"{ISSUER}:aud": "sts.amazonaws.com",
                        f"{ISSUER}:sub": "system:serviceaccount:default:reader",
                    }
                },
            }
        ],
    }


def test_documents_are_compared_as_multisets() -> None:
    assert policy_document([READ, WRITE]) == policy_document([WRITE, READ])
    assert policy_document([READ, READ, WRITE]) != policy_document([READ, WRITE, WRITE])
    assert canonical({"Statement": {"Action": "a", "Resource": "b"}}) == canonical(
        '{"Statement": [{"Resource": ["b"], "Action": ["a"]}]}'
    )
    assert canonical("no json") == "no json"
    assert canonical("[]") == "[]"


BAD: list[tuple[list[dict[str, Any]], str]] = [
    ([], "at least one statement must be provided"),
    ([{"resource": "bucket", "action": ["s3:GetObject"]}], "resource must be a valid ARN or *"),
    ([{"resource": "*", "action": []}], "action must not be empty"),
    ([{"resource": "*", "action": ["everything please"]}], "an action is service:Name, as in s3:GetObject"),
]


@pytest.mark.parametrize(("statements", "message"), BAD)
async def test_a_bad_spec_is_refused_by_the_server_and_by_the_operator(
    cluster: ClusterUnderTest, statements: list[dict[str, Any]], message: str
) -> None:
    await cluster.install(IamRoleServiceAccount)
    spec = IrsaSpec(policy=PolicySpec(statement=[Statement(**one) for one in statements]))
    with pytest.raises(Invalid) as refused:
        await cluster.client.create(IamRoleServiceAccount(metadata=irsa().metadata, spec=spec))
    assert message in refused.value.message
    assert message in problem_of(spec)


async def test_a_good_spec_is_admitted(cluster: ClusterUnderTest) -> None:
    await cluster.install(IamRoleServiceAccount)
    await cluster.client.create(irsa(A.name, READ, WRITE, Statement(resource="*", action=["*", "s3:Get*"])))
    assert problem_of(irsa(A.name, READ, WRITE).spec) == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"IRSA_CLUSTER_NAME": ""}, "IRSA_CLUSTER_NAME is not set"),
        ({"IRSA_OIDC_PROVIDER_ARN": ""}, "IRSA_OIDC_PROVIDER_ARN is not set"),
        ({"IRSA_CLUSTER_NAME": "a b"}, "cannot be part of a name on AWS"),
        ({"IRSA_OIDC_PROVIDER_ARN": "https://issuer"}, "is no OIDC provider"),
        ({"IRSA_PERMISSIONS_BOUNDARY_ARN": "limit"}, "is no ARN of a policy"),
        ({"IRSA_RESYNC_S": "soon"}, "give seconds"),
        ({"IRSA_RESYNC_S": "-1"}, "use 0 for never"),
    ],
)
def test_a_wrong_setting_is_named(change: dict[str, str], message: str) -> None:
    good = {"IRSA_CLUSTER_NAME": "prod", "IRSA_OIDC_PROVIDER_ARN": PROVIDER}
    assert Settings.from_environment(good) == SETTINGS
    with pytest.raises(SettingsError, match=message):
        Settings.from_environment(good | change)
