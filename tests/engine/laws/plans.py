"""Laws of plans: what is run as a plan has the bits of the tape, results and gradients."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.dtypes import BFLOAT16
from engine.core.errors import ShapeError
from engine.core.modes import no_grad, tracing
from engine.core.value import Array, Value, tensor
from engine.execution.plan import NumpyExecutor, make_plan
from engine.ops import OPS
from tests.engine.laws.case import Case, Run, floats, no_key, traceable
from tests.engine.laws.law import law
from tests.extent import FULL


def same_bits(a: Array, b: Array) -> bool:
    """Return whether arrays have the same type, shape and bits; every NaN is like every other."""
    if (a.dtype, a.shape) != (b.dtype, b.shape):
        return False
    return a.tobytes() == b.tobytes() or (a.dtype.kind == "f" and _with_one_nan(a) == _with_one_nan(b))


def _with_one_nan(array: Array) -> bytes:
    return np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array).tobytes()


def with_gradients(run: Run, leaves: list[Value]) -> dict[str, Value]:
    """Return results, and the gradients by leaves of the sum of each times the numbers 1, 2, 3 ..."""
    tracked = [output for output in run.outputs if output.requires_grad]
    seeds = [Value(y.shape, y.dtype, np.arange(1, y.size + 1, dtype=y.dtype).reshape(y.shape)) for y in tracked]
    slopes = pull_back(tracked, seeds, floats(leaves))
    found = {f"dx{place}": slope for place, slope in enumerate(slopes) if slope is not None}
    return {**{f"y{place}": output for place, output in enumerate(run.outputs)}, **found}


def check_plan(inputs: list[Value], arrays: list[Array], outputs: Mapping[str, Value], taped: list[Array]) -> None:
    """Run a plan twice on the same inputs: its outputs have the bits of the tape each time."""
    leaves = {f"x{place}": leaf for place, leaf in enumerate(inputs)}
    executor = NumpyExecutor(make_plan(leaves, {}, outputs, {}), {})
    for run in ("first", "second"):
        for name, array in zip(leaves, arrays, strict=True):
            if name in executor.inputs:
                executor.inputs[name][...] = array
        executor.run()
        wrong = [
            name for name, array in zip(outputs, taped, strict=True) if not same_bits(executor.outputs[name], array)
        ]
        assert not wrong, f"{wrong} of the {run} run"


def _arrays(values: Mapping[str, Value]) -> list[Array]:
    with no_grad():
        return [value.numpy() for value in values.values()]


@law(traceable, ("float64", "float32"))
def an_op_and_its_gradients_give_the_same_bits_on_the_tape_and_as_a_plan(case: Case, dtype: str) -> None:
    computed, traced = case.computed(dtype), case.traced(dtype)
    taped = with_gradients(computed, computed.inputs)
    with tracing(no_key):
        outputs = with_gradients(traced, traced.inputs)
    assert taped.keys() == outputs.keys()
    check_plan(traced.inputs, case.arrays(dtype), outputs, _arrays(taped))


@law(traceable)
def a_plan_gives_the_bits_of_the_tape_in_bfloat16(case: Case) -> None:
    if BFLOAT16 in {array.dtype for array in case.arrays(BFLOAT16)}:
        inputs, traced = case.traced(BFLOAT16)
        outputs = {f"y{place}": output for place, output in enumerate(traced)}
        taped = [value.numpy() for value in case.computed(BFLOAT16).outputs]
        check_plan(inputs, case.arrays(BFLOAT16), outputs, taped)


def _may_see_columns(case: Case) -> bool:
    """Return whether inputs can lie otherwise than in rows; of a composition, one sample shows what it passes on."""
    has_matrix = any(len(argument.shape) > 1 for argument in case.sample.arguments)
    return traceable(case) and has_matrix and (FULL or not case.op.composite or case.number == 0)


@law(_may_see_columns)
def an_op_gives_the_same_bits_on_inputs_that_lie_column_by_column(case: Case) -> None:
    turned = [np.ascontiguousarray(array.T) if array.ndim > 1 else array for array in case.arrays()]

    def run(leaves: list[Value]) -> dict[str, Value]:
        views = [OPS["permute"](v, axes=tuple(range(v.ndim))[::-1]) if v.ndim > 1 else v for v in leaves]
        return with_gradients(Run(views, case.call(views)), leaves)

    taped = run([tensor(array, requires_grad=array.dtype.kind == "f") for array in turned])
    inputs = [
        Value(array.shape, array.dtype, None, name=f"x{place}", requires_grad=array.dtype.kind == "f")
        for place, array in enumerate(turned)
    ]
    with tracing(no_key):
        outputs = run(inputs)
    assert taped.keys() == outputs.keys()
    check_plan(inputs, turned, outputs, _arrays(taped))


@law(lambda case: case.op.data_dependent)
def an_op_that_depends_on_data_refuses_to_be_traced(case: Case) -> None:
    with pytest.raises(ShapeError, match="not known when a graph is built"):
        case.traced()
