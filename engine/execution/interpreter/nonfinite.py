"""Where the first number that is not finite comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from engine.core.array_statistics import array_statistics
from engine.core.dtypes import is_float
from engine.core.modes import Admit, admit_any
from engine.core.options import Reader
from engine.core.value import Array
from engine.execution.interpreter.node_runner import NodeRun, NodeRunner, cost_of_runner
from engine.execution.interpreter.point import FIELDS, read_point
from engine.graph.definition import Definition

Kind = Literal["input", "parameter", "buffer", "forward", "backward"]


@dataclass(frozen=True, slots=True)
class Operand:
    """What a node was given: its name, shape and dtype, its least and largest number, and how many are none.

    `min` and `max` leave NaN out; None where nothing is left.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    min: float | None
    max: float | None
    nan: int
    inf: int


@dataclass(frozen=True, slots=True)
class Nonfinite:
    """A leaf or node that holds NaN or infinity.

    Attributes:
        name: of the leaf or node, as the list of the graph's nodes has it.
        kind: "input", "parameter" or "buffer" of a leaf, "forward" or "backward" of a node.
        op: of a node.
        nan: elements that are NaN.
        inf: elements that are infinite.
        shape: of the array.
        dtype: of the array.
        index: where the first of these elements is, in row-major order.
        value: this element.
        inputs: what a node was given.
    """

    name: str
    kind: Kind
    op: str | None
    nan: int
    inf: int
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    index: tuple[int, ...] = ()
    value: float = math.nan
    inputs: Sequence[Operand] = ()

    @property
    def phase(self) -> Literal["forward", "backward"] | None:
        """The pass that a node belongs to."""
        return self.kind if self.kind == "forward" or self.kind == "backward" else None


def trace_nonfinite(definition: Definition, request: Mapping[str, Any], admit: Admit = admit_any) -> Nonfinite | None:
    """Find what is first not finite in a training step of a graph: of the leaves, then of the nodes in order.

    Args:
        definition: the graph; without a loss only its forward pass is evaluated.
        request: {"inputs", "parameters", "buffers", "seed"} as `compute` takes them, and "training", here true.
        admit: called with the bytes that the search takes, before they are allocated.

    Raises:
        DocumentError: with pointers into the request.
    """
    reader = Reader()
    request = reader.mapping(request, "")
    reader.fields(request, "", FIELDS)
    point = read_point(definition, request, reader, training=True)
    runner = NodeRunner(point)
    admit(cost_of_runner(runner))
    return first_nonfinite(runner)


def first_nonfinite(runner: NodeRunner) -> Nonfinite | None:
    """Return the first leaf, or else the first node of a step in order, that is not finite throughout.

    An infinity that is meant, such as that of a mask, is found too.

    Raises:
        DocumentError: numbers that an op does not take.
    """
    for leaf, name, array in _leaves(runner):
        if _bad(array):
            return _found(name, leaf, None, array, ())
    for run in runner.run_nodes():
        for array in run.outputs:
            if _bad(array):
                kind: Kind = "backward" if run.backward else "forward"
                return _found(run.name, kind, run.op, array, list(_operands(run)))
    return None


def _leaves(runner: NodeRunner) -> Iterator[tuple[Kind, str, Array]]:
    """Yield kind, name and numbers of every input, parameter and buffer."""
    definition = runner.point.definition
    kinds: tuple[Kind, ...] = ("input", "parameter", "buffer")
    for kind in kinds:
        for name in getattr(definition, f"{kind}s"):
            yield kind, name, runner.arrays[name]


def _numbers(array: Array) -> Array:
    """Return an array in a type of NumPy's own; the kind of bfloat16 is "V"."""
    return array.astype(np.float32) if array.dtype.kind == "V" else array


def _bad(array: Array) -> bool:
    return is_float(array.dtype) and not bool(np.isfinite(_numbers(array)).all())


def _found(name: str, kind: Kind, op: str | None, array: Array, inputs: Sequence[Operand]) -> Nonfinite:
    numbers = _numbers(array)
    place = int(np.argmin(np.isfinite(numbers)))
    index = tuple(int(extent) for extent in np.unravel_index(place, numbers.shape))
    nan, inf = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
    value = float(numbers.reshape(-1)[place])
    return Nonfinite(name, kind, op, nan, inf, array.shape, array.dtype.name, index, value, inputs)


def _operands(run: NodeRun) -> Iterator[Operand]:
    for name, array in zip(run.operands, run.inputs, strict=True):
        seen = array_statistics(array)
        yield Operand(name, array.shape, array.dtype.name, seen.min, seen.max, seen.nan, seen.inf)
