"""Casts are spared where ops read or write bfloat16, and nothing else changes."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import engine
from engine.core.dtypes import BFLOAT16, FLOAT32
from engine.core.value import Value
from engine.execution.plan.numpy_executor import prepare
from engine.graph import half_operands
from engine.graph.half_operands import read_halves, write_halves
from engine.graph.simplify import Listing, simplify
from engine.ops.conv.conv_primitives import convolution, convolution_weight
from engine.ops.elementwise.casting import barrier, cast
from engine.ops.elementwise.elementwise import exp, mul
from engine.ops.linalg.matmul import matrix_product
from engine.ops.reduce.reduce import sum_to
from engine.ops.shape.shape import reshape
from engine.training.step.plans import plan_training

assert BFLOAT16 is not None
A, B = (Value((4, 6), BFLOAT16, None, name=name) for name in "ab")
WIDE = Value((4, 6), FLOAT32, None, name="wide")
IMAGES, KERNELS, COTANGENT = (
    Value(shape, BFLOAT16, None, name=name) for name, shape in (("x", (2, 3, 8)), ("w", (4, 3, 3)), ("g", (2, 4, 6)))
)
WINDOW = {"stride": (1,), "padding": ((0, 0),), "dilation": (1,), "groups": 1}


@pytest.fixture(autouse=True)
def _any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have ops read halves however few operations they are."""
    monkeypatch.setattr(half_operands, "SHORT", 0)


def widened(value: Value) -> Value:
    return cast(value, dtype=FLOAT32)


def listed(outputs: Mapping[str, Value]) -> Listing:
    leaves = {"a": A, "b": B, "wide": WIDE, "x": IMAGES, "w": KERNELS, "g": COTANGENT}
    return write_halves(read_halves(simplify(leaves, {}, outputs, {})))


def names(listing: Listing) -> list[str]:
    return [instruction.op.name for instruction in listing.instructions]


def test_products_and_sums_read_what_is_cast() -> None:
    a, b = widened(A), widened(B)
    listing = listed({"product": matrix_product(a, b, transpose_b=True), "sum": sum_to(a, shape=(6,))})
    assert names(listing) == ["matrix_product", "sum_to"]
    assert [listing.specs[number].dtype for number in listing.outputs.values()] == [FLOAT32, FLOAT32]


def test_views_of_a_cast_are_views_of_what_is_cast() -> None:
    a, b = reshape(widened(A), shape=(6, 4)), reshape(widened(B), shape=(4, 6))
    listing = listed({"product": matrix_product(reshape(a, shape=(3, 8)), reshape(b, shape=(8, 3)))})
    assert names(listing) == ["reshape"] * 3 + ["matrix_product"]
    assert {listing.specs[number].dtype for number in listing.instructions[-1].inputs} == {BFLOAT16}


def test_a_cast_that_others_read_or_that_meets_another_operand_stays() -> None:
    a = widened(A)
    mixed = listed({"mixed": matrix_product(a, WIDE, transpose_b=True)})
    assert names(mixed) == ["cast", "matrix_product"]
    both = listed({"product": matrix_product(a, widened(B), transpose_b=True), "other": mul(exp(a), 2.0)})
    assert sorted(names(both)) == ["cast", "exp", "matrix_product", "mul"]
    narrowed = listed({"cast": matrix_product(cast(WIDE, dtype=BFLOAT16), A, transpose_b=True)})
    assert names(narrowed) == ["cast", "matrix_product"]


def test_few_operations_are_not_worth_their_widening(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(half_operands, "SHORT", 2 * 4 * 4 * 6 + 1)
    outputs = {"product": matrix_product(widened(A), widened(B), transpose_b=True)}
    assert names(listed(outputs)) == ["cast", "cast", "matrix_product"]
    monkeypatch.setattr(half_operands, "SHORT", 2 * 4 * 4 * 6)
    assert names(listed(outputs)) == ["matrix_product"]


def test_a_convolution_writes_what_only_a_cast_reads() -> None:
    y = convolution(widened(IMAGES), widened(KERNELS), **WINDOW)
    listing = listed({"narrow": cast(y, dtype=BFLOAT16)})
    assert names(listing) == ["convolution"]
    assert listing.instructions[0].outputs == (listing.outputs["narrow"],)
    assert listing.specs[listing.outputs["narrow"]].dtype is BFLOAT16
    assert names(listed({"narrow": cast(y, dtype=BFLOAT16), "wide": y})) == ["convolution", "cast"]
    assert names(listed({"narrow": cast(y, dtype=BFLOAT16), "other": exp(y)})) == ["convolution", "cast", "exp"]


def test_what_shards_add_up_is_rounded_as_a_whole() -> None:
    gradient = convolution_weight(widened(IMAGES), widened(COTANGENT), kernel=(3,), **WINDOW)
    assert names(listed({"gradient": cast(gradient, dtype=BFLOAT16)})) == ["convolution_weight", "cast"]


def test_sums_read_a_cast_that_others_need() -> None:
    a = widened(A)
    listing = listed({"sum": sum_to(a, shape=(6,)), "other": exp(a)})
    cast_to, total, _ = listing.instructions
    assert (cast_to.op.name, total.op.name, total.inputs) == ("cast", "sum_to", cast_to.outputs)


def test_a_barrier_waits_for_what_is_cast() -> None:
    listing = listed({"later": barrier(WIDE, widened(A))})
    assert names(listing) == ["barrier"]
    assert listing.instructions[0].inputs == (listing.inputs["wide"], listing.inputs["a"])


def test_a_step_has_the_bits_that_it_has_with_the_casts() -> None:
    inputs = {"x": ["batch", 6], "label": {"shape": ["batch"], "dtype": "int64"}}
    layers = [{"layer": "linear", "units": 8, "activation": "relu"}, {"layer": "linear", "units": 3}]
    graph = engine.parse_graph({"inputs": inputs, "layers": layers, "loss": "cross_entropy"})
    rng = np.random.default_rng(0)
    columns = {"x": rng.random((8, 6), np.float32), "label": rng.integers(0, 3, 8)}
    recipe = {"steps": 1, "batch_size": 8, "optimizer": {"kind": "sgd", "lr": 0.1}, "precision": "mixed_bfloat16"}
    fit = engine.Fit(graph, engine.read_recipe(recipe), columns, execution=engine.Execution("numpy"))
    plan = plan_training(fit.model, {"batch": 8}, fit.recipe)
    products = [step for step in plan.steps if step.op.name == "matrix_product"]
    assert {plan.buffers[number].spec.dtype for step in products for number in step.inputs} == {BFLOAT16}
    for step in products:
        arrays = [rng.standard_normal(plan.buffers[n].spec.shape).astype(BFLOAT16) for n in step.inputs]
        wide = matrix_product.body(*(array.astype(FLOAT32) for array in arrays), **step.attrs)
        found = np.full_like(wide, np.nan)
        call = prepare(step, arrays, [found])
        assert call is not None
        call()
        np.testing.assert_array_equal(found, wide)
