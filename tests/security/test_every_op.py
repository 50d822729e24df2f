"""Every op of the catalogue, applied to values and attributes of extreme sizes: taken or refused, in little memory."""

from random import Random
from typing import Any

import pytest

import engine
from engine.ops import OPS
from tests.security.memory import memory_bound
from tests.support.tables import check_each

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of shapes that are seldom meant

MORE_BYTES = 256 << 20
CALLS = 3
SHAPES: dict[str, list[int]] = {
    "long": [2**30],
    "square": [2**15, 2**15],
    "row": [1, 2**30],
    "column": [2**30, 1],
    "image": [1, 2**14, 2**8, 2**8],
    "empty": [0, 2**31],
    "scalar": [],
    "deep": [2] * 8,
}
DTYPES = ("float32", "int64")
INPUTS = {f"{name}_{dtype}": {"shape": shape, "dtype": dtype} for name, shape in SHAPES.items() for dtype in DTYPES}
ATTRIBUTES: list[Any] = [
    0, 1, -1, 2, 7, 64, 1000, 2**20, 2**31, 2**40, 2**62, -(2**62), 0.5, True, None, "float32", "same", "none", "mean",
    [], [1], [2, 3], [2**20], [2**20, 2**20], [2**40, 1], [[2**40, 2**40]], [0, -1], [1] * 900, [2**15] * 2,
]  # fmt: skip


def call(name: str, random: Random) -> dict[str, Any]:
    """Return a graph that applies an op to inputs of mostly one shape, with any values for its attributes."""
    op = OPS[name]
    usual = random.choice(list(INPUTS))
    inputs = [
        usual if random.random() < 0.7 else random.choice(list(INPUTS)) for _ in range(max(op.required_inputs, 1))
    ]
    required = [attribute for attribute, spec in op.attributes.items() if spec.required]
    chosen = {*required, *random.sample(list(op.attributes), random.randint(0, min(2, len(op.attributes))))}
    attrs = {attribute: random.choice(ATTRIBUTES) for attribute in sorted(chosen)}
    return {"inputs": INPUTS, "nodes": [{"name": "a", "op": name, "inputs": inputs, "attrs": attrs}]}


def details(document: dict[str, Any]) -> list[str]:
    """Return what is said against a graph, nothing if it is taken."""
    try:
        engine.parse_graph(document)
    except engine.DocumentError as error:
        return [finding.detail for finding in error.findings]
    return []


def test_an_op_of_extreme_sizes_is_checked_in_little_memory() -> None:
    def check(name: str) -> None:
        random = Random(name)
        for _ in range(CALLS):
            document = call(name, random)
            with memory_bound(MORE_BYTES):
                said = details(document)
            assert all(len(detail) <= 1000 for detail in said), document["nodes"]

    check_each(((name, name) for name in OPS), check)
