from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.app.api.conftest import PARABOLA, created
from tests.support.server import ServerProcess, serving
from tests.support.statements import sharing_statements

CRAMPED_KEY = "correct-horse-battery-staple"


@pytest.fixture(scope="session", autouse=True)
def _statements() -> Iterator[None]:
    """Compile a statement once for all stores."""
    with sharing_statements():
        yield


@pytest.fixture(scope="session")
def cramped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """Start one server with small limits and a key, for all tests of what happens at a limit."""
    limits = {
        "max_json_bytes": 1024,
        "max_upload_bytes": 2000,
        "max_queue": 1,
        "workers": 1,
        "event_heartbeat_seconds": 0.05,
        "api_key": CRAMPED_KEY,
    }
    headers = {"Authorization": f"Bearer {CRAMPED_KEY}"}
    with serving(tmp_path_factory.mktemp("cramped"), headers, **limits) as started:
        yield started


@pytest.fixture(scope="session")
def parabola(http: httpx.Client) -> dict[str, Any]:
    return created(http.post("/v1/graphs", json=PARABOLA))
