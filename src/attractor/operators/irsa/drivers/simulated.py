"""``SimulatedAws``: a moto server on a loopback port, for the demonstration and for tests.

    with SimulatedAws() as aws:
        async with AwsIam(endpoint_url=aws.url) as iam: ...

It runs in a thread of this process and ends with the ``with``. Needs the extra ``irsa-demo``.
"""

from __future__ import annotations

import http.client
import logging
import os
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from types import TracebackType

CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "simulated",
    "AWS_SECRET_ACCESS_KEY": "simulated",
    "AWS_DEFAULT_REGION": "us-east-1",
}
"""Any will do; they are put into the environment where none are set."""


class SimulatedAws:
    """A simulated AWS; ``url`` is its endpoint."""

    def __init__(self) -> None:
        self._server: Any = None
        self.url = ""

    def __enter__(self) -> Self:
        from moto.server import ThreadedMotoServer

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        for name, value in CREDENTIALS.items():
            os.environ.setdefault(name, value)
        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        host, port = self._server.get_host_and_port()
        self.url = f"http://{host}:{port}"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.stop()

    def reset(self) -> None:
        """Forget everything."""
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"))
        connection.request("POST", "/moto-api/reset")
        connection.getresponse().read()
        connection.close()
