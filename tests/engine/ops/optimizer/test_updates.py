"""Steps of optimizers as single ops: the formulas, any aliasing of results over inputs, blocks, half types."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import reachable
from engine.core.modes import tracing
from engine.core.registry import Op
from engine.core.value import Array, Spec, Value, tensor
from engine.execution.plan import NumpyExecutor, make_plan
from engine.ops.optimizer.updates import BLOCK, adam_rates, adam_update, momentum_update, sgd_update
from engine.optim.optimizer import Transform
from engine.optim.optimizers import make_optimizer
from tests.support.rows import each_row

NUMBERS = {"adam_update": (0.9, 1e-2, 0.03, 1.7), "sgd_update": (1e-2,), "momentum_update": (0.9, 0.7, 1e-2)}
KEPT = {"adam_update": 3, "sgd_update": 1, "momentum_update": 2}
CALLS = [
    pytest.param(op, {**attrs, **decay}, id=f"{op.name} {attrs} {decay}")
    for op, attrs in (
        (adam_update, {"beta2": 0.99}),
        (sgd_update, {}),
        (momentum_update, {}),
        (momentum_update, {"nesterov": True}),
    )
    for decay in ({}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "decoupled": True})
]
every_call = pytest.mark.parametrize(("op", "attrs"), CALLS)


def vectors(op: Op[Any], size: int, dtype: str = "float64") -> list[Array]:
    """Draw the gradient, the parameter and what is kept; squares are positive."""
    generator = np.random.default_rng(0)
    drawn = [generator.standard_normal(size) for _ in range(KEPT[op.name] + 1)]
    return [np.square(x).astype(dtype) if place == 3 else x.astype(dtype) for place, x in enumerate(drawn)]


def applied(op: Op[Any], arrays: list[Array], attrs: dict[str, Any]) -> list[Array]:
    """Apply the op to vectors."""
    created = op(*arrays, *(np.array(number) for number in NUMBERS[op.name]), **attrs)
    return [value.numpy() for value in (created if isinstance(created, tuple) else (created,))]


@every_call
def test_a_step_gives_what_its_composition_gives(op: Op[Any], attrs: dict[str, Any]) -> None:
    arrays = vectors(op, 7)
    assert op.composition is not None
    created = op.composition(*map(tensor, arrays), *(tensor(np.array(x)) for x in NUMBERS[op.name]), **op.bind(attrs))
    wanted = [value.numpy() for value in (created if isinstance(created, tuple) else (created,))]
    for found, expected in zip(applied(op, arrays, attrs), wanted, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14, atol=1e-16)


@every_call
@pytest.mark.parametrize("size", [0, 5, BLOCK, 2 * BLOCK + 3])
def test_results_may_lie_over_what_they_replace(op: Op[Any], attrs: dict[str, Any], size: int) -> None:
    arrays = vectors(op, size, "float32")
    wanted = [array.copy() for array in applied(op, arrays, attrs)]
    outs = tuple(arrays[1:])
    assert op.memory.inplace == {place: place + 1 for place in range(len(outs))}
    numbers = [np.array(number) for number in NUMBERS[op.name]]
    op.body(*arrays, *numbers, **op.bind(attrs), out=outs if op.multi_output else outs[0])
    for found, expected in zip(outs, wanted, strict=True):
        np.testing.assert_array_equal(found, expected)


@every_call
def test_long_vectors_are_stepped_as_short_ones(op: Op[Any], attrs: dict[str, Any]) -> None:
    arrays = vectors(op, 2 * BLOCK + 3)
    whole = applied(op, arrays, attrs)
    for part in (slice(0, 9), slice(BLOCK - 4, BLOCK + 4), slice(2 * BLOCK, None)):
        for found, expected in zip(whole, applied(op, [array[part] for array in arrays], attrs), strict=True):
            np.testing.assert_allclose(found[part], expected, rtol=1e-15)


@every_call
def test_a_step_in_float16_is_computed_in_float32(op: Op[Any], attrs: dict[str, Any]) -> None:
    arrays = vectors(op, 9, "float16")
    wide = applied(op, [array.astype("float32") for array in arrays], attrs)
    for found, expected in zip(applied(op, arrays, attrs), wide, strict=True):
        np.testing.assert_array_equal(found, expected.astype("float16"))


def test_the_rates_of_adam_free_the_moments_of_their_bias() -> None:
    rate, scale = adam_rates(np.array(3), np.array(0.1), np.array(0.9), beta2=0.99)
    assert rate.item() == pytest.approx(0.1 / (1 - 0.9**3), rel=1e-15)
    assert scale.item() == pytest.approx(1 / math.sqrt(1 - 0.99**3), rel=1e-15)


@each_row(
    ("document", "vector_ops"),
    [
        ({"kind": "adam"}, ["adam_update"]),
        ({"kind": "adamw", "weight_decay": 0.1}, ["adam_update"]),
        ({"kind": "sgd"}, ["sgd_update"]),
        ({"kind": "sgd", "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.1}, ["momentum_update"]),
    ],
)
def test_an_optimizer_goes_over_its_vectors_once_and_in_place(document: dict[str, Any], vector_ops: list[str]) -> None:
    optimizer = make_optimizer({**document, "lr": 0.1})
    assert isinstance(optimizer, Transform)
    spec = Spec((40,), np.dtype("float32"))
    slots = {name: Value(s.shape, s.dtype, None, name=name) for name, s in optimizer.slots(spec).items()}
    leaves = {"p": Value(*spec, None, name="p"), **slots}
    gradient, lr = Value(*spec, None, name="g"), Value((), np.dtype("float64"), None, name="lr")
    with tracing(lambda: pytest.fail("no optimizer is random")):
        stepped, changed = optimizer.update(gradient, leaves["p"], slots, lr)
    nodes = reachable([stepped, *changed.values()])
    assert [node.op.name for node in nodes if any(v.shape for v in node.inputs)] == vector_ops
    plan = make_plan({"g": gradient, "lr": lr}, leaves, {}, {"p": stepped, **changed})
    assert plan.copies == ()
    state = {name: np.zeros(leaf.shape, leaf.dtype) for name, leaf in leaves.items()}
    executor = NumpyExecutor(plan, state)
    executor.inputs["g"][...] = 1
    executor.inputs["lr"][...] = 0.1
    executor.run()
    assert (state["p"] < 0).all()
