"""Sessions of kind static to work in, and one that tests only look at."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from .stage import PARABOLA, Begin, Static, created


@pytest.fixture
def begin(http: httpx.Client) -> Iterator[Begin]:
    """Give a function that begins a session."""
    begun = []

    def session(graph: Any = PARABOLA, **options: Any) -> Static:
        answer = created(http, graph, **options)
        assert answer.status_code == 201, answer.text
        begun.append(answer.json()["id"])
        return Static(http, begun[-1])

    yield session
    for session_id in begun:
        assert http.delete(f"/v1/sessions/{session_id}").status_code == 204


@pytest.fixture(scope="module")
def parabola(http: httpx.Client) -> Iterator[Static]:
    """Share a session that has computed f and its gradient, with tests that only look."""
    answer = created(http, mem_size=2**24)
    session = Static(http, answer.json()["id"]).built()
    session.do("graph_compute")
    yield session
    http.delete(f"/v1/sessions/{session.id}")
