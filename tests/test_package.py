"""What ``import attractor`` gives, and what it costs."""

import subprocess
import sys

import pytest

import attractor


@pytest.mark.parametrize("name", attractor.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(attractor, name) is not None


def test_importing_the_package_loads_nothing_else() -> None:
    code = "import sys, attractor; print(*(name for name in sys.modules if name.startswith('attractor.')))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.split() == []


def test_unknown_name_says_so() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'bogus'"):
        attractor.bogus  # noqa: B018
