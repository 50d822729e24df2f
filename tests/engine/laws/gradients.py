"""Laws of gradients: rules can be differentiated again, and gradients are slopes.

Derivatives are compared with central differences along a random direction, which a wrong entry anywhere would change.
Where an op with such attributes is compared with PyTorch's gradients (tests/engine/golden), that is done in
`make chaos` alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.autograd.reach import reached
from engine.core.dtypes import is_float
from engine.core.modes import no_grad, tracing
from engine.core.value import Array, Node, Value, tensor
from engine.ops.reduce.reduce import sum as total_of
from tests.engine.golden.samples import Order, are_compared
from tests.engine.laws.case import EVERY_FLOAT, Case, carries_gradient, floats, no_key
from tests.engine.laws.law import law
from tests.extent import FULL

STEP = 1e-6


def _nodes(values: Sequence[Value | None]) -> Iterator[Node]:
    """Every node that leads to one of `values`."""
    found: set[Node] = set()
    waiting = [value.node for value in values if value is not None and value.node is not None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            yield node
            waiting.extend(value.node for value in node.inputs or () if value.node is not None)


@law(carries_gradient)
def a_search_without_gradients_finds_what_they_reach(case: Case) -> None:
    traced = case.traced()
    leaves = floats(traced.inputs)
    with tracing(no_key):
        for output in floats(traced.outputs):
            slopes = pull_back([output], [Value(output.shape, output.dtype, None)], leaves)
            assert reached(output, leaves) == [slope is not None for slope in slopes]


@law(carries_gradient)
def a_backward_rule_emits_only_ops_that_have_one(case: Case) -> None:
    inputs, outputs = case.traced()
    cotangents = [Value(output.shape, output.dtype, None, requires_grad=True) for output in floats(outputs)]
    with tracing(no_key):
        pulled = pull_back(floats(outputs), cotangents, floats(inputs))
    assert [value.spec for value in pulled if value is not None] == [
        value.spec for value, found in zip(floats(inputs), pulled, strict=True) if found is not None
    ]
    for node in _nodes([*outputs, *pulled]):
        without_gradient = all(spec.dtype.kind != "f" for spec in node.outputs)
        assert node.op.rule is not None or without_gradient or node.op.no_gradient, node.op.name


def _compared_with_pytorch(case: Case, order: Order) -> bool:
    return not FULL and are_compared(case.op.name, case.sample.attrs, order)


def _directions(generator: np.random.Generator, arrays: Sequence[Array]) -> list[Array]:
    return [np.asarray(generator.standard_normal(array.shape)) for array in arrays]


def _shifted(arrays: Sequence[Array], changes: Sequence[Array | None], sign: float) -> list[Array]:
    return [
        array if change is None else array + sign * STEP * change for array, change in zip(arrays, changes, strict=True)
    ]


def _along(generator: np.random.Generator, arrays: Sequence[Array]) -> list[Array | None]:
    """Draw a direction for every floating input."""
    return [generator.standard_normal(array.shape) if array.dtype.kind == "f" else None for array in arrays]


def _assert_slope(gradients: Sequence[Value | None], changes: Sequence[Array | None], rise: float) -> None:
    moved = [change for change in changes if change is not None]
    products = [
        np.asarray(gradient.numpy() * change)
        for gradient, change in zip(gradients, moved, strict=True)
        if gradient is not None
    ]
    scale = max(1.0, sum(float(np.abs(product).sum()) for product in products))
    slope = sum(float(product.sum()) for product in products)
    assert slope == pytest.approx(rise / (2 * STEP), rel=0, abs=1e-6 * scale)


def _has_slope(case: Case) -> bool:
    noted = case.op.documentation.gradient_notes.keys() & case.sample.attrs.keys()
    return not noted and not _compared_with_pytorch(case, "gradients") and carries_gradient(case)


@law(_has_slope)
def the_gradient_is_the_slope(case: Case) -> None:
    generator = np.random.default_rng(1)
    arrays = case.arrays()
    leaves, outputs = case.computed()
    weights = _directions(generator, [output.numpy() for output in floats(outputs)])

    def height(inputs: Sequence[Array]) -> float:
        with no_grad():
            created = floats(case.call([tensor(array) for array in inputs]))
        return sum(float((output.numpy() * weight).sum()) for output, weight in zip(created, weights, strict=True))

    gradients = pull_back(floats(outputs), [tensor(weight) for weight in weights], floats(leaves))
    changes = _along(generator, arrays)
    _assert_slope(gradients, changes, height(_shifted(arrays, changes, 1)) - height(_shifted(arrays, changes, -1)))


@law(carries_gradient, EVERY_FLOAT)
def a_pass_that_records_nothing_gives_the_bits_of_one_that_does(case: Case, dtype: str) -> None:
    arrays = case.arrays(dtype)
    for _ in range(2):  # signatures are known from the second call on
        inputs = [tensor(array, requires_grad=is_float(array.dtype)) for array in arrays]
        outputs = [value for value in case.call(inputs) if value.requires_grad]
    generator = np.random.default_rng(3)
    seeds = [tensor(generator.standard_normal(value.shape).astype(value.dtype)) for value in outputs]
    leaves = [value for value in inputs if value.requires_grad]
    recorded = pull_back(outputs, seeds, leaves)
    with no_grad():
        silent = pull_back(outputs, seeds, leaves)
    for first, second in zip(recorded, silent, strict=True):
        assert (first is None) == (second is None)
        if first is not None and second is not None:
            assert not second.requires_grad
            assert first.spec == second.spec
            assert first.numpy().tobytes() == second.numpy().tobytes()


def _has_second_slope(case: Case) -> bool:
    return not _compared_with_pytorch(case, "second") and carries_gradient(case)


@law(_has_second_slope)
def the_second_gradient_is_the_slope_of_the_first(case: Case) -> None:
    generator = np.random.default_rng(2)
    arrays = case.arrays()
    leaves, outputs = case.computed()
    # The gradient is a function of the inputs and of the cotangents: both are varied.
    cotangents = _directions(generator, [output.numpy() for output in floats(outputs)])
    variables = [*arrays, *cotangents]
    along = _directions(generator, [array for array in arrays if array.dtype.kind == "f"])

    def slope(inputs: Sequence[Value], outputs: Sequence[Value], seeds: Sequence[Value]) -> Value | None:
        found = pull_back(floats(outputs), seeds, floats(inputs))
        terms = [total_of(g * tensor(v)) for g, v in zip(found, along, strict=True) if g is not None]
        return sum(terms[1:], start=terms[0]) if terms else None

    def height(values: Sequence[Array]) -> float:
        inputs = [tensor(array, requires_grad=array.dtype.kind == "f") for array in values[: len(arrays)]]
        outputs = case.call(inputs)
        with no_grad():
            return float(slope(inputs, outputs, [tensor(array) for array in values[len(arrays) :]]) or 0.0)

    seeds = [tensor(array, requires_grad=True) for array in cotangents]
    first = slope(leaves, outputs, seeds)
    if first is None:
        return
    seconds = pull_back([first], [tensor(np.ones(()))], floats([*leaves, *seeds]))
    changes = _along(generator, variables)
    rise = height(_shifted(variables, changes, 1)) - height(_shifted(variables, changes, -1))
    _assert_slope(seconds, changes, rise)
