"""The password in a store's address is shown to nobody: not in errors, pages, representations or process lists."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from attractor.cli.commands.serve import ServeError, Settings, serving
from attractor.httpd.pages.zpages import ServerFacts
from attractor.store import StoreError, open_store
from attractor.store.factory import etcd_options, shown_address

if TYPE_CHECKING:
    from collections.abc import Sequence

SECRET = "s3same"
WRONG = [
    f"etcd:127.0.0.1:1?user=root&password={SECRET}",
    f"etcd:127.0.0.1?user=root&password={SECRET}",
    f"etcd:root:{SECRET}@127.0.0.1:1",
    f"etcd:root:{SECRET}@127.0.0.1",
    f"etcd://root:{SECRET}@127.0.0.1:1?prefix=/a/",
    f"etcd:127.0.0.1:1?user=root&password=a&{SECRET}",
    f"etcd:127.0.0.1:1?user=root&password=a&{SECRET}=b",
    f"etcd:127.0.0.1:1?password={SECRET}",
    f"etcd:127.0.0.1:1?user=root&password={SECRET}&cert=/does/not/exist",
    f"etcd:127.0.0.1:1?user=root&password={SECRET}&ca=/does/not/exist",
    f"etdc:127.0.0.1:1?user=root&password={SECRET}",
    f"memory?password={SECRET}",
    f"etcd?password={SECRET}",
]


def settings(store: str, directory: Path) -> Settings:
    words = ["--store", store, "--listen", "127.0.0.1:0", "--kubeconfig", str(directory / "kubeconfig")]
    return Settings.parse(words)


def told(error: BaseException) -> str:
    """An error with all that led to it."""
    parts = [str(error), repr(error), getattr(error, "hint", "")]
    return " ".join(parts) + (told(error.__cause__) if error.__cause__ else "")


@pytest.mark.parametrize("address", WRONG)
async def test_no_error_tells_the_password_of_a_wrong_address(address: str) -> None:
    with pytest.raises((StoreError, ValueError)) as refused:
        await open_store(address)
    assert SECRET not in told(refused.value)


@pytest.mark.parametrize("address", WRONG)
async def test_a_failed_start_does_not_tell_the_password(address: str, tmp_path: Path) -> None:
    with pytest.raises(ServeError) as refused:
        async with serving(settings(address, tmp_path)):
            pass
    assert SECRET not in told(refused.value)


@pytest.mark.parametrize("address", WRONG)
def test_neither_the_page_of_flags_nor_the_settings_tell_the_password(address: str, tmp_path: Path) -> None:
    given = settings(address, tmp_path)
    for accept in ("text/plain", "application/json;g=config.k8s.io;v=v1beta1;as=Flagz"):
        page = ServerFacts(given.flags).reply("/flagz", accept)
        assert page is not None
        assert b"store" in page.body
        assert SECRET.encode() not in page.body
    assert SECRET not in repr(given)
    assert SECRET not in shown_address(address)


def test_options_of_etcd_do_not_show_the_password() -> None:
    options = etcd_options(f"etcd:h:1?user=root&password={SECRET}")
    assert options.password == SECRET
    assert SECRET not in f"{options} {options!r}"


def command_line(process: subprocess.Popen[bytes]) -> bytes:
    return Path(f"/proc/{process.pid}/cmdline").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("store", [f"--store={WRONG[0]}", f"--store={WRONG[2]}"])
def test_a_running_command_does_not_show_the_password_in_the_list_of_processes(store: str, tmp_path: Path) -> None:
    code = "import attractor.cli.main as m, sys; m.lazy_parser = lambda _: sys.stdin.read(); m.main()"  # and stays
    words: Sequence[str] = [sys.executable, "-c", code, "serve", store]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=tmp_path) as process:
        try:
            assert process.stdin is not None
            deadline = time.monotonic() + 60
            while b"127.0.0.1:1" not in command_line(process):  # until the program itself runs there
                assert time.monotonic() < deadline, "the command has not begun"
            while SECRET.encode() in command_line(process) and process.poll() is None:
                assert time.monotonic() < deadline, "the password is still in the list of processes"
            assert b"127.0.0.1:1" in command_line(process)
        finally:
            process.kill()
