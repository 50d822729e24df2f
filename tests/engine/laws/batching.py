"""Laws of batching: an op applied to a batch by its rule gives what it gives example by example, gradients too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from engine.autograd.backward import pull_back
from engine.autograd.differentiate import vjp
from engine.autograd.vmap import vmap
from engine.core.modes import no_grad
from engine.core.value import Array, Value, tensor
from engine.ops import OPS
from tests.engine.laws.case import Case, Run, carries_gradient
from tests.engine.laws.law import law
from tests.extent import FULL
from tests.support.near import assert_near

SIZE = 2


class Batch(NamedTuple):
    """The inputs of a case, some of them batched."""

    case: Case
    axes: tuple[int | None, ...]
    arguments: list[Array]

    def examples(self) -> Iterator[Run]:
        """Yield the op applied to one example after the other."""
        for number in range(SIZE):
            yield _example(self.case, tuple(0 if axis is None else number for axis in self.axes))


def _draws(case: Case) -> list[list[Array]]:
    return [[np.asarray(a) for a in case.sample.arrays(f"{case.op.name} {k}")] for k in range(SIZE)]


def _examples(case: Case) -> dict[tuple[int, ...], Run]:
    return {}


def _example(case: Case, numbers: tuple[int, ...]) -> Run:
    """Apply the op to inputs of which each is from the draw of its number; once, as many batches share examples."""
    known, draws = case.once(_examples), case.once(_draws)
    if numbers not in known:
        arrays = [draws[number][place] for place, number in enumerate(numbers)]
        inputs = [tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
        known[numbers] = Run(inputs, case.call(inputs))
    return known[numbers]


def _batches(cases: list[Case]) -> Iterator[Batch]:
    """Yield the samples of an op with all inputs batched, and with each of them alone.

    After the first sample with so many inputs these take turns, unless tests are to go as far as they can.
    """
    met: set[int] = set()
    for case in cases:
        count = len(case.sample.arguments)
        choices = sorted(
            {(0,) * count, *((None,) * i + (0,) + (None,) * (count - i - 1) for i in range(count))}, key=str
        )
        if not FULL and count in met:
            choices = [choices[case.number % len(choices)]]
        met.add(count)
        draws = case.once(_draws)
        for axes in choices:
            stacked = [
                draws[0][i] if axis is None else np.stack([draw[i] for draw in draws]) for i, axis in enumerate(axes)
            ]
            yield Batch(case, axes, stacked)


def _check(what: str, batch: Batch, together: Sequence[Value], alone: Sequence[Sequence[Array]], near: float) -> None:
    for index, created in enumerate(together):
        wanted = np.stack([one[index] for one in alone])
        where = f"{what} {index}, batched {batch.axes}, of {batch.case}"
        assert (created.shape, created.dtype) == (wanted.shape, wanted.dtype), where
        assert_near(created.numpy(), wanted, where, rtol=near, atol=near / 100)


def _is_batched(cases: list[Case]) -> bool:
    return bool(cases[0].op.inputs) and not cases[0].op.data_dependent


@law(of_the_op=True)
def a_batch_gives_what_its_examples_give(cases: list[Case]) -> None:
    for batch in _batches(cases) if _is_batched(cases) else ():
        call = batch.case.call
        together = vmap(lambda *values, call=call: tuple(call(values)), batch.axes)(*batch.arguments)
        alone = [[output.numpy() for output in example.outputs] for example in batch.examples()]
        _check("result", batch, together, alone, 1e-10)


@law(of_the_op=True)
def gradients_of_a_batch_are_those_of_its_examples(cases: list[Case]) -> None:
    """The rules of a composition are those of its parts: its first sample with so many inputs shows that they meet."""
    if _is_batched(cases):
        counts = [len(case.sample.arguments) for case in cases]
        first = [case for place, case in enumerate(cases) if counts.index(counts[place]) == place]
        shown = first if cases[0].op.composite and not FULL else cases
        for batch in _batches([case for case in shown if _has_gradient(case)]):
            _check_gradients(batch)


def _has_gradient(case: Case) -> bool:
    created = [value for value in case.computed().outputs if value.dtype.kind == "f"]
    return carries_gradient(case) and all(value.requires_grad for value in created)


def _check_gradients(batch: Batch) -> None:
    varied = [i for i, a in enumerate(batch.arguments) if a.dtype.kind == "f"]

    def gradients(*args: Value) -> tuple[Value, ...]:
        def of_floats(*floats: Value) -> Value:
            merged: list[Any] = list(args)
            for place, value in zip(varied, floats, strict=True):
                merged[place] = value
            return _weighted(batch.case.call(merged))

        return vjp(of_floats, *(args[i] for i in varied))[1](1.0)

    together = vmap(gradients, batch.axes)(*batch.arguments)
    _check("gradient", batch, together, list(map(_gradients, batch.examples())), 1e-9)


def _weights(output: Value) -> Array:
    return np.cos(np.arange(output.size, dtype=np.float64)).reshape(output.shape)


def _weighted(outputs: Sequence[Value]) -> Value:
    """Add up the floating outputs, each element with a weight of its own."""
    terms = [OPS["sum"](output * _weights(output)) for output in outputs if output.dtype.kind == "f"]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def _gradients(example: Run) -> list[Array]:
    """Differentiate that sum by the floating inputs of one example."""
    leaves = [leaf for leaf in example.inputs if leaf.requires_grad]
    outputs = [output for output in example.outputs if output.dtype.kind == "f"]
    seeds = [tensor(_weights(output).astype(output.dtype)) for output in outputs]
    with no_grad():
        pulled = pull_back(outputs, seeds, leaves)
    return [
        np.zeros(leaf.shape, leaf.dtype) if slope is None else slope.numpy()
        for leaf, slope in zip(leaves, pulled, strict=True)
    ]
