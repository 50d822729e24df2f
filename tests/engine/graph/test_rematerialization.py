"""Activations that wait in a half type: nearly the gradients of the plain graph, in half the memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine.core.dtypes import BFLOAT16, FLOAT16, FLOAT32, DType
from engine.core.value import Array, Value
from engine.execution.plan import NumpyExecutor, make_plan
from engine.graph.definition import Definition
from engine.graph.rematerialization import RematOptions, schedule_casts
from engine.graph.simplify import simplify
from engine.graph.trace import build
from engine.nn.initializers import initialize
from engine.ops.elementwise.casting import barrier, cast
from engine.ops.elementwise.elementwise import exp, mul, tanh
from tests.engine.graph.test_remat_segments import attentive, deep, picture, planned, tied

ROWS = 64
NETWORKS: dict[str, Callable[[], Definition]] = {
    "deep": lambda: deep(6, 16, dropout=0.2),
    "picture": picture,
    "transformer": attentive,
    "tied": tied,
}
HALVES = [pytest.param(FLOAT16, 2e-3, id="float16"), pytest.param(BFLOAT16, 2e-2, id="bfloat16")]


def gradients(definition: Definition, **options: Any) -> tuple[bytes, dict[str, Array]]:
    """Return the bits of the loss, and the gradient of each parameter."""
    graph = build(definition, {"n": ROWS}, training=True, **options)
    loss = graph.total_loss()
    found = {n: g for n, g in graph.gradients(loss, graph.parameters).items() if g is not None}
    state = {**graph.parameters, **graph.buffers}
    plan = make_plan({**graph.inputs, "key": graph.key}, state, {"loss": loss, **found}, {})
    specs = {**definition.parameters, **definition.buffers}
    executor = NumpyExecutor(plan, {n: initialize(s.init, n, s.shape, s.dtype, 3) for n, s in specs.items()})
    drawn = np.random.default_rng(5)
    executor.inputs["x"][...] = drawn.standard_normal(executor.inputs["x"].shape)
    executor.inputs["y"][...] = drawn.integers(0, 4, ROWS)
    executor.inputs["key"][...] = (1, 11)
    executor.run()
    return executor.outputs["loss"].tobytes(), {name: executor.outputs[name] for name in found}


@pytest.mark.parametrize(("half", "tolerance"), HALVES)
@pytest.mark.parametrize("name", NETWORKS)
def test_gradients_agree_as_far_as_the_half_type_goes_and_losses_to_the_bit(
    name: str, half: DType, tolerance: float
) -> None:
    loss, plain = gradients(NETWORKS[name]())
    for options in ({}, {"recompute": RematOptions(segments=3)}):
        again, found = gradients(NETWORKS[name](), activation_dtype=half, **options)
        assert again == loss
        assert found.keys() == plain.keys()
        largest = max(float(np.abs(gradient).max()) for gradient in plain.values())
        errors = {n: float(np.abs(found[n] - plain[n]).max()) / largest for n in plain}
        assert max(errors.values()) < tolerance, errors
        assert any(errors.values()), "nothing has waited in a half type"


@pytest.mark.slow
@pytest.mark.parametrize("half", [FLOAT16, BFLOAT16])
def test_what_waits_takes_half_the_memory(half: DType) -> None:
    plain, waiting, cut, both = (
        planned(build(deep(48), {"n": 512}, training=True, **options)).arena_bytes
        for options in (
            {},
            {"activation_dtype": half},
            {"recompute": RematOptions(segments=8)},
            {"activation_dtype": half, "recompute": RematOptions(segments=8)},
        )
    )
    assert waiting < 0.6 * plain
    assert both < cut


def test_statistics_and_leaves_wait_as_they_are() -> None:
    plan = planned(build(attentive(), {"n": ROWS}, training=True, activation_dtype=FLOAT16))
    halves = [buffer.spec for buffer in plan.buffers.values() if buffer.spec.dtype == FLOAT16]
    largest = max(np.prod(buffer.spec.shape) for buffer in plan.buffers.values())
    assert halves
    assert min(np.prod(spec.shape) for spec in halves) > largest / 128
    assert all(plan.buffers[number].spec.dtype != FLOAT16 for number in plan.inputs.values())


def test_a_value_is_cast_when_the_forward_pass_has_no_more_use_for_it() -> None:
    x = Value((8,), FLOAT32, None, name="x")
    created = exp(x)
    first, last = tanh(created), mul(created, 2.0)
    late = tanh(first)
    back = cast(barrier(cast(created, dtype=FLOAT16), late), dtype=FLOAT32)
    listing = simplify({"x": x}, {}, {"last": last, "back": mul(back, late)}, {})
    before = [instruction.op.name for instruction in listing.instructions]
    after = [instruction.op.name for instruction in schedule_casts(listing).instructions]
    assert before == ["exp", "tanh", "mul", "tanh", "cast", "barrier", "cast", "mul"]
    assert after == ["exp", "tanh", "mul", "cast", "tanh", "barrier", "cast", "mul"]


def test_a_cast_that_others_read_stays_where_it_is() -> None:
    x = Value((8,), FLOAT32, None, name="x")
    created, other = exp(x), tanh(x)
    half = cast(created, dtype=FLOAT16)
    listing = simplify({"x": x}, {}, {"both": mul(half, half), "other": other}, {})
    names = [instruction.op.name for instruction in listing.instructions]
    assert [instruction.op.name for instruction in schedule_casts(listing).instructions] == names
