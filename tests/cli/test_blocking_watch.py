"""A line that blocks the event loop is named while it does."""

import threading

from attractor.cli.operator.blocking_watch import BlockingWatch
from attractor.objects.gvk import Key
from attractor.runtime import Context
from attractor.runtime.steps import Steps


async def test_the_line_that_holds_up_the_event_loop_is_told() -> None:
    lines: list[str] = []
    told = threading.Event()

    def tell(line: str) -> None:
        lines.append(line)
        told.set()

    async def reconcile(ctx: Context, key: Key) -> None:
        told.wait(60)

    key = Key("default", "a")
    with BlockingWatch(tell, limit_s=0.05):
        Steps(reconcile(Context("blocking", key), key))
    assert [line.rpartition(": ")[2] for line in lines] == ["told.wait(60)"]
    assert lines[0].startswith(f"{__file__}:")
