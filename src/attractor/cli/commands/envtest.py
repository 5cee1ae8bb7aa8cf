"""``attractor envtest``: programs for controller-runtime's envtest and its kin."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from attractor.cli.terminal import UsageError, say

if TYPE_CHECKING:
    import argparse

_EXAMPLES = """\
examples:
  attractor envtest path
      print the directory; it is written first, if need be
  KUBEBUILDER_ASSETS=$(attractor envtest path) go test ./...
      run the tests of an operator in Go, unchanged, on Attractor's server

ATTRACTOR_ENVTEST=nodes=2 in the environment lets Deployments and Jobs run on two simulated nodes;
ATTRACTOR_ENVTEST=no-controllers leaves out garbage collection and the ending of namespaces, as the original does.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Say what ``attractor envtest`` takes."""
    parser.description = (
        "Print a directory with kube-apiserver, etcd and kubectl for KUBEBUILDER_ASSETS: envtest starts Attractor's "
        "server in place of the originals. Nothing is downloaded."
    )
    parser.epilog = _EXAMPLES
    parser.add_argument("what", choices=("path",), help="print the directory")
    parser.add_argument(
        "--directory", type=Path, metavar="DIR", help="write the programs there (default: in the user's cache)"
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write the programs, and print where they are."""
    from attractor.cli.envtest.programs import default_directory, write_programs

    directory = (args.directory or default_directory()).absolute()
    try:
        write_programs(directory)
    except OSError as problem:
        raise UsageError(f"{directory} cannot be written: {problem.strerror}", "name another --directory") from problem
    say([str(directory)])
    return 0
