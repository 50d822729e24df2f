"""Sessions of kind static for tests to work in, and the parabola of ggml's header."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

PARABOLA = {
    "name": "f = a x² + b",
    "inputs": {"a": [1], "b": [1]},
    "parameters": {"x": [1]},
    "nodes": [
        {"name": "x2", "op": "mul", "inputs": ["x", "x"]},
        {"name": "ax2", "op": "mul", "inputs": ["a", "x2"]},
        {"name": "f", "op": "add", "inputs": ["ax2", "b"]},
    ],
    "outputs": ["f"],
}
X2A3B4 = {"x": 2.0, "a": 3.0, "b": 4.0}


@dataclass
class Static:
    """A session of kind static, by its calls."""

    http: httpx.Client
    id: str

    def do(self, verb: str, **options: Any) -> dict[str, Any]:
        """Take a step that is carried out."""
        answer = self.post(verb, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def refused(self, verb: str, status: int, code: str, **options: Any) -> dict[str, Any]:
        """Take a step that is refused."""
        answer = self.post(verb, **options)
        assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
        return answer.json()

    def post(self, verb: str, **options: Any) -> httpx.Response:
        return self.http.post(f"/v1/sessions/{self.id}:{verb}", json=options)

    def see(self, path: str, **query: Any) -> Any:
        """Look at something that is there."""
        answer = self.look(path, **query)
        assert answer.status_code == 200, answer.text
        return answer.json() if answer.headers["content-type"] == "application/json" else answer.text

    def look(self, path: str, accept: str = "*/*", **query: Any) -> httpx.Response:
        return self.http.get(f"/v1/sessions/{self.id}/{path}", params=query, headers={"Accept": accept})

    def numbers(self, name: str, **query: Any) -> list[float]:
        """Return the data of a tensor, flat."""
        return self.see(f"graph/tensors/{name}", **query)["data"]

    def gradient(self, name: str, **query: Any) -> list[float] | None:
        """Return a gradient, flat; None where there is none."""
        found = self.see(f"graph/gradients/{name}", **query)["gradient"]
        return None if found is None else found["data"]

    def built(self) -> "Static":
        """Build forward and backward graph of the parabola, with data."""
        self.do("build_forward_expand", outputs=["f"])
        self.do("build_backward_expand", accumulators=[None])
        self.do("tensor_set", tensors=X2A3B4)
        self.do("graph_reset")
        return self


Begin = Callable[..., Static]


def created(http: httpx.Client, graph: Any = PARABOLA, **options: Any) -> httpx.Response:
    return http.post("/v1/sessions", json={"kind": "static", "graph": graph, **options})


def program(text: str, inputs: Any, parameters: Any, **more: Any) -> dict[str, Any]:
    return {"inputs": inputs, "parameters": parameters, "program": text, **more}
