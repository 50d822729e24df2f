"""Casts to a half type and back are one step, which is behind the pack where all that is packed is rounded."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import engine
from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from engine.core.half_precision import convert_dtype
from engine.core.value import Value
from engine.execution.plan import Plan
from engine.execution.plan.sharding import ALL_REDUCE
from engine.execution.plan.verifier import verify_plan
from engine.graph.rounding import ROUND, round_at_once, round_through
from engine.graph.simplify import simplify
from engine.ops.elementwise.casting import cast
from engine.ops.shape.shape import pack, reshape
from engine.training.step.plans import plan_training

A, B = (Value((4, 6), FLOAT32, None, name=name) for name in "ab")
HALVES = (FLOAT16, BFLOAT16)


def rounded(value: Value, half: DType) -> Value:
    return cast(cast(value, dtype=half), dtype=FLOAT32)


def names(outputs: Mapping[str, Value]) -> list[str]:
    return [each.op.name for each in round_at_once(simplify({"a": A, "b": B}, {}, outputs, {})).instructions]


def packed(*pieces: Value) -> Value:
    return pack(*pieces, offsets=(0, 32), size=64)


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_what_is_packed_is_rounded_behind_the_pack_if_all_of_it_is_rounded(half: DType) -> None:
    assert names({"vector": packed(rounded(A, half), rounded(B, half))}) == ["pack", "round_through"]
    assert names({"vector": packed(rounded(A, half), B)}) == ["round_through", "pack"]
    assert names({"half": cast(A, dtype=half), "wide": rounded(A, half)}) == ["cast", "round_through"]
    viewed = cast(reshape(cast(A, dtype=half), shape=(24,)), dtype=FLOAT32)
    assert names({"wide": viewed}) == ["cast", "reshape", "cast"]


@pytest.mark.parametrize("half", HALVES, ids=str)
def test_rounding_has_the_bits_of_the_two_casts(half: DType) -> None:
    x = np.random.default_rng(0).standard_normal(999).astype(np.float32) * np.float32(1e-3)
    x[:4] = (np.inf, -np.inf, np.nan, -0.0)
    np.testing.assert_array_equal(round_through(x, through=half), convert_dtype(convert_dtype(x, half), FLOAT32))


def training_plan(features: int, units: int, batch: int, shards: int) -> Plan:
    layers = [{"layer": "linear", "units": units, "activation": "relu"}, {"layer": "linear", "units": 8}]
    inputs = {"x": ["batch", features], "label": {"shape": ["batch"], "dtype": "int64"}}
    graph = engine.parse_graph({"inputs": inputs, "layers": layers, "loss": "cross_entropy"})
    rng = np.random.default_rng(0)
    columns = {"x": rng.random((batch, features), np.float32), "label": rng.integers(0, 8, batch)}
    recipe = {"steps": 1, "batch_size": batch, "optimizer": {"kind": "adam", "lr": 1e-3}, "precision": "mixed_bfloat16"}
    fit = engine.Fit(graph, engine.read_recipe(recipe), columns, execution=engine.Execution("numpy"))
    return plan_training(fit.model, {"batch": batch}, fit.recipe, most_shards=shards)


@pytest.mark.parametrize(
    ("sizes", "shards", "summed"),
    [((128, 96, 512), 1, 0), ((128, 96, 512), 2, 1), ((512, 512, 64), 2, 0)],
    ids=("whole", "by rows", "by columns"),
)
def test_gradients_are_rounded_where_they_are_packed_or_added_up(
    sizes: tuple[int, int, int], shards: int, summed: int
) -> None:
    plan = training_plan(*sizes, shards)
    verify_plan(plan)
    assert plan.shards == shards
    (pack_step,) = (step for step in plan.steps if step.op.memory.packs)
    sums = [step for step in plan.steps if step.op is ALL_REDUCE and step.inputs == pack_step.outputs]
    assert len(sums) == summed
    vector = (*sums, pack_step)[0].outputs[0]
    (rounding,) = (step for step in plan.steps if step.op is ROUND and step.inputs == (vector,))
    assert plan.buffers[rounding.outputs[0]].allocation == plan.buffers[vector].allocation
    products = [step for step in plan.steps if step.op.name == "matrix_product" and step.outputs[0] in pack_step.inputs]
    places = {plan.buffers[step.outputs[0]].allocation for step in products}
    assert places == {plan.buffers[pack_step.outputs[0]].allocation}
    parts = [step for phase in plan.phases if phase.sharded for step in map(plan.steps.__getitem__, phase.steps)]
    wide = [step for step in products if plan.buffers[step.outputs[0]].spec.shape[-1] == sizes[0]]
    assert wide
    assert all(step in parts for step in wide) is (shards > 1)
