"""Conversions between versions of a kind: by way of the hub, with the metadata left alone."""

from typing import Any

import pytest

from attractor import Resource, Struct, convert
from attractor.k8s import ConfigMap
from attractor.webhooks import WebhookError, WebhookSet
from attractor.webhooks.conversion import PATH
from tests.webhooks.backups import Backup, BackupV1, backup, down, old_backup, up

V1, V2 = "store.example.org/v1", "store.example.org/v2"


class BackupV0(Resource, group="store.example.org", version="v1alpha1", kind="Backup"):
    """The very first version."""

    spec: dict[str, str] = {}  # noqa: RUF012


@convert(BackupV0, Backup)
def from_alpha(old: BackupV0) -> Backup:
    made = backup()
    made.metadata, made.spec.schedule.minute = old.metadata, old.spec.get("at", "0")
    return made


@convert(Backup, BackupV0)
def to_alpha(new: Backup) -> BackupV0:
    return BackupV0(metadata=new.metadata, spec={"at": new.spec.schedule.minute})


def converted(hooks: WebhookSet, wanted: str, *objects: Resource) -> dict[str, Any]:
    return hooks.answer(PATH, {"desiredAPIVersion": wanted, "objects": [one.to_dict() for one in objects]})


def test_a_conversion_is_called_like_its_function() -> None:
    assert up(old_backup(cron="7 8")).spec.schedule.hour == "8"


def test_objects_go_both_ways() -> None:
    hooks = WebhookSet([up, down])
    answer = converted(hooks, V2, old_backup(), backup("b"))
    assert answer["result"] == {"status": "Success"}
    assert answer["convertedObjects"] == [backup().to_dict(), backup("b").to_dict()]
    (back,) = converted(hooks, V1, backup())["convertedObjects"]
    assert back == old_backup().to_dict()


def test_one_spoke_becomes_another_by_way_of_the_hub() -> None:
    hooks = WebhookSet([to_alpha, up, from_alpha, down])
    (versions,) = hooks.versions()
    assert versions.hub is Backup
    assert list(versions.classes) == ["store.example.org/v1alpha1", V1, V2]
    (made,) = converted(hooks, V1, BackupV0(spec={"at": "9"}))["convertedObjects"]
    assert made["spec"] == {"cron": "9 1"}


def test_of_the_metadata_only_labels_and_annotations_are_the_functions_business() -> None:
    @convert(BackupV1, Backup)
    def relabels(old: BackupV1) -> Backup:
        made = up(old)
        made.metadata.labels, made.metadata.annotations, made.metadata.name = {"from": "v1"}, {}, "other"
        return made

    old = old_backup()
    old.metadata.annotations, old.metadata.uid = {"gone": "yes"}, "u"
    (made,) = converted(WebhookSet([relabels, down]), V2, old)["convertedObjects"]
    assert made["metadata"] == {"name": "a", "namespace": "default", "uid": "u", "labels": {"from": "v1"}}


def test_what_cannot_be_converted_is_told() -> None:
    hooks = WebhookSet([up, down])
    assert "there are store.example.org/v1" in converted(hooks, "store.example.org/v9", backup())["result"]["message"]
    assert "Kind=ConfigMap" in converted(hooks, "v2", ConfigMap())["result"]["message"]


def test_the_definition_has_all_versions_and_stores_the_hub() -> None:
    (definition,) = WebhookSet([up, down]).definitions([Backup])
    versions = {one["name"]: one["storage"] for one in definition["spec"]["versions"]}
    assert versions == {"v1": False, "v2": True}
    assert definition["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["path"] == PATH


@convert(BackupV0, BackupV1)
def chained(old: BackupV0) -> BackupV1:
    return down(from_alpha(old))


class Other(Resource, group="store.example.org", version="v1"):
    """Something else."""

    spec: Struct


async def waits(old: Any) -> Any:
    """Is async."""


@pytest.mark.parametrize(
    ("declare", "hint"),
    [
        (lambda: convert(Backup, Other)(lambda obj: Other(spec=Struct())), 'kind="Other"'),
        (lambda: convert(Backup, Backup)(lambda obj: obj), "no conversion to itself"),
        (lambda: convert(dict, Backup)(up), "needs classes of kinds"),  # type: ignore[type-var, arg-type]
        (lambda: convert(Backup, BackupV1)(waits), "write `def`"),  # type: ignore[arg-type]
        (lambda: WebhookSet([up]), "declare both ways"),
        (lambda: WebhookSet([up, down, convert(BackupV1, Backup)(up.function)]), "keep one"),
        (lambda: WebhookSet([up, down, chained, to_alpha]), "no version of Backup is part"),
    ],
)
def test_a_mistake_in_a_declaration_is_told_with_its_fix(declare: Any, hint: str) -> None:
    with pytest.raises(WebhookError, match=hint):
        declare()
