"""A simulated AWS for the tests that want to talk to one."""

from collections.abc import AsyncIterator, Iterator

import pytest

from attractor.operators.irsa.drivers.aws import AwsIam
from attractor.operators.irsa.drivers.simulated import CREDENTIALS, SimulatedAws


@pytest.fixture(scope="session")
def simulated() -> Iterator[SimulatedAws]:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in CREDENTIALS.items():
            patch.setenv(name, value)
        with SimulatedAws() as aws:
            yield aws


@pytest.fixture
def aws(simulated: SimulatedAws) -> SimulatedAws:
    simulated.reset()
    return simulated


@pytest.fixture
async def real(aws: SimulatedAws) -> AsyncIterator[AwsIam]:
    async with AwsIam(endpoint_url=aws.url) as iam:
        yield iam
