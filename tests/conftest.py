"""Settings that every test shares, and the choice of another cluster for those that can have one."""

import gc
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from attractor.testing import ClusterUnderTest
from tests.anycluster import Leftovers, given_config, lacking
from tests.compiled import stale

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("ci", settings.get_profile("default"), derandomize=True)
settings.register_profile("nightly", settings.get_profile("default"), max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("attractor")
    group.addoption(
        "--kubeconfig",
        type=Path,
        metavar="PATH",
        help="run the tests marked any_cluster, and no others, against the cluster that this file names",
    )
    group.addoption(
        "--kube-context", default="", metavar="NAME", help="the kubeconfig's context (default: its current)"
    )


def pytest_configure() -> None:
    if old := stale():
        raise pytest.UsageError(
            f"compiled modules are not what their source says: {', '.join(old)}; run `make setup`, or `make interpreted`"
        )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--kubeconfig") is None:
        return
    given = given_config(config)
    without = lacking(given) if given is not None else set()

    def can_run(item: pytest.Item) -> bool:
        needs = {name for mark in item.iter_markers("needs") for name in mark.args}
        return item.get_closest_marker("any_cluster") is not None and not needs & without

    config.hook.pytest_deselected(items=[item for item in items if not can_run(item)])
    items[:] = [item for item in items if can_run(item)]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Nothing that is collected is ever garbage: not looked through while it grows, nor again at each full collection."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard() -> None:
    """Undo what a shell does to a command in the background: it, and all that it starts, would ignore SIGINT."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def cluster(attractor_cluster: ClusterUnderTest) -> ClusterUnderTest:
    """The plugin's cluster, under a name that is ours here."""
    return attractor_cluster


@pytest.fixture(scope="session")
def leftovers(request: pytest.FixtureRequest) -> Iterator[Leftovers]:
    """Where tests note what they put into a cluster that outlives them."""
    made = Leftovers(given_config(request.config))
    yield made
    made.remove()
