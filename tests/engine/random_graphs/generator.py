"""Random programs of all ops: a seed names one, whatever the machine.

A program is built by running it: each op is applied to values that are known to be finite, and a step that an op
refuses, or whose results are not finite, is taken back.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from engine.core.dtypes import BFLOAT16, DType, is_float
from engine.core.errors import REFUSALS, EngineError
from engine.core.value import Array, Value
from engine.graph.definition import NodeSpec
from engine.ops import OPS
from tests.engine.random_graphs.program import DESCEND, Program

FLOATS = ("float32",) * 9 + ("float64",) * 8 + ("float16",) * 2 + (("bfloat16",) if BFLOAT16 is not None else ())
WHOLE = ("int64", "int32", "int16", "int8", "uint8")

ELEMENTS = (16, 200, 1024, 2048, 4096, 6000, 8192, 16384, 32768, 65536)
"""About how large the values of a program are: below and above what is gone through at a time, or done in parts."""
ROWS = (4, 8, 24, 32, 64, 96, 128, 250, 256, 512)
MOST_ELEMENTS = 2**20
"""The elements of all results of a program."""
TWICE = 0.2
"""The share of programs that are differentiated twice."""
MAGNITUDE = 30.0
"""Results that are larger are scaled down before they are used."""


LARGEST = 1e12
"""Steps with results that are larger are taken back."""


class Refused(Exception):
    """A step without a result."""


class Generator:
    """A program in the making.

    Attributes:
        draw: what decides which ops and shapes there are.
        numbers: where the numbers of leaves come from.
        dtype: the floating type that most values have.
        rows: the extent of the batch.
        columns: the extent of a row.
        pool: references of finite floating values.
        values: what the references stand for.
    """

    def __init__(self, seed: object) -> None:
        """Start with two values of the batch and a parameter."""
        self.draw = random.Random(f"{seed}")
        self.numbers = np.random.default_rng(self.draw.getrandbits(64))
        self.dtype: DType = np.dtype(_named(self.draw.choice(FLOATS)))
        self.rows = self.draw.choice(ROWS)
        self.columns = max(self.draw.choice(ELEMENTS) // self.rows + self.draw.choice((0, 0, 0, 1)), 1)
        self.values: dict[str, Value] = {}
        self.inputs: dict[str, Array] = {}
        self.parameters: dict[str, Array] = {}
        self.nodes: list[NodeSpec] = []
        self.pool: list[str] = []
        self.used: set[str] = set()
        self.elements = 0
        x = self.leaf(self.normal(self.rows, self.columns), kind="input")
        p = self.leaf(self.normal(self.columns), kind="parameter")
        self.pool += [x, p]
        self.pool += self.node("mul", x, p)

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of most values."""
        return self.rows, self.columns

    def normal(self, *shape: int) -> Array:
        """Draw normal numbers of the program's dtype."""
        return self.numbers.standard_normal(shape).astype(self.dtype)

    def leaf(self, array: Array, kind: str = "") -> str:
        """Add a leaf: floating ones are parameters as often as inputs."""
        moving = is_float(array.dtype)
        if not kind:
            kind = "parameter" if moving and self.draw.random() < 0.6 else "input"
        table = self.parameters if kind == "parameter" else self.inputs
        name = f"{kind[0]}{len(self.inputs) + len(self.parameters)}"
        table[name] = array
        self.values[name] = Value(array.shape, array.dtype, array, name=name, requires_grad=kind == "parameter")
        return name

    def node(self, op: str, *operands: str | float, **attrs: Any) -> list[str]:
        """Add a node and run it; return the references of its outputs.

        Raises:
            Refused: the op does not take these operands.
        """
        name = f"n{len(self.nodes)}"
        if "training" in OPS[op].attributes and attrs.get("training") is None:
            attrs = {**attrs, "training": True}
        try:
            created = OPS[op](*(self.values[x] if isinstance(x, str) else x for x in operands), **attrs)
        except (EngineError, *REFUSALS) as error:
            raise Refused(f"{op}: {error}") from error
        outputs = created if isinstance(created, tuple) else (created,)
        self.nodes.append(NodeSpec(name, op, operands, attrs))
        found = [f"{name}:{index}" for index in range(len(outputs))]
        self.values.update(zip(found, outputs, strict=True))
        self.used.update(x for x in operands if isinstance(x, str))
        self.elements += sum(output.size for output in outputs)
        if self.elements > MOST_ELEMENTS:
            raise Refused("the program is large enough")
        return found

    def room_for(self, *extents: int) -> None:
        """Refuse a result or leaf of such a shape if it is too large for a program."""
        if math.prod(extents) > MOST_ELEMENTS // 8:
            raise Refused("a value that is too large")

    def one(self, op: str, *operands: str | float, **attrs: Any) -> str:
        """Add a node of which the first output is wanted."""
        return self.node(op, *operands, **attrs)[0]

    def attempt(self, step: Callable[[Generator], Sequence[str]]) -> bool:
        """Take a step, and add its floating results to the pool; or take it back, and return False."""
        before = (len(self.nodes), len(self.inputs), len(self.parameters), set(self.used), self.elements)
        try:
            created = [self.bounded(reference) for reference in step(self)]
        except Refused:
            self._take_back(*before)
            return False
        self.pool += [reference for reference in created if is_float(self.values[reference].dtype)]
        return True

    def _take_back(self, nodes: int, inputs: int, parameters: int, used: set[str], elements: int) -> None:
        gone = {node.name for node in self.nodes[nodes:]}
        del self.nodes[nodes:]
        self.values = {r: value for r, value in self.values.items() if r.partition(":")[0] not in gone}
        for table, count in ((self.inputs, inputs), (self.parameters, parameters)):
            for name in list(table)[count:]:
                del table[name]
                del self.values[name]
        self.used, self.elements = used, elements

    def bounded(self, reference: str) -> str:
        """Return a result, or what becomes of it where its numbers are too large to go on with.

        Raises:
            Refused: it holds a number that is not finite, or no number at all.
        """
        value = self.values[reference]
        if not value.size:
            raise Refused("a result without elements")
        if not is_float(value.dtype):
            return reference
        largest = float(np.abs(value.numpy().astype(np.float64)).max())
        if not largest < LARGEST:
            raise Refused("a result that is not finite, or so large that its reciprocal might be flushed to 0")
        if largest > MAGNITUDE:
            small = self.one(self.draw.choice(("tanh", "softsign")), reference) if largest < 1e4 else reference
            return small if small != reference else self.one("scale", reference, factor=1.0 / largest)
        return reference

    def known(self, dtype: DType | None = None) -> str:
        """Choose a value of the pool, the last ones most often."""
        wanted = self.pool if dtype is None else [r for r in self.pool if self.values[r].dtype == dtype]
        if not wanted:
            raise Refused("no value of this dtype")
        return self.draw.choice(wanted[-4:] if self.draw.random() < 0.6 else wanted)

    def large(self) -> str:
        """Choose a value that has the shape and dtype of the batch."""
        found = [r for r in self.pool if self.values[r].shape == self.shape and self.values[r].dtype == self.dtype]
        return self.draw.choice(found[-4:] if self.draw.random() < 0.6 else found)

    def finish(self) -> Program:
        """Add losses of what nothing else reads, and say what is wanted."""
        losses: list[str] = []
        outputs: list[str] = []
        ends = [r for r in dict.fromkeys(self.pool) if r not in self.used and ":" in r]
        self.elements = -MOST_ELEMENTS
        for reference in ends:
            if self.values[reference].requires_grad:
                losses.append(self._loss(reference))
            else:
                outputs.append(reference)
        inner = [reference for reference in self.values if ":" in reference]
        outputs += self.draw.sample(inner, min(len(inner), self.draw.choice((0, 1, 3))))
        if not (outputs or losses):
            outputs.append(ends[-1] if ends else f"{self.nodes[-1].name}:0")
        program = Program(
            self.inputs,
            self.parameters,
            {},
            tuple(self.nodes),
            tuple(dict.fromkeys(outputs)),
            tuple(losses),
            self._updates() if self.draw.random() < 0.3 else {},
            twice=bool(losses) and self.draw.random() < TWICE,
        )
        return program.without_unused()

    def _loss(self, reference: str) -> str:
        value = self.values[reference]
        kind = self.draw.choice(("weighted", "weighted", "squares", "bounded"))
        if kind == "weighted":
            weights = self.numbers.standard_normal(value.shape).astype(value.dtype)
            reference = self.one("mul", reference, self.leaf(np.asarray(weights), kind="input"))
        else:
            reference = self.one("square" if kind == "squares" else "tanh", reference)
        return self.one(self.draw.choice(("sum", "mean")), reference)

    def _updates(self) -> dict[str, str]:
        updates = {}
        for name, array in self.parameters.items():
            spec = (array.shape, array.dtype)
            alike = [r for r, v in self.values.items() if (v.shape, v.dtype) == spec]
            alike = [r for r in alike if r not in self.inputs]
            choice = self.draw.random()
            if choice < 0.5:
                updates[name] = DESCEND
            elif choice < 0.7:
                updates[name] = self.draw.choice(alike)
        return updates


def _named(name: str) -> DType:
    assert name != "bfloat16" or BFLOAT16 is not None
    return BFLOAT16 if name == "bfloat16" and BFLOAT16 is not None else np.dtype(name)
