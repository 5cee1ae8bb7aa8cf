"""The generated messages of etcd are those of the file that they are made from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
PROTO = "attractor/store/etcd/proto/rpc.proto"


def test_generated_messages_are_up_to_date(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"-I{SOURCE}",
        f"--python_out={tmp_path}",
        f"--pyi_out={tmp_path}",
    ]
    subprocess.run([*command, PROTO], check=True)
    for name in ("rpc_pb2.py", "rpc_pb2.pyi"):
        made = (tmp_path / PROTO).with_name(name).read_text()
        assert (SOURCE / PROTO).with_name(name).read_text() == made, "regenerate, see proto/README.md"
