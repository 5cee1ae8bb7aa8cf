"""The stale-cache table of the document on DAG-planned controllers, found by the checker; and what the document misses."""

from __future__ import annotations

from pathlib import Path

from attractor.check.world.api.stale_cache_table import LAGS, Action, Lag, guarded_rows, lines, stale_cache_table

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "world-stale-cache.md"

DOCUMENT: dict[Lag, dict[Action, bool | None]] = {
    "latest": {"create": True, "update": True, "delete": True},
    "c-lag": {"create": None, "update": False, "delete": False},
    "u-lag": {"create": None, "update": True, "delete": True},
    "d-lag": {"create": False, "update": None, "delete": None},
}
"""As published: whether a plan made from such a cache does what it should, in one reconcile."""


def test_the_checker_finds_the_published_table() -> None:
    found = {(each.lag, each.action): each for each in stale_cache_table()}
    assert {lag for lag, _ in found} == set(LAGS)
    for lag, row in DOCUMENT.items():
        for action, once in row.items():
            cell = found[lag, action]
            assert cell.once is once, cell
            assert cell.eventually is (None if once is None else True), cell


def test_a_recreated_object_is_lost_by_name_and_left_alone_by_uid() -> None:
    by_name = {each.action: each for each in stale_cache_table() if each.lag == "recreated"}
    assert (by_name["delete"].once, by_name["delete"].eventually) == (False, False)
    assert by_name["delete"].reason == "delete -> ok"
    by_uid = {each.action: each for each in guarded_rows()}
    assert (by_uid["delete"].once, by_uid["delete"].eventually) == (True, True)
    assert by_uid["delete"].reason == "delete -> 409 Conflict"


def test_the_page_shows_the_table_as_it_is_found() -> None:
    assert "\n".join(lines()) in PAGE.read_text()
