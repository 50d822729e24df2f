"""An attempt as nodes get it, and a Ray that the tests play: Ray itself is not needed."""

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import engine
from app.domain.messages import Assignment
from app.domain.runtime import allot

GRAPH = {
    "inputs": {"x": ["batch", 2]},
    "parameters": {"w": {"shape": [2], "init": {"kind": "zeros"}}},
    "program": "loss = mean((x @ w - 1.0) ** 2)",
}
REQUEST = {
    "optimizer": {"kind": "sgd", "lr": 0.001},
    "record": {"every_steps": 1},
    "checkpoint": {"every_epochs": None},
}
TOKEN = "token-1"

Assign = Callable[..., Assignment]


@pytest.fixture
def assign(tmp_path: Path) -> Assign:
    """Return a function that makes the assignment of an attempt, of as many steps as it is given."""
    np.save(tmp_path / "x.npy", np.ones((64, 2), "float32"))

    def build(steps: int = 10**9, **fields: Any) -> Assignment:
        return Assignment(
            **{
                "fit_id": "fit_1",
                "attempt": 1,
                "token": TOKEN,
                "definition": engine.parse_graph(GRAPH).to_json(),
                "request": {**REQUEST, "steps": steps},
                "columns": {"x": [str(tmp_path / "x.npy")]},
                "validation_columns": None,
                "resume_from": None,
                "staging": str(tmp_path / "staging"),
                "runtime": allot({}, None, cores=1, workers=1).to_json(),
                **fields,
            }
        )

    return build


class FakeRay(ModuleType):
    """The part of Ray's interface that following an attempt takes."""

    def __init__(self) -> None:
        super().__init__("ray")
        self.killed: list[Any] = []
        """The actors that were killed, in order."""
        self.on_kill: Callable[[Any], object] = lambda _actor: None
        self.groups: dict[str, str] = {}
        """The placement groups, by name, and their states."""
        self.util = self

    def kill(self, actor: Any, *, no_restart: bool) -> None:
        """Note the kill."""
        assert no_restart
        self.killed.append(actor)
        self.on_kill(actor)

    def placement_group_table(self) -> dict[str, dict[str, str]]:
        """Return all groups."""
        return {f"id of {name}": {"name": name, "state": state} for name, state in self.groups.items()}

    def get_placement_group(self, name: str) -> str:
        """Return a group that is not removed."""
        if self.groups.get(name, "REMOVED") == "REMOVED":
            raise ValueError("there is no such group")
        return name

    def remove_placement_group(self, group: str) -> None:
        """Remove a group, which was returned."""
        self.groups[group] = "REMOVED"


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    """Put a fake in the place of Ray."""
    fake, exceptions = FakeRay(), ModuleType("ray.exceptions")
    for name in ("RayActorError", "ActorUnavailableError", "RayTaskError"):
        setattr(exceptions, name, type(name, (Exception,), {}))
    monkeypatch.setitem(sys.modules, "ray", fake)
    monkeypatch.setitem(sys.modules, "ray.exceptions", exceptions)
    return fake
