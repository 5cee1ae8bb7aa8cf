"""A table as text, as a page and as a drawing; nothing of it is missing there."""

import xml.etree.ElementTree as ET

import pytest

from attractor.lifecycle import Lifecycle, markdown, page, svg, text_table
from attractor.operators.edge.api.states import AGENT, APP_INST, CLOUDLET, CLUSTER_INST

TABLES = pytest.mark.parametrize("table", [CLUSTER_INST, APP_INST, CLOUDLET, AGENT], ids=lambda table: table.name)
SVG = "{http://www.w3.org/2000/svg}"


def test_the_text_is_the_design_documents() -> None:
    assert text_table(CLUSTER_INST).splitlines()[:8] == [
        "Current State     Actor                 Next State",
        "=============     =====                 ==========",
        "NotPresent        User create           CreateRequested",
        "CreateRequested   CRM response          Creating",
        "                  CRM response          Ready (if Creating message was missed)",
        "                  CRM error             CreateError",
        "Creating          CRM response          Ready",
        "                  CRM error             CreateError",
    ]


@TABLES
def test_every_row_is_a_line_of_the_text_and_of_markdown(table: Lifecycle[str, str]) -> None:
    assert len(text_table(table).splitlines()) == len(table.steps) + 2
    assert len(markdown(table, overrides=True).splitlines()) == len(table.rows) + 2


@TABLES
def test_the_page_tells_who_owns_each_state(table: Lifecycle[str, str]) -> None:
    text = page(table, diagram="drawing.svg")
    assert all(f"`{state}`" in text for state in table.states)
    assert "![" in text
    assert markdown(table) in text


@TABLES
def test_every_state_is_a_box_and_every_row_an_arrow(table: Lifecycle[str, str]) -> None:
    drawn = ET.fromstring(svg(table))
    groups = drawn.findall(f"{SVG}g")
    boxes = [each.findtext(f"{SVG}text") for each in groups if each.get("class") == "state"]
    arrows = [each.findtext(f"{SVG}title") for each in groups if (each.get("class") or "").startswith("row")]
    assert boxes == [str(state) for state in table.states]
    assert len(arrows) == len(set(arrows)) == len(table.steps)


@TABLES
def test_no_two_boxes_overlap_and_the_same_table_is_drawn_the_same_way(table: Lifecycle[str, str]) -> None:
    drawn = ET.fromstring(svg(table))
    corners = [
        (box.get("x"), box.get("y"))
        for each in drawn.findall(f"{SVG}g")
        if each.get("class") == "state"
        for box in each.findall(f"{SVG}rect")
    ]
    assert len(set(corners)) == len(table.states)
    assert svg(table) == svg(table)
