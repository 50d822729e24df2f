"""Every op of the registry, on every sample it declares: a new op is tested from the day it is written.

Derivatives are compared with central differences along random directions, which a wrong entry anywhere would change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest

from engine.autograd.backward import pull_back
from engine.core.errors import AttributeValueError
from engine.core.modes import tracing
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.core.value import Array, Node, Value, tensor
from engine.ops import OPS
from engine.ops.reduce.reduce import sum as total_of
from tests.extent import paired

STEP = 1e-6


class Case(NamedTuple):
    """One sample of one op."""

    op: Op[Any]
    sample: Sample
    name: str

    def arrays(self, dtype: str = "float64") -> list[Array]:
        """Draw the inputs, the floating ones in `dtype`."""
        drawn = (np.asarray(array) for array in self.sample.arrays(self.name))
        return [array.astype(dtype) if array.dtype.kind == "f" else array for array in drawn]

    def call(self, values: Sequence[Value]) -> list[Value]:
        """Apply the op; a list of its results."""
        made = self.op(*values, **self.sample.attrs)
        return list(made) if isinstance(made, tuple) else [made]

    def trace(self, dtype: str = "float64") -> tuple[list[Value], list[Value]]:
        """Apply the op to values without data; its inputs and results."""
        inputs = [
            Value(array.shape, array.dtype, None, requires_grad=array.dtype.kind == "f") for array in self.arrays(dtype)
        ]
        with tracing(_no_key):
            return inputs, self.call(inputs)


def _no_key() -> Value:
    raise AssertionError("a sample of a random op must hold its key")


def _floats(values: Sequence[Value]) -> list[Value]:
    return [value for value in values if value.dtype.kind == "f"]


CASES = [
    Case(op, sample, f"{op.name}-{number}")
    for op in OPS.values()
    if not op.data_dependent
    for number, sample in enumerate(op.samples)
]
FLOATS = ("float64", "float32", "float16")
EVERY_FLOAT = (*FLOATS, "bfloat16")


def _carries_gradient(case: Case) -> bool:
    return case.op.differentiable and all(_floats(values) for values in case.trace())


def _has_slope(case: Case) -> bool:
    return _carries_gradient(case) and not case.op.documentation.gradient_notes.keys() & case.sample.attrs.keys()


def _writes_over_inputs(case: Case) -> bool:
    return case.op.elementwise and case.op.takes_out


def _cases(wanted: Callable[[Case], bool]) -> pytest.MarkDecorator:
    """Run a test once an op, with those of its cases that are `wanted`."""
    by_op = {op.name: [case for case in CASES if case.op is op and wanted(case)] for op in OPS.values()}
    return pytest.mark.parametrize("cases", [pytest.param(found, id=name) for name, found in by_op.items() if found])


def test_every_op_is_documented_and_has_samples() -> None:
    assert not [name for name, op in OPS.items() if not op.doc.splitlines()[0].endswith(".") or not op.samples]


def test_every_op_refuses_an_unknown_attribute() -> None:
    for name, op in OPS.items():
        with pytest.raises(AttributeValueError, match=rf"\b{name}\b.*no attribute 'surprise'"):
            op(surprise=1)


def test_every_op_that_carries_gradients_has_a_rule() -> None:
    wrong = [name for name, op in OPS.items() if not op.composite and (op.rule is not None) != op.differentiable]
    assert not wrong


@_cases(lambda _: True)
def test_the_shape_rule_tells_what_the_kernel_gives(cases: list[Case]) -> None:
    for case, dtype in paired(cases, EVERY_FLOAT):
        _, traced = case.trace(dtype)
        made = case.call([tensor(array) for array in case.arrays(dtype)])
        assert [value.spec for value in made] == [value.spec for value in traced]
        assert [(value.numpy().shape, value.numpy().dtype) for value in made] == [value.spec for value in traced]


@_cases(_carries_gradient)
def test_a_traced_and_a_computed_result_require_gradients_alike(cases: list[Case]) -> None:
    for case in cases:
        _, traced = case.trace()
        made = case.call([tensor(array, requires_grad=array.dtype.kind == "f") for array in case.arrays()])
        assert [value.requires_grad for value in made] == [value.requires_grad for value in traced]
        assert any(value.requires_grad for value in made)


def _kernel_call(case: Case, dtype: str) -> tuple[Node, list[Array]]:
    """Return the node of a primitive and the arrays its kernel gets, after promotion."""
    with tracing(_no_key):
        node = case.call([tensor(array) for array in case.arrays(dtype)])[0].node
    assert node is not None
    assert node.inputs is not None
    return node, [value.numpy() for value in node.inputs]


def _run(node: Node, arrays: Sequence[Array], **out: Any) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        made = node.op.body(*arrays, **node.attrs, **out)
    return made if node.op.multi_output else (np.asarray(made),)


def _check_buffer(case: Case, dtype: str) -> None:
    node, arrays = _kernel_call(case, dtype)
    before = [array.copy() for array in arrays]
    expected = _run(node, arrays)
    assert all(np.array_equal(a, b, equal_nan=a.dtype.kind == "f") for a, b in zip(arrays, before, strict=True))
    if not node.op.takes_out:
        return
    buffers = tuple(np.full(spec.shape, 7, spec.dtype) for spec in node.outputs)
    results = _run(node, arrays, out=buffers if node.op.multi_output else buffers[0])
    for buffer, result, wanted in zip(buffers, results, expected, strict=True):
        assert buffer.tobytes() == wanted.tobytes()
        assert result.tobytes() == wanted.tobytes()


@_cases(lambda case: not case.op.composite)
def test_a_kernel_gives_the_same_bits_into_a_buffer(cases: list[Case]) -> None:
    for case, dtype in paired(cases, FLOATS):
        _check_buffer(case, dtype)


@_cases(_writes_over_inputs)
def test_an_elementwise_kernel_may_write_over_an_input(cases: list[Case]) -> None:
    for case in cases:
        node, arrays = _kernel_call(case, "float64")
        (expected,) = _run(node, arrays)
        for place, array in enumerate(arrays):
            if (array.shape, array.dtype) == node.outputs[0]:
                inputs = [a.copy() for a in arrays]
                _run(node, inputs, out=inputs[place])
                assert inputs[place].tobytes() == expected.tobytes()


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


@_cases(_carries_gradient)
def test_a_backward_rule_emits_only_ops_that_have_one(cases: list[Case]) -> None:
    for case in cases:
        inputs, outputs = case.trace()
        cotangents = [Value(output.shape, output.dtype, None, requires_grad=True) for output in _floats(outputs)]
        with tracing(_no_key):
            pulled = pull_back(_floats(outputs), cotangents, _floats(inputs))
        assert [value.spec for value in pulled if value is not None] == [
            value.spec for value, found in zip(_floats(inputs), pulled, strict=True) if found is not None
        ]
        for node in _nodes([*outputs, *pulled]):
            without_gradient = all(spec.dtype.kind != "f" for spec in node.outputs)
            assert node.op.rule is not None or without_gradient or node.op.no_gradient


def _gradients(case: Case, leaves: Sequence[Value], weights: Sequence[Value]) -> list[Value | None]:
    """Gradients, of the sum of the results times `weights`, by the floating inputs."""
    return pull_back(_floats(case.call(leaves)), weights, _floats(leaves))


def _directions(generator: np.random.Generator, arrays: Sequence[Array]) -> list[Array]:
    return [np.asarray(generator.standard_normal(array.shape)) for array in arrays]


def _shifted(arrays: Sequence[Array], place: int, change: Array) -> list[Array]:
    return [array + change if number == place else array for number, array in enumerate(arrays)]


def _assert_slope(gradient: Value | None, direction: Array, ahead: float, behind: float) -> None:
    products = np.zeros(1) if gradient is None else gradient.numpy() * direction
    scale = max(1.0, float(np.abs(products).sum()))
    assert products.sum() == pytest.approx((ahead - behind) / (2 * STEP), rel=0, abs=1e-6 * scale)


def _check_first_order(case: Case) -> None:
    generator = np.random.default_rng(1)
    arrays = case.arrays()
    weights = _directions(generator, [output.numpy() for output in _floats(case.call([tensor(a) for a in arrays]))])

    def height(inputs: Sequence[Array]) -> float:
        outputs = _floats(case.call([tensor(array) for array in inputs]))
        return sum(float((output.numpy() * weight).sum()) for output, weight in zip(outputs, weights, strict=True))

    leaves = [tensor(array, requires_grad=array.dtype.kind == "f") for array in arrays]
    gradients = iter(_gradients(case, leaves, [tensor(weight) for weight in weights]))
    for place, array in enumerate(arrays):
        if array.dtype.kind == "f":
            direction = generator.standard_normal(array.shape)
            gradient = next(gradients)
            ahead, behind = (_shifted(arrays, place, sign * STEP * direction) for sign in (1, -1))
            _assert_slope(gradient, direction, height(ahead), height(behind))


@_cases(_has_slope)
def test_the_gradient_is_the_slope(cases: list[Case]) -> None:
    for case in cases:
        _check_first_order(case)


def _check_second_order(case: Case) -> None:
    generator = np.random.default_rng(2)
    arrays = case.arrays()
    outputs = _floats(case.call([tensor(array) for array in arrays]))
    # The gradient is a function of the inputs and of the cotangents: both are varied.
    variables = [*arrays, *_directions(generator, [output.numpy() for output in outputs])]
    along = _directions(generator, [array for array in arrays if array.dtype.kind == "f"])

    def slope(values: Sequence[Array]) -> tuple[list[Value], Value | None]:
        leaves = [tensor(array, requires_grad=array.dtype.kind == "f") for array in values]
        found = _gradients(case, leaves[: len(arrays)], leaves[len(arrays) :])
        terms = [total_of(g * tensor(v)) for g, v in zip(found, along, strict=True) if g is not None]
        return leaves, sum(terms[1:], start=terms[0]) if terms else None

    def height(values: Sequence[Array]) -> float:
        return float(slope(values)[1] or 0.0)

    leaves, first = slope(variables)
    if first is None:
        return
    seconds = iter(pull_back([first], [tensor(np.ones(()))], _floats(leaves)))
    for place, array in enumerate(variables):
        if array.dtype.kind == "f":
            direction = generator.standard_normal(array.shape)
            second = next(seconds)
            ahead, behind = (_shifted(variables, place, sign * STEP * direction) for sign in (1, -1))
            _assert_slope(second, direction, height(ahead), height(behind))


@_cases(_carries_gradient)
def test_the_second_gradient_is_the_slope_of_the_first(cases: list[Case]) -> None:
    for case in cases:
        _check_second_order(case)
