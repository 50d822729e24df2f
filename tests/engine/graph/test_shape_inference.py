"""Shapes that are inferred from one trace, and from a second one in which equal calls are not traced again."""

import engine
from engine.graph.shape_inference import infer_shapes

PROGRAM = """
steps = sum(x, axis=1)
features = sum(x, axis=2)
kept = sum(x, axis=1, keepdims=true)
steps_again = sum(x, axis=1)
scaled = x * 2.0
matrix = x * w
vector = x * v
flat = reshape(x, shape=[-1, 6])
pairs = reshape(x, shape=[-1, 3, 2])
few = one_hot(ids, classes=4)
many = one_hot(ids, classes=5)
wide = cast(x, dtype='float64')
whole = cast(x, dtype='int64')
first = x[:, :1]
last = x[:, -2:]
twice = concat(first, last, axis=1)
thrice = concat(first, first, axis=1)
loss = mean(matrix) + mean(vector)
"""
SHAPES = {
    "steps": ["batch", 6], "features": ["batch", "time"], "kept": ["batch", 1, 6], "steps_again": ["batch", 6],
    "scaled": ["batch", "time", 6], "matrix": ["batch", "time", 6], "vector": [3, "batch", "time", 6],
    "flat": ["batch*time", 6], "pairs": ["batch*time", 3, 2], "few": ["batch", 4], "many": ["batch", 5],
    "wide": ["batch", "time", 6], "whole": ["batch", "time", 6], "first": ["batch", 1, 6], "last": ["batch", 2, 6],
    "twice": ["batch", 3, 6], "thrice": ["batch", 2, 6], "loss": [],
}  # fmt: skip


def test_calls_are_told_apart_by_their_attributes_operands_and_numbers() -> None:
    inputs = {"x": ["batch", "time", 6], "ids": {"shape": ["batch"], "dtype": "int64"}}
    definition = engine.parse_graph({"inputs": inputs, "parameters": {"w": [6], "v": [3, 1, 1, 6]}, "program": PROGRAM})
    quick, whole = (infer_shapes(definition, shapes_only=flag) for flag in (True, False))
    assert {name: quick.shape(name) for name in SHAPES} == SHAPES
    assert quick.second is not None
    assert whole.second is not None
    for name, outputs in whole.second.values.items():
        assert [value.spec for value in quick.second.values[name]] == [value.spec for value in outputs]
