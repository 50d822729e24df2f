"""The code of the documents that this project grew from, through a real server, by the Python client."""

from collections.abc import Iterator

import pytest

from adjoint_client import Client
from tests.support.server import ServerProcess


@pytest.fixture
def client(server: ServerProcess) -> Iterator[Client]:
    with Client(server.url) as client:
        yield client
