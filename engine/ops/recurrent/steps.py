"""Shared by the step-by-step kernels of recurrent layers: order of the steps, rows that have ended, float16."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from engine.core.batching import Call, Outputs, each, join_channels, part_channels
from engine.core.dtypes import FLOAT16, FLOAT32, DType
from engine.core.errors import ShapeError
from engine.core.shape_rules import require_float, require_integer
from engine.core.value import Array, Shape, Spec, Value
from engine.ops.elementwise.comparison import gt
from engine.ops.linalg.matmul import matrix_product
from engine.ops.shape.creation import zeros
from engine.ops.shape.shape import broadcast_to, concat, reshape, slice, transpose, unsqueeze

Idle = Array | None


def steps(lengths: Array, count: int, reverse: bool) -> Iterator[tuple[int, Idle]]:
    """Yield each step and which rows have ended there (None when no row has), from the last step if `reverse`."""
    shortest = int(lengths.min(initial=count))
    for t in range(count - 1, -1, -1) if reverse else range(count):
        yield t, (None if t < shortest else lengths <= t)


def check_lengths(op: str, lengths: Array, count: int) -> None:
    """Raise ShapeError for lengths outside 0..count."""
    if lengths.size and (int(lengths.min()) < 0 or int(lengths.max()) > count):
        bad = lengths[(lengths < 0) | (lengths > count)][0]
        raise ShapeError(f"{op}: length {int(bad)} is out of range for {count} steps; use 0..{count}")


def check_steps(op: str, gates: int, x: Value, weight: Value, states: tuple[Value, ...], lengths: Value) -> Shape:
    """Check the inputs of a step-by-step kernel and return (steps, rows, hidden)."""
    require_float(op, x, weight, *states)
    require_integer(op, "lengths", lengths)
    if weight.ndim != 2 or weight.shape[0] != gates * weight.shape[1]:
        raise ShapeError(f"{op}: w_hh {list(weight.shape)} must have the shape [{gates} * hidden, hidden]")
    hidden = weight.shape[1]
    if x.ndim != 3 or x.shape[2] != gates * hidden:
        raise ShapeError(f"{op}: the input {list(x.shape)} must have the shape [steps, rows, {gates * hidden}]")
    count, rows = x.shape[:2]
    if not count:
        raise ShapeError(f"{op} needs at least one step, got an input of shape {list(x.shape)}")
    for state in states:
        if state.shape != (rows, hidden):
            raise ShapeError(f"{op}: an initial state {list(state.shape)} must have the shape [{rows}, {hidden}]")
    if lengths.shape != (rows,):
        raise ShapeError(f"{op}: lengths {list(lengths.shape)} must hold one number for each of {rows} rows")
    return count, rows, hidden


def run(
    kernel: Callable[..., None], inputs: tuple[Array, ...], specs: tuple[Spec, ...], out: object
) -> tuple[Array, ...]:
    """Run `kernel(results, *inputs)` and return the results, in `out` when given; float16 is computed in float32."""
    given: tuple[Array, ...] | None = out  # type: ignore[assignment]
    narrow = inputs[0].dtype == FLOAT16
    results = given if given is not None and not narrow else tuple(np.empty(s.shape, _wide(s.dtype)) for s in specs)
    kernel(results, *(x.astype(FLOAT32) if x.dtype == FLOAT16 else x for x in inputs))
    if not narrow:
        return results
    if given is None:
        return tuple(r.astype(FLOAT16) for r in results)
    for target, result in zip(given, results, strict=True):
        target[...] = result
    return given


def _wide(dtype: DType) -> DType:
    return FLOAT32 if dtype == FLOAT16 else dtype


def or_zeros(g: Value | None, like: Value) -> Value:
    """Return g, or zeros of the same shape that take no memory."""
    if g is not None:
        return g
    return broadcast_to(zeros(shape=(1,) * like.ndim, dtype=like.dtype), shape=like.shape)


def at(x: Value, t: int) -> Value:
    """Return step t of x [steps, ...]."""
    return reshape(slice(x, start=t, stop=t + 1), shape=x.shape[1:])


def previous_states(states: Value, initial: Value, reverse: bool) -> Value:
    """Return the state before each step: `states` shifted by one step, with the initial one first."""
    first, count = unsqueeze(initial, axis=0), states.shape[0]
    if reverse:
        return concat(slice(states, start=1, stop=count), first)
    return concat(first, slice(states, start=0, stop=count - 1))


def running_rows(lengths: Value, t: int) -> Value:
    """Return which rows have not ended at step t: bool [rows, 1]."""
    return unsqueeze(gt(lengths, t), axis=1)


def weight_gradient(q: Value, states: Value) -> Value:
    """Return the sum of q^T h over all steps and rows, as one product: q [steps, rows, n], states [steps, rows, m]."""
    count = q.shape[0] * q.shape[1]
    columns = reshape(q, shape=(count, q.shape[2]))
    return matrix_product(transpose(columns), reshape(states, shape=(count, states.shape[2])))


def join_rows(timed: tuple[int, ...], untimed: tuple[int, ...]) -> Callable[[Call], Outputs]:
    """Return a batching rule that joins examples as rows: inputs `timed` [steps, rows, ...], `untimed` [rows, ...].

    If weights differ between examples, the kernel runs once per example.
    """

    def rule(call: Call) -> Outputs:
        if any(batched and index not in timed + untimed for index, batched in enumerate(call.batched)):
            return each(call)
        inputs = list(call.inputs)
        for index in range(len(inputs)):
            if index in timed:
                inputs[index] = join_channels(call.spread(index))
            elif index in untimed:
                inputs[index] = call.join(index)
        return call.several(
            part_channels(call.size, value) if value.ndim == 3 else call.split(value) for value in call.made(*inputs)
        )

    return rule
