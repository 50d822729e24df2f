"""Every op of the registry, applied to a batch by its batching rule, gives what it gives example by example."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from engine.autograd.differentiate import vjp
from engine.autograd.vmap import vmap
from engine.core.batching import Call, apply_batched, each, rule_of
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.value import Array, Value, as_value, tensor
from engine.ops import OPS
from tests.extent import FULL

SIZE = 2
EXAMPLE_BY_EXAMPLE = {
    "pack": "it gathers parameters into one vector, of which there is one",
    "opt_step_sgd": "it steps one parameter",
    "opt_step_adamw": "it steps one parameter",
    "adam_rates": "they are those of one step",
    "adam_update": "it steps one parameter",
    "sgd_update": "it steps one parameter",
    "momentum_update": "it steps one parameter",
    "distinct_places": "it checks the places of one array",
    "row_places": "it looks at all rows of one array together",
    "unique_padded": "it looks at all elements of one array together",
    "overall_median": "it looks at all elements of one array together",
    "accuracy": "it counts over all rows of one array",
    "histc": "it counts all elements of one array together",
    "bincount": "it counts all elements of one array together",
    "isin": "it looks at all elements of the second array together",
    "listed_labels": "it turns the lists of one array of targets into places",
    "ctc_lattice": "its paths are those of one set of targets",
    "grouped_outer": "it adds up rows by their group",
    "fold_in": "one key gives one key",
    "random_uniform": "one key gives one draw",
    "random_normal": "one key gives one draw",
    "bernoulli": "one key gives one draw",
    "dropout_mask": "one key gives one draw",
    "exponential": "one key gives one draw",
    "truncated_normal": "one key gives one draw",
    "random_integers": "one key gives one draw",
    "randperm": "one key gives one draw",
    "multinomial": "one key gives one draw",
    "limit_rows": "each example limits a table of its own",
}
"""Ops without a rule of their own, and why."""


class Case(NamedTuple):
    """One sample of one op, with some of its inputs batched."""

    op: Op[Any]
    sample: Sample
    axes: tuple[int | None, ...]

    def arguments(self) -> list[Array]:
        """Draw the inputs; what differs from example to example is stacked."""
        draws = [[np.asarray(a) for a in self.sample.arrays(f"{self.op.name} {k}")] for k in range(SIZE)]
        return [
            draws[0][i] if axis is None else np.stack([draw[i] for draw in draws]) for i, axis in enumerate(self.axes)
        ]

    def examples(self) -> Iterator[list[Array]]:
        """Yield the inputs of one example after the other."""
        arguments = self.arguments()
        for number in range(SIZE):
            yield [a if axis is None else np.asarray(a[number]) for a, axis in zip(arguments, self.axes, strict=True)]

    def call(self, *values: Any) -> tuple[Value, ...]:
        """Apply the op."""
        made = self.op(*values, **self.sample.attrs)
        return made if isinstance(made, tuple) else (made,)


def _cases(op: Op[Any]) -> Iterator[Case]:
    """Yield the samples of an op with all inputs batched, and with each of them alone.

    After the first sample with so many inputs these take turns, unless tests are to go as far as they can.
    """
    met: set[int] = set()
    for number, sample in enumerate(op.samples):
        count = len(sample.arguments)
        choices = sorted(
            {(0,) * count, *((None,) * i + (0,) + (None,) * (count - i - 1) for i in range(count))}, key=str
        )
        if not FULL and count in met:
            choices = [choices[number % len(choices)]]
        met.add(count)
        yield from (Case(op, sample, axes) for axes in choices)


def _has_gradient(case: Case) -> bool:
    if not case.op.differentiable:
        return False
    arrays = map(np.asarray, case.sample.arrays(case.op.name))
    values = [tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
    floats = [made for made in case.call(*values) if made.dtype.kind == "f"]
    return bool(floats) and all(made.requires_grad for made in floats)


every_op = pytest.mark.parametrize(
    "op", [pytest.param(op, id=op.name) for op in OPS.values() if op.inputs and not op.data_dependent]
)


@every_op
def test_a_batch_gives_what_its_examples_give(op):
    for case in _cases(op):
        together = vmap(case.call, case.axes)(*case.arguments())
        alone = [case.call(*example) for example in case.examples()]
        for index, made in enumerate(together):
            wanted = np.stack([outputs[index].numpy() for outputs in alone])
            assert (made.shape, made.dtype) == (wanted.shape, wanted.dtype), case
            np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-10, atol=1e-12, err_msg=str(case))


@every_op
def test_gradients_of_a_batch_are_those_of_its_examples(op):
    for case in filter(_has_gradient, _cases(op)):
        _check_gradients(case)


def _check_gradients(case: Case) -> None:
    arguments = case.arguments()
    varied = [i for i, a in enumerate(arguments) if a.dtype.kind == "f"]

    def gradients(*args: Value) -> tuple[Value, ...]:
        def of_floats(*floats: Value) -> Value:
            merged: list[Any] = list(args)
            for place, value in zip(varied, floats, strict=True):
                merged[place] = value
            return _weighted(case.call(*merged))

        return vjp(of_floats, *(args[i] for i in varied))[1](1.0)

    together = vmap(gradients, case.axes)(*arguments)
    alone = [gradients(*(tensor(a) for a in example)) for example in case.examples()]
    for index, made in enumerate(together):
        wanted = np.stack([one[index].numpy() for one in alone])
        np.testing.assert_allclose(made.numpy(), wanted, rtol=1e-9, atol=1e-11, err_msg=str(case))


def _weighted(outputs: Sequence[Value]) -> Value:
    """Add up the floating outputs, each element with a weight of its own."""
    floats = [o for o in outputs if o.dtype.kind == "f"]
    terms = [OPS["sum"](o * np.cos(np.arange(o.size, dtype=np.float64)).reshape(o.shape)) for o in floats]
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def test_every_op_batches_by_a_rule_or_stands_in_the_list():
    without = {
        op.name
        for op in OPS.values()
        if not op.composite and op.inputs and rule_of(op) is each and not op.data_dependent
    }
    assert without == set(EXAMPLE_BY_EXAMPLE)


def test_a_rule_gives_what_applying_the_op_example_by_example_gives():
    x, w = np.arange(24.0).reshape(2, 2, 2, 3), np.arange(24.0).reshape(2, 3, 2, 2)
    op = OPS["convolution"]
    attrs = op.bind({"stride": (1,), "padding": ((0, 1),), "dilation": (1,)})
    spec = op(x[0], w[0], **attrs).spec
    call = Call(op, 2, (as_value(x), as_value(w)), (True, True), attrs, (spec,))
    np.testing.assert_array_equal(apply_batched(call)[0].numpy(), each(call).numpy())
