"""Random programs in which every op of the registry meets others: on the tape, traced, and planned, equal to the bit.

A program is a graph document. Each op stands in it once with one of its samples as inputs, most of them moved a little
by what came before, so that values and gradients run through ops that nobody thought of putting together.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine
from engine.backward import pull_back, reachable
from engine.graph.trace import Trace, build
from engine.ops import OPS
from engine.plan.fusion import ELEMENTWISE
from engine.registry import Op
from engine.value import Array, Value

CHECKED = ("multinomial", "opt_step_sgd", "opt_step_adamw")
"""Ops that refuse numbers out of their range: they get their samples as they are."""

OPS_IN_A_PROGRAM = 8
PROGRAMS_OF_THE_SAME_OPS = 3
LARGEST = 4096


def groups() -> list[list[Op[Any]]]:
    """All ops but those that cannot be traced, in random groups."""
    ops = [op for op in OPS.values() if not op.data_dependent]
    random.Random(0).shuffle(ops)
    return [ops[start : start + OPS_IN_A_PROGRAM] for start in range(0, len(ops), OPS_IN_A_PROGRAM)]


class Choices:
    """Numbers that decide, one after the other, what a program is made of; when they run out, the first option."""

    def __init__(self, numbers: Sequence[int]) -> None:
        self.numbers = iter(numbers)

    def of(self, options: Sequence[Any]) -> Any:
        return options[next(self.numbers, 0) % len(options)]


class Program:
    """A graph document in the making, with the arrays of its leaves and the values of its nodes on the tape."""

    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.nodes: list[dict[str, Any]] = []
        self.inputs: dict[str, Array] = {}
        self.parameters: dict[str, Array] = {}
        self.values: dict[str, Value] = {}
        self.pool: list[str] = []
        self.losses: list[str] = []

    def leaf(self, array: Array) -> str:
        """Add a leaf: a parameter when it is floating, an input when not."""
        name = f"leaf{len(self.inputs) + len(self.parameters)}"
        moving = array.dtype.kind == "f"
        (self.parameters if moving else self.inputs)[name] = array
        self.values[name] = Value(array.shape, array.dtype, array.copy(), name=name, requires_grad=moving)
        return name

    def node(self, op: str, *operands: str, **attrs: Any) -> list[str]:
        """Add a node, and run it on the tape; the references of its outputs."""
        name = f"n{len(self.nodes)}"
        self.nodes.append({"name": name, "op": op, "inputs": list(operands), "attrs": attrs})
        if "training" in OPS[op].attributes and attrs.get("training") is None:
            attrs = {**attrs, "training": True}
        made = OPS[op](*(self.values[operand] for operand in operands), **attrs)
        outputs = made if isinstance(made, tuple) else (made,)
        references = [f"{name}:{index}" for index in range(len(outputs))]
        self.values.update(zip(references, outputs, strict=True))
        return references

    def apply(self, op: Op[Any]) -> None:
        """Add an op on one of its samples, and a loss of each of its floating results that are numbers."""
        number = self.choose.of(range(len(op.samples)))
        arrays = [np.asarray(array) for array in op.samples[number].arrays(f"{op.name}-{number}")]
        if op.name in CHECKED:
            operands = [self.leaf(array) for array in arrays]
        else:
            operands = self.as_they_are(op, arrays) or [self.moved(array) for array in arrays]
        for reference in self.node(op.name, *operands, **op.samples[number].attrs):
            value = self.values[reference]
            if value.dtype.kind == "f" and 0 < value.size <= LARGEST and np.isfinite(value.numpy()).all():
                self.pool.append(reference)
                if value.requires_grad:
                    (bounded,) = self.node("tanh", reference)
                    self.losses += self.node("sum", bounded)

    def as_they_are(self, op: Op[Any], arrays: list[Array]) -> list[str]:
        """Known values of one shape for an op that may write over its inputs; none for other ops."""
        floating = all(array.dtype.kind == "f" for array in arrays)
        if not (self.pool and arrays and floating and op.infer in ELEMENTWISE and op.takes_out):
            return []
        first = self.choose.of(self.pool)
        alike = [reference for reference in self.pool if self.values[reference].spec == self.values[first].spec]
        return [first, *(self.choose.of(alike) for _ in arrays[1:])]

    def moved(self, array: Array) -> str:
        """The numbers of a sample; if floating, often moved a little by a known value."""
        leaf = self.laid_out(array)
        if array.dtype.kind != "f" or not array.size or not self.pool or self.choose.of([False, False, True]):
            return leaf
        known = self.choose.of(self.pool[::-1])
        (flat,) = self.node("reshape", known, shape=[self.values[known].size])
        times = -(-array.size // self.values[known].size)
        (flat,) = self.node("concat", *[flat] * times, axis=0) if times > 1 else (flat,)
        (flat,) = self.node("slice", flat, axis=0, stop=array.size)
        (shaped,) = self.node("reshape", flat, shape=list(array.shape))
        (bounded,) = self.node("tanh", shaped)
        (small,) = self.node("scale", bounded, factor=0.01)
        return self.node("add", leaf, small)[0]

    def laid_out(self, array: Array) -> str:
        """A value with the numbers of a sample: a leaf, or a view of one whose elements lie in another order."""
        layout = self.choose.of(["rows", "columns", "every second"]) if array.ndim else "rows"
        if layout == "columns":
            axes = list(range(array.ndim))[::-1]
            return self.node("permute", self.leaf(np.ascontiguousarray(array.T)), axes=axes)[0]
        if layout == "every second":
            return self.node("slice", self.leaf(np.repeat(array, 2, axis=-1)), axis=-1, step=2)[0]
        return self.leaf(array)

    def document(self) -> dict[str, Any]:
        """The program as a client would write it."""
        leaves = {
            table: {n: {"shape": list(a.shape), "dtype": a.dtype.name} for n, a in arrays.items()}
            for table, arrays in (("inputs", self.inputs), ("parameters", self.parameters))
        }
        outputs = self.pool or [f"{self.nodes[-1]['name']}:0"]
        return {**leaves, "nodes": self.nodes, "outputs": outputs, "losses": self.losses}

    def on_the_tape(self) -> dict[str, Array]:
        """Outputs and gradients, op by op."""
        results = {reference: self.values[reference] for reference in self.document()["outputs"]}
        if self.losses:
            total = self.values[self.losses[0]]
            for reference in self.losses[1:]:
                total = total + self.values[reference]
            leaves = [self.values[name] for name in self.parameters]
            seed = Value((), total.dtype, np.ones((), total.dtype))
            found = dict(zip(self.parameters, pull_back([total], [seed], leaves), strict=True))
            results.update({f"d {name}": slope for name, slope in found.items() if slope is not None})
        return {name: value.numpy() for name, value in results.items()}


def traced(program: Program) -> tuple[Trace, dict[str, Value]]:
    """The program read from its document: the trace, and its outputs and gradients without data."""
    trace = build(engine.parse_graph(program.document()), {}, training=True)
    results = dict(trace.outputs)
    if program.losses:
        found = trace.gradients(trace.total_loss(), trace.parameters)
        results.update({f"d {name}": slope for name, slope in found.items() if slope is not None})
    return trace, results


def replayed(program: Program, trace: Trace, results: dict[str, Value]) -> dict[str, Array]:
    """Run the nodes of a trace one after the other, without plan."""
    arrays: dict[object, Array] = {trace.inputs[name].key: array for name, array in program.inputs.items()}
    arrays.update({trace.parameters[name].key: array for name, array in program.parameters.items()})

    def array_of(value: Value) -> Array:
        return arrays[value.key] if value.data is None else value.data

    for node in reachable(list(results.values())):
        with np.errstate(all="ignore"):
            made = node.op.body(*map(array_of, node.inputs), **node.attrs)
        outputs = made if node.op.several else (made,)
        order = None if node.op.view else "C"
        arrays.update({(node, index): np.asarray(output, order=order) for index, output in enumerate(outputs)})
    return {name: array_of(value) for name, value in results.items()}


def planned(program: Program, trace: Trace, results: dict[str, Value]) -> dict[str, Array]:
    """Run the program as a plan, twice on the same memory."""
    plan = engine.make_plan(trace.inputs, trace.parameters, results, {})
    executor = engine.NumpyExecutor(plan, {name: array.copy() for name, array in program.parameters.items()})
    for name, array in program.inputs.items():
        executor.inputs[name][...] = array
    executor.run()
    executor.run()
    return executor.outputs


def bits(array: Array) -> Array:
    """The bits of an array, but one and the same for every NaN."""
    array = np.where(np.isnan(array), np.asarray(np.nan, array.dtype), array) if array.dtype.kind == "f" else array
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def assert_same_bits(expected: dict[str, Array], found: dict[str, Array]) -> None:
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        assert (array.shape, array.dtype) == (found[name].shape, found[name].dtype)
        np.testing.assert_array_equal(bits(array), bits(found[name]), err_msg=name)


@pytest.mark.parametrize("ops", [pytest.param(group, id=f"group {n}") for n, group in enumerate(groups())])
def test_any_program_gives_the_same_bits_on_the_tape_traced_and_planned(ops: list[Op[Any]]) -> None:
    @settings(
        max_examples=PROGRAMS_OF_THE_SAME_OPS,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.permutations(ops), st.lists(st.integers(0, 2**12), min_size=60, max_size=60))
    def run(order: list[Op[Any]], numbers: list[int]) -> None:
        program = Program(Choices(numbers))
        for op in order:
            program.apply(op)
        trace, results = traced(program)
        expected = program.on_the_tape()
        assert_same_bits(expected, replayed(program, trace, results))
        assert_same_bits(expected, planned(program, trace, results))

    run()
