"""What `make test-cluster` starts: servers that a team runs beside Adjoint."""

import itertools
from collections.abc import Iterator

import pytest

from tests.support import seaweed

PREFIXES = itertools.count(1)


@pytest.fixture(scope="session")
def s3_port() -> Iterator[int]:
    """Run one S3 server for all tests."""
    if seaweed.MISSING:
        pytest.skip(seaweed.MISSING)
    with seaweed.seaweed_server() as server:
        yield server.port


@pytest.fixture
def relay(s3_port: int) -> Iterator[seaweed.Relay]:
    """Pass on what goes to the S3 server, or not."""
    made = seaweed.Relay(s3_port)
    yield made
    made.close()


@pytest.fixture
def blob_url(relay: seaweed.Relay) -> str:
    """Return the URL of a prefix that nobody uses, through the relay."""
    return f"s3://{seaweed.BUCKET}/tests/{next(PREFIXES)}?endpoint=http://127.0.0.1:{relay.port}"
