"""Generated objects fit their kinds, and conversions that lose something are found by them."""

from datetime import datetime
from typing import Annotated, Literal

import pytest

from attractor import ListMap, Meta, Resource, Struct, convert
from attractor.k8s.core_v1 import EnvVar, ResourceRequirements
from attractor.schema.custom import CustomSchema
from attractor.testing import assert_round_trips, generated
from tests.webhooks.backups import Backup, BackupV1, backup, down, old_backup, up


class Part(Struct):
    name: str
    size: Annotated[int, Meta(ge=1, le=5)] = 1


class AllSpec(Struct):
    parts: Annotated[list[Part], ListMap("name")] = []  # noqa: RUF012
    tier: Literal["small", "large"] = "small"
    since: datetime | None = None
    weights: dict[str, float] = {}  # noqa: RUF012
    on: bool = False
    resources: ResourceRequirements = ResourceRequirements()
    env: list[EnvVar] = []  # noqa: RUF012


class All(Resource, group="test.example.org", version="v1"):
    """A kind with fields of all sorts, built-in types among them."""

    spec: AllSpec


def test_generated_objects_fit_the_schema_and_are_the_same_for_the_same_seed() -> None:
    schema = CustomSchema(All.crd()["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    made = list(generated(All, 30, seed=1))
    assert [schema.validate(one.to_dict(), None) for one in made] == [[]] * 30
    assert made == list(generated(All, 30, seed=1))
    assert {one.spec.tier for one in made} == {"small", "large"}
    assert any(one.spec.resources.limits for one in made)


class Strict(Resource, group="test.example.org", version="v1"):
    """A kind with a pattern that no known text has."""

    spec: Annotated[str, Meta(pattern="^q{7}$")]


def test_a_pattern_for_which_no_text_is_known_is_named() -> None:
    with pytest.raises(ValueError, match=r"Strict.spec must match .*examples="):
        next(generated(Strict))


def test_conversions_that_lose_nothing_pass() -> None:
    assert_round_trips(up, down, examples=[backup(minute="*/5"), old_backup(cron="1 2")])


@convert(Backup, BackupV1)
def forgets(new: Backup) -> BackupV1:
    """Loses the hour."""
    return old_backup(new.metadata.name, cron=f"{new.spec.schedule.minute} 0")


def test_a_conversion_that_loses_a_field_is_shown() -> None:
    with pytest.raises(AssertionError, match=r"Backup does not survive v\d -> v\d -> v\d\n  was: "):
        assert_round_trips(up, forgets)
