"""Every op of the registry, on every sample it declares, run on the tape and as a plan: results and gradients equal."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import ShapeError
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.value import Array, Value
from engine.ops import OPS
from tests.extent import paired

FLOATS = ("float64", "float32")


def is_float(array: Array | Value) -> bool:
    return array.dtype.kind == "f"


def arrays_of(op: Op[Any], number: int, sample: Sample, dtype: str) -> dict[str, Array]:
    """Inputs of a sample by name, the floating ones in `dtype`."""
    drawn = [np.asarray(array) for array in sample.arrays(f"{op.name}-{number}")]
    return {f"x{i}": array.astype(dtype) if is_float(array) else array for i, array in enumerate(drawn)}


def applied(op: Op[Any], sample: Sample, leaves: dict[str, Value]) -> dict[str, Value]:
    """Results of the op, and the gradients of the sum of each times the numbers 1, 2, 3 ... by each floating input."""
    made = op(*leaves.values(), **sample.attrs)
    outputs = list(made) if isinstance(made, tuple) else [made]
    results = {f"y{i}": output for i, output in enumerate(outputs)}
    moving = {name: leaf for name, leaf in leaves.items() if is_float(leaf)}
    tracked = [output for output in outputs if output.requires_grad]
    seeds = [Value(y.shape, y.dtype, np.arange(1, y.size + 1, dtype=y.dtype).reshape(y.shape)) for y in tracked]
    found = pull_back(tracked, seeds, list(moving.values()))
    gradients = {f"d{name}": slope for name, slope in zip(moving, found, strict=True) if slope is not None}
    return {**results, **gradients}


every_op = pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS.values() if not op.data_dependent])


@every_op
def test_an_op_and_its_gradients_give_the_same_bits_on_the_tape_and_as_a_plan(op: Op[Any], both: Any) -> None:
    for (number, sample), dtype in paired([*enumerate(op.samples)], FLOATS):
        leaves = arrays_of(op, number, sample, dtype)
        both(lambda values, s=sample: (applied(op, s, values), {}), leaves, vary=False).check()


@every_op
def test_an_op_gives_the_same_bits_on_inputs_that_lie_column_by_column(op: Op[Any], both: Any) -> None:
    for number, sample in enumerate(op.samples):
        drawn = arrays_of(op, number, sample, "float64")
        turned = {name: np.ascontiguousarray(array.T) if array.ndim > 1 else array for name, array in drawn.items()}

        def body(leaves: dict[str, Value], sample: Sample = sample) -> tuple[dict[str, Value], dict[str, Value]]:
            views = {
                n: OPS["permute"](v, axes=tuple(range(v.ndim))[::-1]) if v.ndim > 1 else v for n, v in leaves.items()
            }
            return applied(op, sample, views), {}

        both(body, turned, vary=False).check()


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in OPS.values() if op.data_dependent])
def test_an_op_that_depends_on_data_refuses_to_be_traced(op: Op[Any], both: Any) -> None:
    for number, sample in enumerate(op.samples):
        leaves = arrays_of(op, number, sample, "float64")
        with pytest.raises(ShapeError, match="cannot know beforehand"):
            both(lambda values, s=sample: (applied(op, s, values), {}), leaves, vary=False)
