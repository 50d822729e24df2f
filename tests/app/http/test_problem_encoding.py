import json
from collections.abc import Mapping
from typing import Any

import pytest
from starlette.requests import Request

from app.domain.errors import AdjointError, Finding
from app.http.problem_encoding import LONGEST
from app.http.problems import problem, unrouted

HALF = "\ud800"
DEEP: list[Any] = []
for _ in range(5000):
    DEEP = [DEEP]


class Unencodable:
    def __str__(self) -> str:
        return HALF * 2


VALUES: Mapping[str, Any] = {
    "half a pair": HALF,
    "control": "\0\x1b\x7f\n",
    "long": "x" * (2 * LONGEST),
    "nan": float("nan"),
    "infinite": -float("inf"),
    "huge": 10**5000,
    "deep": DEEP,
    "bytes": b"\xff",
    "object": Unencodable(),
    "nested": {HALF: {1: (float("nan"), {HALF})}},
    "nothing": None,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("place", ["detail", "code", "pointer", "extension", "limit", "clash", "header"])
def test_whatever_an_error_holds_it_is_answered(value: Any, place: str) -> None:
    finding = Finding(value if place == "pointer" else "/x", "bad", value if place == "detail" else "no")
    extensions = {"extension": {"more": value}, "limit": {"limit": value}, "clash": {"detail": value}}.get(place)
    error = AdjointError(
        value if place == "detail" else "it is so",
        code=value if place == "code" else "some_code",
        findings=[finding],
        headers={"X-More": value} if place == "header" else None,
        extensions=extensions,
    )
    request = Request({"type": "http", "path": "/v1/fits", "headers": [], "state": {"request_id": "req_1"}})
    for body in (problem(request, error).body, unrouted(error, "req_1")):
        document = json.loads(bytes(body).decode("utf-8"))
        assert {"type", "title", "status", "detail", "instance", "code", "request_id", "errors"} <= document.keys()
        assert (document["status"], len(document["errors"])) == (500, 1)
        assert isinstance(document["detail"], str)
        assert place in ("detail", "clash") or document["detail"] == "it is so"
