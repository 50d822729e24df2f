"""Laws of results: shapes, types, what requires a gradient, and the memory that kernels write to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import engine
from engine.core.modes import tracing
from engine.core.value import Array, Node, tensor
from tests.engine.laws.case import EVERY_FLOAT, FLOATS, Case, carries_gradient, no_key, traceable
from tests.engine.laws.law import law


@law(traceable, EVERY_FLOAT)
def the_shape_rule_gives_the_shapes_and_types_of_the_kernel(case: Case, dtype: str) -> None:
    specs = [value.spec for value in case.traced(dtype).outputs]
    outputs = case.computed(dtype).outputs
    assert [value.spec for value in outputs] == specs
    assert [(value.numpy().shape, value.numpy().dtype) for value in outputs] == specs


@law(carries_gradient)
def a_traced_and_a_computed_result_require_gradients_alike(case: Case) -> None:
    computed = [value.requires_grad for value in case.computed().outputs]
    assert computed == [value.requires_grad for value in case.traced().outputs]
    assert any(computed)


@law()
def results_have_the_same_bits_and_no_node_where_nothing_is_recorded(case: Case) -> None:
    leaves, tracked = case.computed()
    before = next(Node.numbers)
    with engine.no_grad():
        silent = case.call(leaves)
    assert next(Node.numbers) == before + 1
    for first, second in zip(tracked, silent, strict=True):
        assert second.node is None
        assert not second.requires_grad or any(second is leaf for leaf in leaves)  # given back as it is
        assert first.numpy().tobytes() == second.numpy().tobytes()


def _kernel_call(case: Case, dtype: str) -> tuple[Node, list[Array]]:
    """Return the node of a primitive and the arrays its kernel gets, after promotion."""
    with tracing(no_key):
        node = case.call([tensor(array) for array in case.arrays(dtype)])[0].node
    assert node is not None
    assert node.inputs is not None
    return node, [value.numpy() for value in node.inputs]


def _run(node: Node, arrays: Sequence[Array], **out: Any) -> tuple[Array, ...]:
    with np.errstate(all="ignore"):
        created = node.op.body(*arrays, **node.attrs, **out)
    return created if node.op.multi_output else (np.asarray(created),)


@law(lambda case: traceable(case) and not case.op.composite, FLOATS)
def a_kernel_gives_the_same_bits_into_a_buffer(case: Case, dtype: str) -> None:
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


@law(lambda case: traceable(case) and case.op.elementwise and case.op.takes_out)
def an_elementwise_kernel_may_write_over_an_input(case: Case) -> None:
    node, arrays = _kernel_call(case, "float64")
    (expected,) = _run(node, arrays)
    for place, array in enumerate(arrays):
        if (array.shape, array.dtype) == node.outputs[0]:
            inputs = [a.copy() for a in arrays]
            _run(node, inputs, out=inputs[place])
            assert inputs[place].tobytes() == expected.tobytes()
