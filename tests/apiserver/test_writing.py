"""Create and update: metadata, versions, generations, no-ops."""

import gc
import tracemalloc

import pytest

from attractor.store.contract import Stale, StoreError, StoreFull, StoreUnavailable
from tests.apiserver.conftest import CONFIGMAPS, WIDGETS, Api


async def test_created_object_gets_uid_version_and_time(api: Api) -> None:
    made = await api.create(CONFIGMAPS, "a", data={"k": "v"})
    assert made.metadata["uid"]
    assert made.metadata["creationTimestamp"] == api.source.now()
    assert made.version == str(api.server.store.revision)
    assert (await api.get(f"{CONFIGMAPS}/a")).body == made.body


async def test_identical_update_changes_nothing_not_even_the_version(api: Api) -> None:
    made = await api.create(CONFIGMAPS, "a", data={"k": "v"})
    api.source.advance(60)
    again = await api("PUT", f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}, "data": {"k": "v"}})
    assert again.code == 200
    assert again.body == made.body


async def test_update_with_an_old_version_conflicts(api: Api) -> None:
    made = await api.create(CONFIGMAPS, "a", data={"k": "1"})
    await api.merge(f"{CONFIGMAPS}/a", {"data": {"k": "2"}})
    late = await api("PUT", f"{CONFIGMAPS}/a", {**made.body, "data": {"k": "3"}})
    assert (late.code, late.body["reason"]) == (409, "Conflict")
    assert (await api.get(f"{CONFIGMAPS}/a")).body["data"] == {"k": "2"}


async def test_update_of_another_incarnation_conflicts(api: Api) -> None:
    made = await api.create(CONFIGMAPS, "a")
    await api.delete(f"{CONFIGMAPS}/a")
    await api.create(CONFIGMAPS, "a")
    metadata = {"name": "a", "uid": made.metadata["uid"]}
    late = await api("PUT", f"{CONFIGMAPS}/a", {"metadata": metadata})
    assert late.code == 409
    assert "UID in precondition" in late.body["message"]


async def test_generation_counts_changes_of_the_spec_only(api: Api) -> None:
    await api.define_widgets()
    assert (await api.create(WIDGETS, "w", spec={"size": 1})).metadata["generation"] == 1
    assert (await api.merge(f"{WIDGETS}/w", {"metadata": {"labels": {"a": "b"}}})).metadata["generation"] == 1
    assert (await api.merge(f"{WIDGETS}/w/status", {"status": {"size": 1}})).metadata["generation"] == 1
    assert (await api.merge(f"{WIDGETS}/w", {"spec": {"size": 2}})).metadata["generation"] == 2


async def test_status_is_written_only_through_its_subresource(api: Api) -> None:
    await api.define_widgets()
    made = await api.create(WIDGETS, "w", spec={"size": 1}, status={"size": 9})
    assert "status" not in made.body
    through_main = await api.merge(f"{WIDGETS}/w", {"status": {"size": 3}})
    assert through_main.version == made.version
    through_status = await api.merge(f"{WIDGETS}/w/status", {"status": {"size": 3}, "spec": {"size": 7}})
    assert through_status.body["status"] == {"size": 3}
    assert through_status.body["spec"]["size"] == 1


async def test_generated_name_that_is_taken_is_drawn_again(api: Api) -> None:
    suffixes = iter(["aaaaa", "aaaaa", "bbbbb"])
    api.source.suffix = lambda: next(suffixes)  # type: ignore[method-assign]
    first = await api("POST", CONFIGMAPS, {"metadata": {"generateName": "n-"}})
    second = await api("POST", CONFIGMAPS, {"metadata": {"generateName": "n-"}})
    assert [first.metadata["name"], second.metadata["name"]] == ["n-aaaaa", "n-bbbbb"]


async def test_dry_run_answers_as_if_and_writes_nothing(api: Api) -> None:
    before = api.server.store.revision
    made = await api("POST", f"{CONFIGMAPS}?dryRun=All", {"metadata": {"name": "a"}})
    assert made.code == 201
    assert "resourceVersion" not in made.metadata
    assert api.server.store.revision == before


async def test_two_controllers_of_one_object_are_refused(api: Api) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "controller": True}
    owners = [{**owner, "name": name, "uid": f"{number}"} for number, name in enumerate("ab")]
    answer = await api("POST", CONFIGMAPS, {"metadata": {"name": "x", "ownerReferences": owners}})
    assert answer.code == 422
    assert "Only one reference can have Controller set to true" in answer.body["message"]


async def test_repeated_owner_is_dropped_with_a_warning(api: Api) -> None:
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    answer = await api("POST", CONFIGMAPS, {"metadata": {"name": "x", "ownerReferences": [owner, owner]}})
    assert answer.metadata["ownerReferences"] == [owner]
    assert "duplicate entries" in answer.warnings[0]


async def test_unknown_field_warns_by_default_and_fails_when_strict(api: Api) -> None:
    await api.define_widgets()
    body = {"metadata": {"name": "w"}, "spec": {"colour": "red"}}
    strict = await api("POST", f"{WIDGETS}?fieldValidation=Strict", body)
    assert strict.code == 400
    lenient = await api("POST", WIDGETS, body)
    assert lenient.warnings == ('unknown field "spec.colour"',)
    silent = await api("POST", f"{WIDGETS}?fieldValidation=Ignore", {**body, "metadata": {"name": "v"}})
    assert silent.warnings == ()


async def test_field_written_twice_is_reported_and_the_last_one_counts(api: Api) -> None:
    body = b'{"metadata":{"name":"a"},"data":{"k":"1","k":"2"}}'
    answer = await api("POST", CONFIGMAPS, body)
    assert answer.body["data"] == {"k": "2"}
    assert answer.warnings == ('duplicate field "data.k"',)
    strict = await api("POST", f"{CONFIGMAPS}?fieldValidation=Strict", body)
    assert 'duplicate field "data.k"' in strict.body["message"]


async def test_yaml_body_is_read_like_json(api: Api) -> None:
    body = b"metadata:\n  name: a\ndata:\n  when: '2026-01-01'\n"
    answer = await api("POST", CONFIGMAPS, body, "application/yaml")
    assert answer.body["data"] == {"when": "2026-01-01"}


async def test_yaml_that_grows_through_aliases_is_refused(api: Api) -> None:
    layers = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    layers += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    answer = await api("POST", CONFIGMAPS, "\n".join(layers).encode(), "application/yaml")
    assert answer.code == 400
    assert "excessive aliasing" in answer.body["message"]


@pytest.mark.parametrize("opening", ['{"a":', "["])
@pytest.mark.parametrize("depth", [300, 600, 200_000])
async def test_body_nested_too_deeply_is_refused(api: Api, opening: str, depth: int) -> None:
    closing = "}" if opening[0] == "{" else "]"
    body = '{"metadata":{"name":"a"},"data":' + opening * depth + "1" + closing * depth + "}"
    assert (await api("POST", CONFIGMAPS, body.encode())).code == 400
    patched = await api("PATCH", f"{CONFIGMAPS}/a", body.encode(), "application/merge-patch+json")
    assert patched.code == 400


async def test_write_that_loses_a_race_is_run_again_on_what_it_lost_to(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.create(CONFIGMAPS, "a", data={"n": "0"})
    commit, rivals = api.server.store.commit, [1]
    monkeypatch.setattr(api.server.store, "draft_nowait", lambda: None)  # as on an engine that others write to

    async def overtaken(compares, *, puts, deletes=()):  # type: ignore[no-untyped-def]
        if rivals:
            rivals.pop()
            monkeypatch.setattr(api.server.store, "commit", commit)
            await api.merge(f"{CONFIGMAPS}/a", {"data": {"rival": "was here"}})
            monkeypatch.setattr(api.server.store, "commit", overtaken)
        return await commit(compares, puts=puts, deletes=deletes)

    monkeypatch.setattr(api.server.store, "commit", overtaken)
    answer = await api.merge(f"{CONFIGMAPS}/a", {"data": {"n": "1"}})
    assert answer.body["data"] == {"n": "1", "rival": "was here"}


async def test_write_gives_up_with_a_conflict_when_rivals_never_stop(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    async def always_stale(compares, *, puts, deletes=()):  # type: ignore[no-untyped-def]
        raise Stale(compares)

    monkeypatch.setattr(api.server.store, "draft_nowait", lambda: None)  # as on an engine that others write to
    monkeypatch.setattr(api.server.store, "commit", always_stale)
    answer = await api("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    assert answer.code == 409
    assert "other writers keep changing" in answer.body["message"]


@pytest.mark.parametrize(("error", "code"), [(StoreFull("no space left"), 507), (StoreUnavailable("no route"), 503)])
async def test_store_that_cannot_write_answers_so_and_reads_go_on(
    api: Api, monkeypatch: pytest.MonkeyPatch, error: StoreError, code: int
) -> None:
    await api.create(CONFIGMAPS, "a")

    async def fail(compares, *, puts, deletes=()):  # type: ignore[no-untyped-def]
        raise error

    def fail_at_once(draft, *, puts, deletes=(), again=None):  # type: ignore[no-untyped-def]
        raise error

    monkeypatch.setattr(api.server.store, "commit_draft", fail_at_once)
    assert (await api("POST", CONFIGMAPS, {"metadata": {"name": "b"}})).code == code
    monkeypatch.setattr(api.server.store, "commit", fail)
    monkeypatch.setattr(api.server.store, "draft_nowait", lambda: None)
    assert (await api("POST", CONFIGMAPS, {"metadata": {"name": "b"}})).code == code
    assert (await api.get(CONFIGMAPS)).names == ["a"]


@pytest.mark.parametrize("metadata", [-1, "x", [], True])
async def test_a_patch_that_makes_metadata_something_else_is_refused(api: Api, metadata: object) -> None:
    await api.create(CONFIGMAPS, "a")
    refused = await api.merge(f"{CONFIGMAPS}/a", {"metadata": metadata})
    assert (refused.code, refused.body["reason"]) == (422, "Invalid")


@pytest.mark.parametrize(
    "patch",
    [
        {"spec": 1},
        {"spec": {"replicas": "1"}},
        {"spec": {"replicas": 2**40}},
        {"metadata": []},
        {"metadata": {"uid": 1}},
    ],
)
async def test_a_scale_of_another_shape_is_refused(api: Api, patch: object) -> None:
    await api.define_widgets()
    await api.create(WIDGETS, "w", spec={"size": 1})
    refused = await api.merge(f"{WIDGETS}/w/scale", patch)
    assert (refused.code, refused.body["reason"]) == (422, "Invalid")
    assert (await api.get(f"{WIDGETS}/w")).body["spec"]["size"] == 1


@pytest.mark.parametrize("size", [2**64, 1e20, 2**63])
async def test_a_number_beyond_64_bits_is_refused_and_named(api: Api, size: float) -> None:
    await api.define_widgets()
    refused = await api("POST", WIDGETS, {"metadata": {"name": "w"}, "spec": {"size": size}})
    assert (refused.code, refused.body["reason"]) == (422, "Invalid")


async def test_a_patch_that_says_another_version_in_no_version_s_shape_is_refused(api: Api) -> None:
    await api.create(CONFIGMAPS, "a")
    refused = await api.merge(f"{CONFIGMAPS}/a", {"apiVersion": "a/b/c"})
    assert (refused.code, refused.body["reason"]) == (422, "Invalid")
    assert "unexpected GroupVersion string: a/b/c" in refused.body["message"]


async def test_what_is_stored_takes_little_more_memory_than_its_bytes(api: Api) -> None:
    """An encoder's buffer is up to eight times as large as what it wrote; a store of many objects must not keep it."""
    more: dict[int, float] = {}
    for length in (100, 1300, 5000, 20_000):
        await api.create(CONFIGMAPS, f"warm{length}", data={"key": "v" * length})
        gc.collect()
        tracemalloc.start()
        try:
            for n in range(50):
                await api.create(CONFIGMAPS, f"c{length}-{n}", data={"key": "v" * length})
            gc.collect()
            held, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        entries = api.server.store.snapshot_nowait().range(f"core/configmaps/default/c{length}-")
        more[length] = (held - sum(len(entry.value) for entry in entries)) / 50
    assert max(more.values()) < 1500, more
