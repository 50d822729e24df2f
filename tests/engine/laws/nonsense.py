"""Laws of nonsense: an op that a graph calls with whatever comes computes, or is refused by a DocumentError."""

from __future__ import annotations

import json
from contextlib import suppress
from random import Random
from typing import Any

import numpy as np

import engine
from engine.core.registry import Op
from tests.engine.laws.case import Case
from tests.engine.laws.law import law
from tests.extent import FULL

ROUNDS = 10 if FULL else 1

LEAVES = {
    "v": ({"shape": [3]}, [0.0, -1e30, 3.0]),
    "m": ({"shape": [2, 3]}, [[1, 2, 3], [4, 5, 6]]),
    "t": ({"shape": [2, 3, 4]}, np.arange(24.0).reshape(2, 3, 4).tolist()),
    "i": ({"shape": [2], "dtype": "int64"}, [7, -9]),
    "k": ({"shape": [2], "dtype": "int64"}, [1, 0]),
    "f": ({"shape": [2, 2], "dtype": "bool"}, [[True, False], [False, True]]),
    "s": ({"shape": []}, 0.0),
    "e": ({"shape": [0, 3]}, {"shape": [0, 3], "data": []}),
}
OPERANDS = [*LEAVES, "w", "m", "t", 0, 2.5, -3, True, 10**18]
ATTRIBUTES = [
    0,
    1,
    -1,
    2,
    7,
    2**31,
    2**62,
    -(2**62),
    0.5,
    1e300,
    -1.5,
    True,
    None,
    "float32",
    "int64",
    "sum",
    "none",
    "same",
    [],
    [1],
    [2, 3],
    [1, 1],
    [0, -1],
    [6],
    [2**62, 2**62],
    [0, 2**62],
    [-5],
    [10**15, 3],
    [[1, 1], [2**62, 0]],
    [[0, 1], [1, 0]],
]


def nonsense(op: Op[Any], random: Random) -> dict[str, Any]:
    """Return a graph that applies `op` to whatever comes."""
    count = random.randint(max(op.required_inputs - 1, 0), max(len(op.inputs), 1) + 1)
    required = [name for name, attribute in op.attributes.items() if attribute.required]
    optional = random.sample([*op.attributes, "nonsense"], random.randint(0, min(2, len(op.attributes))))
    attrs = {name: random.choice(ATTRIBUTES) for name in [*required, *optional]}
    return {
        "inputs": {name: spec for name, (spec, _) in LEAVES.items()},
        "parameters": {"w": [2, 3]},
        "nodes": [
            {"name": "a", "op": op.name, "inputs": random.choices(OPERANDS, k=count), "attrs": attrs},
            {"name": "c", "op": "cast", "inputs": ["a"], "attrs": {"dtype": "float32"}},
            {"name": "loss", "op": "sum", "inputs": ["c"]},
        ],
        "losses": ["loss"],
    }


@law(of_the_op=True, with_warnings=True)
def an_op_called_with_nonsense_computes_or_is_refused(cases: list[Case]) -> None:
    op = cases[0].op
    random = Random(op.name)
    request = {"inputs": {name: value for name, (_, value) in LEAVES.items()}}
    for number in range(ROUNDS):
        with suppress(engine.DocumentError):
            definition = engine.parse_graph(nonsense(op, random))
            assert engine.parse_graph(json.loads(json.dumps(definition.to_json()))) == definition
            with suppress(engine.DocumentError):
                engine.graph_text(definition)
            engine.compute(definition, {**request, "training": (number + len(op.name)) % 2 == 0})


EXTREMES = [2**62, -(2**62), 2**40, 1e300, [2**62], []]


def _with_extreme(case: Case, name: str, value: Any) -> dict[str, Any]:
    """Return a graph of a sample, one of whose attributes is changed."""
    inputs = {f"x{n}": {"shape": list(x.shape), "dtype": x.dtype.name} for n, x in enumerate(case.arrays())}
    attrs = {key: str(given) if isinstance(given, np.dtype) else given for key, given in case.sample.attrs.items()}
    return {
        "inputs": inputs,
        "nodes": [
            {"name": "a", "op": case.op.name, "inputs": [*inputs], "attrs": {**attrs, name: value}},
            {"name": "c", "op": "cast", "inputs": ["a"], "attrs": {"dtype": "float32"}},
            {"name": "loss", "op": "sum", "inputs": ["c"]},
        ],
        "losses": ["loss"],
    }


@law(lambda case: FULL or case.number == 0, with_warnings=True)
def a_sample_with_an_attribute_that_is_far_too_large_computes_or_is_refused(case: Case) -> None:
    request = {"inputs": {f"x{n}": x.tolist() for n, x in enumerate(case.arrays())}}
    for name in case.op.attributes:
        for value in EXTREMES:
            with suppress(engine.EngineError):
                engine.compute(engine.parse_graph(_with_extreme(case, name, value)), request)
