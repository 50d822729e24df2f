"""Recipes that are large in ways no recipe is: refused, or read, within little memory."""

from collections.abc import Callable
from typing import Any

import pytest

import engine
from tests.security.memory import memory_bound

MORE_BYTES = 64 << 20
BRIEF = {"optimizer": "sgd", "epochs": 1}
MANY = 100_001
LARGE: dict[str, Callable[[], dict[str, Any]]] = {
    "groups": lambda: {"optimizer": {"kind": "sgd", "groups": [{"match": "w*", "lr": 0.1}] * MANY}},
    "transforms": lambda: {"optimizer": {"kind": "chain", "transforms": [{"kind": "scale", "factor": 1.0}] * MANY}},
    "schedules": lambda: {
        "schedule": {"kind": "sequential", "schedules": ["constant"] * MANY, "milestones": list(range(1, MANY))}
    },
    "milestones": lambda: {"schedule": {"kind": "multi_step", "milestones": list(range(1, MANY + 1)), "gamma": 0.5}},
    "metrics": lambda: {"metrics": ["accuracy"] * MANY},
    "steps to capture": lambda: {"record": {"gradients": {"steps": list(range(MANY))}}},
    "weights of classes": lambda: {"class_weights": [1.0] * MANY},
    "unknown fields": lambda: {f"x{number}": 1 for number in range(MANY)},
    "epochs": lambda: {"epochs": 10**18},
    "letters of a kind": lambda: {"optimizer": {"kind": "q" * 1_000_000}},
}


@pytest.mark.parametrize("build", LARGE.values(), ids=LARGE)
def test_a_recipe_with_too_many_of_something_is_refused(build: Callable[[], dict[str, Any]]) -> None:
    recipe = {**BRIEF, **build()}
    with memory_bound(MORE_BYTES), pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe(recipe)
    assert all(len(finding.pointer + finding.detail) < 2000 for finding in caught.value.findings)
