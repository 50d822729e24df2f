"""From Values to a listing: reachable operations in order, equal ones merged, constants folded, no-ops removed.

Nothing here changes a result: x * 0 stays (it may be NaN), only what is equal to the bit is merged. The gradient of
what was cut into slices, a sum of theirs with zeros around them, is their concatenation plus 0, which makes -0 a 0.
Results that one op can add up, as the gradients of a table that is read several times, are not made one by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Any

import numpy as np

from engine.autograd.backward import reachable
from engine.core.dtypes import BFLOAT16, computing_dtype
from engine.core.errors import REFUSALS, EngineError
from engine.core.half_precision import half_precision_kernel
from engine.core.registry import OPS, Op
from engine.core.value import Array, Node, Shape, Spec, Value
from engine.graph.origin import NONE, Origin

FOLD_ELEMENTS, FOLD_OPERATIONS = 2**12, 2**20
"""Elements of constants of which others are computed when a plan is made, and the operations, or elements if these are
more, that larger ones take together, as masks and encodings of positions: what is left is computed at each run.
"""

MOST_SUMMANDS = 16
"""More are added up in turn."""

MOST_SLICES = 256
"""The gradients of more slices are added up: each sum is compared with all slices before it."""


@dataclass(frozen=True, slots=True)
class Instruction:
    """One op on numbered values, and where it comes from."""

    op: Op[Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: Mapping[str, Any]
    origin: Origin = NONE


@dataclass(frozen=True, slots=True)
class Slices:
    """Parts along one axis of a value that is zero elsewhere.

    Attributes:
        joined_by: the name of the op that makes the value of them if nothing is zero.
        axis: along which they lie.
        parts: of each where it starts and ends, and its number, in order.
    """

    joined_by: str
    axis: int
    parts: tuple[tuple[int, int, int], ...]

    def are_whole(self, extent: int) -> bool:
        """Return whether nothing is missing of an axis with this extent."""
        starts, ends = (0, *(end for _, end, _ in self.parts)), (*(start for start, _, _ in self.parts), extent)
        return starts == ends


@dataclass(frozen=True, slots=True)
class Summands:
    """Results that one op can add up.

    Attributes:
        summed_by: the name of the op that gives their sum.
        attrs: the attributes that all of them have.
        inputs: of each, in the order of the sum.
    """

    summed_by: str
    attrs: Mapping[str, Any]
    inputs: tuple[tuple[int, ...], ...]


@dataclass
class Listing:
    """A computation as numbered values and the instructions that make them, in order.

    `inputs` and `state` name leaf numbers, `constants` hold arrays, `outputs` name what is wanted, and `updates` say
    which number becomes the new value of which state.
    """

    specs: list[Spec] = field(default_factory=list)
    instructions: list[Instruction] = field(default_factory=list)
    inputs: dict[str, int] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)
    constants: dict[int, Array] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)
    updates: dict[str, int] = field(default_factory=dict)

    def copy(self) -> Listing:
        """Return a listing that can be changed without changing this."""
        copy = Listing()
        copy.take(self)
        return copy

    def take(self, other: Listing) -> None:
        """Become like another listing, whose arrays are shared."""
        self.specs, self.instructions = list(other.specs), list(other.instructions)
        self.inputs, self.state = dict(other.inputs), dict(other.state)
        self.constants, self.outputs, self.updates = dict(other.constants), dict(other.outputs), dict(other.updates)

    def new(self, spec: Spec) -> int:
        """Number a new value."""
        self.specs.append(spec)
        return len(self.specs) - 1


def simplify(
    inputs: Mapping[str, Value],
    state: Mapping[str, Value],
    outputs: Mapping[str, Value],
    updates: Mapping[str, Value],
    origin_of: Callable[[Node], Origin] | None = None,
) -> Listing:
    """List what `outputs` and `updates` need of the graph over the leaves `inputs` and `state`.

    Of equal operations the first is kept, with its origin.
    """
    lister = _Lister(origin_of or _no_origin)
    for name, value in inputs.items():
        lister.listing.inputs[name] = lister.leaf(value)
    for name, value in state.items():
        lister.listing.state[name] = lister.leaf(value)
    for node in reachable([*outputs.values(), *updates.values()]):
        lister.add(node)
    lister.listing.outputs = {name: lister.number(value) for name, value in outputs.items()}
    lister.listing.updates = {name: lister.number(value) for name, value in updates.items()}
    return drop_dead(lister.listing)


class _Lister:
    def __init__(self, origin_of: Callable[[Node], Origin]) -> None:
        self.origin_of = origin_of
        self.listing = Listing()
        self.numbers: dict[object, int] = {}
        self.known: dict[object, tuple[int, ...]] = {}
        self.keep: list[Value] = []
        self.slices: dict[int, Slices] = {}
        self.summands: dict[int, Summands] = {}
        self.operations_left = FOLD_OPERATIONS

    def leaf(self, value: Value) -> int:
        number = self.listing.new(value.spec)
        self.numbers[value.key] = number
        self.keep.append(value)
        return number

    def number(self, value: Value) -> int:
        number = self.numbers.get(value.key)
        if number is not None:
            return number
        assert value.data is not None, f"leaf {value.name!r} is neither an input nor state nor a constant"
        self.keep.append(value)
        self.numbers[value.key] = self.constant(value.data)
        return self.numbers[value.key]

    def constant(self, data: Array) -> int:
        if not data.flags.c_contiguous:
            data = np.ascontiguousarray(data)
        small = data.nbytes <= 64
        key = ("constant", data.dtype.name, data.shape, data.tobytes()) if small else ("constant", id(data))
        if key not in self.known:
            number = self.listing.new(Spec(data.shape, data.dtype))
            self.listing.constants[number] = data  # kept, so that its id stays its own
            self.known[key] = (number,)
        return self.known[key][0]

    def add(self, node: Node) -> None:
        inputs = tuple(self.number(value) for value in node.inputs)
        key = (node.op.name, inputs, _frozen(node.attrs))
        outputs = self.known.get(key) or self._alias(node, inputs) or self._folded(node, inputs)
        if outputs is None:
            op, attrs = node.op, node.attrs
            if (summands := self._summands(node, inputs)) is not None and len(summands.inputs) > 1:
                op, attrs, inputs = OPS[summands.summed_by], summands.attrs, tuple(chain(*summands.inputs))
            else:
                inputs = self._joined(node, inputs) or inputs
            outputs = tuple(self.listing.new(spec) for spec in node.outputs)
            self.listing.instructions.append(Instruction(op, inputs, outputs, attrs, self.origin_of(node)))
            if summands is not None:
                self.summands[outputs[0]] = summands
            elif (slices := self._slices(node, inputs)) is not None:
                self.slices[outputs[0]] = slices
        self.known[key] = outputs
        for index, number in enumerate(outputs):
            self.numbers[(node, index)] = number

    def _joined(self, node: Node, inputs: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the inputs of a sum of slices that leave nothing out: their concatenation, and 0."""
        slices, (spec, *_) = self._slices(node, inputs), node.outputs
        if slices is None or len(slices.parts) == 1 or not slices.are_whole(spec.shape[slices.axis]):
            return None
        joined = self.listing.new(spec)
        parts = tuple(number for _, _, number in slices.parts)
        origin = self.origin_of(node)
        made = Instruction(OPS[slices.joined_by], parts, (joined,), {"axis": slices.axis}, origin)
        self.listing.instructions.append(made)
        return joined, self.constant(np.zeros((), spec.dtype))

    def _summands(self, node: Node, inputs: tuple[int, ...]) -> Summands | None:
        """Return the results that a node adds up, if one op can, or the only one; the sum is rounded as theirs are."""
        algebra, (spec, *_) = node.op.algebra, node.outputs
        if algebra.summed_by and computing_dtype(spec.dtype) == spec.dtype:
            return Summands(algebra.summed_by, node.attrs, (inputs,))
        if not algebra.addition or not all(self.listing.specs[number] == spec for number in inputs):
            return None
        left, right = (self.summands.get(number) for number in inputs)
        if left is None or right is None or left is right or _frozen(left.attrs) != _frozen(right.attrs):
            return None
        if len(left.inputs) == 1:
            left, right = right, left  # a sum of two does not depend on their order
        if left.summed_by != right.summed_by or len(right.inputs) > 1 or len(left.inputs) == MOST_SUMMANDS:
            return None
        return replace(left, inputs=(*left.inputs, *right.inputs))

    def _slices(self, node: Node, inputs: tuple[int, ...]) -> Slices | None:
        """Return the slices that a node puts among zeros, or adds up where they do not overlap; None if it does not."""
        specs = self.listing.specs
        algebra = node.op.algebra
        if algebra.joined_by and node.attrs["step"] == 1:
            axis, start = node.attrs["axis"] % len(node.outputs[0].shape), node.attrs["start"]
            return Slices(algebra.joined_by, axis, ((start, start + specs[inputs[0]].shape[axis], inputs[0]),))
        if not algebra.addition or not all(specs[number] == node.outputs[0] for number in inputs):
            return None
        left, right = (self.slices.get(number) for number in inputs)
        if left is None or right is None or left.axis != right.axis or left.joined_by != right.joined_by:
            return None
        if len(left.parts) + len(right.parts) > MOST_SLICES:
            return None
        parts = sorted((*left.parts, *right.parts))
        overlap = any(end > start for (_, end, _), (start, _, _) in pairwise(parts))
        return None if overlap else replace(left, parts=tuple(parts))

    def _alias(self, node: Node, inputs: tuple[int, ...]) -> tuple[int, ...] | None:
        if node.op.algebra.identity and self.listing.specs[inputs[0]] == node.outputs[0]:
            return inputs
        return None

    def _folded(self, node: Node, inputs: tuple[int, ...]) -> tuple[int, ...] | None:
        constants = self.listing.constants
        if node.op.random or not all(number in constants for number in inputs):
            return None
        if not self._spend(node, [constants[number].shape for number in inputs]):
            return None
        narrow = any(constants[number].dtype is BFLOAT16 for number in inputs) and not node.op.supports_bfloat16
        kernel = half_precision_kernel(node.op.body, node.outputs) if narrow else node.op.body
        try:
            with np.errstate(all="ignore"):
                made = kernel(*(constants[number] for number in inputs), **node.attrs)
        except (EngineError, *REFUSALS):
            return None  # the numbers do not suit the op: an error of the run, not of the plan
        results = [np.asarray(result) for result in (made if isinstance(made, tuple) else (made,))]
        if any(result.shape != spec.shape for result, spec in zip(results, node.outputs, strict=True)):
            return None
        return tuple(
            self.constant(np.array(result, dtype=spec.dtype))
            for result, spec in zip(results, node.outputs, strict=True)
        )

    def _spend(self, node: Node, read: list[Shape]) -> bool:
        """Return whether a node of constants is computed when the plan is made; count its operations if it is large."""
        made = [spec.shape for spec in node.outputs]
        elements_read, elements_made = (sum(map(math.prod, shapes)) for shapes in (read, made))
        if (elements_made if node.op.view else elements_read + elements_made) <= FOLD_ELEMENTS:
            return True
        operations = max(elements_read + elements_made, node.op.count_flops(node.attrs, read, made))
        repeats = node.op.view and elements_made > elements_read  # which takes no memory as a view
        if repeats or operations > self.operations_left:
            return False
        self.operations_left -= operations
        return True


def _no_origin(_node: Node) -> Origin:
    return NONE


def _frozen(attrs: Mapping[str, Any]) -> tuple[object, ...]:
    return tuple((name, type(value).__name__, repr(value)) for name, value in sorted(attrs.items()))


def drop_dead(listing: Listing) -> Listing:
    """Drop instructions whose results nothing reads; return the listing."""
    live = {*listing.outputs.values(), *listing.updates.values()}
    kept = []
    for instruction in reversed(listing.instructions):
        if live.intersection(instruction.outputs):
            live.update(instruction.inputs)
            kept.append(instruction)
    listing.instructions = kept[::-1]
    return listing
