"""The diagram in a real browser, from a file and without a network: clicking, keys, the address of a step."""

import subprocess
from pathlib import Path

import pytest

from attractor.check.report.diagram import page
from tests.check.report.tale import tale

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND",
]


def shown(folder: Path, script: str = "", address: str = "") -> str:
    """What the browser has made of the page, after a script."""
    file = folder / "tale.html"
    report = f"<script>{script};document.title = document.getElementById('detail').innerText;</script></body>"
    file.write_text(page(tale()).replace("</body>", report))
    done = subprocess.run(
        ["chromium", *FLAGS, f"--user-data-dir={folder}/profile", "--dump-dom", f"{file.as_uri()}{address}"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return done.stdout.partition("<title>")[2].partition("</title>")[0]


def press(*keys: str) -> str:
    return ";".join(f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}'}}))" for key in keys)


@pytest.mark.slow
def test_steps_are_chosen_by_address_key_and_click(tmp_path: Path) -> None:
    assert shown(tmp_path).startswith("11. a rival changes ConfigMap default/p-1")
    assert shown(tmp_path, address="#step-4").startswith("4. creates ConfigMap default/p-1")
    assert shown(tmp_path, press("Home", "ArrowDown", "ArrowDown")).startswith("2. hears of ConfigPair default/p")
    assert shown(tmp_path, press("End", "ArrowDown", "k")).startswith("10. finishes")
    click = "document.querySelector('circle[data-step=\"6\"]').dispatchEvent(new MouseEvent('click', {bubbles: true}))"
    after = shown(tmp_path, click)
    assert after.startswith("6. creates ConfigMap default/p-2; the request is lost")
    assert "lost request" in after


@pytest.mark.slow
def test_a_step_shows_what_changed_and_the_whole_state(tmp_path: Path) -> None:
    found = shown(tmp_path, address="#step-11")
    assert "~ data.value: red → &lt;b&gt;blue&lt;/b&gt;" in found
    assert "object ConfigPair default/p" in found
