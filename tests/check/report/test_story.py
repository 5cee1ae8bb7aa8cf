"""Stories: what people and programs are shown of a run."""

import copy
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from attractor.check import Faults, World, check, eventually_stable
from attractor.check.report import BadStory, Lane, Part, Step, Story
from attractor.check.report.diagram import page
from attractor.check.report.diagram.layout import Layout
from attractor.check.report.json_difference import difference
from attractor.check.report.story_builder import story_of
from attractor.check.report.table import lines
from tests.check.report.tale import tale
from tests.check.world.pairs import both_are_right, naive, pair
from tests.quality.zoo import outside_call_repeated, result_of_a_predecessor


def test_a_story_survives_json() -> None:
    assert Story.from_json(tale().to_json()) == tale()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "something"}, "not the story of a run"),
        ({"version": 99}, "version 99, and only version 2 can be read"),
        ({"steps": [{"lane": "user"}]}, "damaged"),
        ({"lanes": []}, "step 1 names the unknown lane 'user'"),
        ({"loop": 99}, "its loop begins at step 99 of 11"),
        ({"lanes": [{"id": "x", "kind": "ghost", "title": "x"}]}, "'ghost' - at"),
    ],
)
def test_a_story_that_cannot_be_read_says_why(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadStory, match=problem):
        Story.from_json({**copy.deepcopy(tale().to_json()), **change})


def test_the_table_tells_who_did_what_and_what_became_of_objects() -> None:
    shown = list(lines(tale(), width=90))
    assert "   1  user            creates ConfigPair default/p" in shown
    assert "                      + ConfigPair default/p" in shown
    assert "↻                       ~ data.value: red → <b>blue</b>" in shown
    assert shown[-1] == "↻ and then again from after step 9, for ever"
    assert not any("cache host0" in line for line in shown), "caches are for those who ask for everything"
    assert any("+ cache host0 ConfigPair default/p" in line for line in lines(tale(), width=90, full=True))


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_the_table_fits_the_terminal(width: int) -> None:
    assert max(len(line) for line in lines(tale(), width=width)) <= width


def test_differences_leave_out_what_every_write_changes() -> None:
    before = {"metadata": {"resourceVersion": "1", "labels": {"a": "1"}}, "data": {"x": 1, "y": 2}}
    after = {"metadata": {"resourceVersion": "2", "labels": {"a": "2"}}, "data": {"x": 1, "z": [3]}}
    assert [str(line) for line in difference(before, after)] == [
        "~ metadata.labels.a: 1 → 2",
        "- data.y: 2",
        "+ data.z: [3]",
    ]


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def count(self, tag: str, *classes: str) -> int:
        wanted = set(classes)
        return sum(1 for name, given in self.tags if name == tag and wanted <= set((given.get("class") or "").split()))


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def test_the_page_stands_alone_and_shows_every_lane_step_and_message() -> None:
    text = page(tale())
    found = read(text)
    assert not re.search(r"(src|href)=|url\(|@import|https?://(?!www\.w3\.org/2000/svg)", text), "no network"
    assert found.count("line", "lane") == 5
    assert found.count("circle", "dot") == 11
    assert found.count("g", "message") == 8
    assert found.count("path", "cross") == 2, "one for each message that got lost"
    assert found.count("path", "crash") == 2, "one for each lane of the host that crashed"
    assert found.count("rect", "row", "loop") == 2
    assert found.count("li", "fault") == 4


@pytest.mark.parametrize("count", range(1, 10))
def test_up_to_nine_lanes_stand_side_by_side_on_a_page_of_1400_pixels(count: int) -> None:
    lanes = tuple(Lane(f"lane {number}", "worker", f"host1 worker {number}") for number in range(count))
    story = Story("world", "claim", "", lanes, (), (Step("lane 0", "start", "start"),))
    room = 1400 * 0.7 - 270 - 15  # without the details, the list of steps, and a scroll bar
    assert Layout(story).width <= room


def test_an_outside_system_is_open_in_the_table_and_the_page_says_which_values_make_the_claim_false() -> None:
    world = outside_call_repeated.world()
    story = story_of(world, check(world).assert_violated("one volume is enough"))
    assert [lane.title for lane in story.lanes][-2:] == ["Volumes", "host1"], "machinery comes last"
    changes = [change for step in story.steps for change in step.changes if change.part.label == "external Volumes"]
    assert [change.after for change in changes] == [{"names": [""]}, {"names": ["", ""]}]
    assert any('~ names: [""] → ["", ""]' in line for line in lines(story))
    shown = page(story)
    assert "After step 9:" in shown
    assert "len(look.external(Volumes).names) = 2" in shown


def test_what_objects_contain_cannot_break_the_page() -> None:
    text = page(tale(title="</script><script>alert(1)</script> {{data}}"))
    assert "<script>alert" not in text
    assert read(text).count("script") == 2


def test_an_event_is_drawn_from_when_it_was_sent_to_when_it_arrived() -> None:
    layout = Layout(tale())
    event = next(arrow for arrow in layout.arrows if arrow.message.kind == "event")
    assert (event.y1, event.y2) == (layout.y(1), layout.y(2))


def test_workers_are_busy_from_begin_to_end_and_hosts_down_from_crash_to_restart() -> None:
    layout = Layout(tale())
    spans = {(bar.lane.id, bar.is_down): (bar.top, bar.bottom) for bar in layout.bars}
    assert spans["host0/pairs/0", True] == (layout.y(7), layout.y(8))
    assert spans["host0/cache", True] == (layout.y(7), layout.y(8))
    assert spans["host0/pairs/0", False] == (layout.y(9), layout.y(10))


def test_a_trace_of_a_world_becomes_a_story() -> None:
    world = World(
        controllers=[naive],
        objects=[pair()],
        users=(),
        faults=Faults(crash=1),
        properties=[eventually_stable(both_are_right)],
    )
    story = story_of(world, check(world).assert_violated("eventually stable"))
    assert [lane.title for lane in story.lanes] == ["API server", "cache of host1", "host1 worker 0", "host1"]
    assert story.says == (
        "Once users and faults stop: each pair has its two ConfigMaps, and nothing else is there, and it stays so."
    )
    assert [step.fault for step in story.steps if step.fault] == ["crash"]
    assert [step.phase for step in story.steps] == [
        "", "restart", "begin", "", "", "", "crash", "", "restart", "begin", "", "end",
    ]  # fmt: skip
    created = story.steps[5]
    assert created.changes[0].part == Part("object", "core/configmaps/default/a-1", "ConfigMap default/a-1")
    assert [(each.kind, each.label) for each in created.messages] == [
        ("request", "POST default/configmaps"),
        ("answer", "201"),
    ]
    assert Story.from_json(story.to_json()) == story


def test_a_step_that_is_all_memory_says_what_was_recalled() -> None:
    world = result_of_a_predecessor.world()
    story = story_of(world, check(world, stop_at_first=True).assert_violated("results are of the app"))
    titles = [step.title for step in story.steps]
    assert titles.count("recall Build -> ok") == 2
    assert "go on" not in titles
