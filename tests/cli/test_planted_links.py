"""Files that somebody planted where secrets are going to be written: nobody else reads or loses anything."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from attractor.cli.terminal import UsageError
from attractor.embedded.kubeconfig import KubeconfigFile
from attractor.httpd.auth.certificates import write_private
from attractor.operators.devplane.cli.up import Place
from attractor.operators.edge.drivers.process_launcher import AgentLock, write_secret

WRITERS: list[Callable[[Path, bytes], None]] = [
    write_private,
    write_secret,
    lambda path, content: KubeconfigFile(path, content).write(),
]
NAMES = ["kubeconfig", "kubeconfig.new", ".kubeconfig", ".kubeconfig.new", "kubeconfig.tmp", "kubeconfig~"]


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("planted", NAMES)
@pytest.mark.parametrize("way", ["link", "readable", "dangling"])
def test_a_secret_goes_to_a_private_file_whatever_lies_there(
    tmp_path: Path, writer: Callable[[Path, bytes], None], planted: str, way: str
) -> None:
    victim, home = tmp_path / "victim", tmp_path / "home"
    home.mkdir()
    victim.write_bytes(b"mine")
    match way:
        case "link":
            (home / planted).symlink_to(victim)
        case "dangling":
            (home / planted).symlink_to(tmp_path / "nowhere")
        case "readable":
            (home / planted).write_bytes(b"old")
            (home / planted).chmod(0o644)
    path = home / "kubeconfig"
    writer(path, b"secret")
    assert victim.read_bytes() == b"mine"
    assert not (tmp_path / "nowhere").exists()
    assert (path.read_bytes(), path.is_symlink(), stat.S_IMODE(path.stat().st_mode)) == (b"secret", False, 0o600)
    assert [
        one.name for one in home.iterdir() if one.is_file() and not one.is_symlink() and one.read_bytes() == b"secret"
    ] == ["kubeconfig"]


def test_a_directory_for_secrets_is_its_owners_alone(tmp_path: Path) -> None:
    write_secret(tmp_path / "new" / "kubeconfig", b"secret")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700


def test_the_lock_of_an_agent_is_not_taken_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "agent-v1.lock").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic"):
        AgentLock(tmp_path, "v1").acquire()
    assert victim.read_text() == "mine"


def test_a_plane_refuses_a_directory_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".attractor").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="symbolic link"):
        Place(tmp_path / ".attractor").prepare()
    assert os.listdir(tmp_path / "elsewhere") == []


@pytest.mark.parametrize("name", ["lock", ".gitignore", "processes", "tls", "kubeconfig"])
def test_a_plane_refuses_a_directory_with_links_in_it(tmp_path: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / ".attractor").mkdir()
    (tmp_path / ".attractor" / name).symlink_to(victim)
    with pytest.raises(UsageError, match="symbolic link"):
        Place(tmp_path / ".attractor").prepare()
    assert victim.read_text() == "mine"


def test_a_planes_directory_is_its_owners_alone(tmp_path: Path) -> None:
    Place(tmp_path / ".attractor").prepare()
    assert stat.S_IMODE((tmp_path / ".attractor").stat().st_mode) == 0o700
    Place(tmp_path / ".attractor").prepare()
