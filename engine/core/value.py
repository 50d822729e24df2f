"""Value and Node: the elements of both the dynamic tape and the static graph."""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from engine.core.dtypes import DEFAULT_FLOAT, FLOAT_KINDS, DType, dtype_of, is_float
from engine.core.errors import DTypeError, GradientError, ShapeError

if TYPE_CHECKING:
    from engine.core.registry import Op

Array = npt.NDArray[Any]
Shape = tuple[int, ...]


class Spec(NamedTuple):
    """Shape and element type of a value that may have no data."""

    shape: Shape
    dtype: DType


class Counter:
    """Number of in-place writes to the memory of a value; shared by all values on that memory.

    Attributes:
        version: the number of writes.
        viewed: whether a view shares the memory, so that a write changes more than one value.
        past: what values were that have taken another history: their id, the version it began with, a handle as before.
        unrecorded: by id, the views of a value that requires a gradient which were made while nothing was recorded.
    """

    __slots__ = ("past", "unrecorded", "version", "viewed")

    def __init__(self) -> None:
        self.version = 0
        self.viewed = False
        self.past: list[tuple[int, int, Value]] | None = None
        self.unrecorded: dict[int, weakref.ref[Value]] | None = None

    def is_unrecorded_view(self, value: Value) -> bool:
        """Return whether `value` is a view that was made unrecorded of a value that requires a gradient."""
        reference = None if self.unrecorded is None else self.unrecorded.get(id(value))
        return reference is not None and reference() is value

    def mark_unrecorded_view(self, value: Value) -> None:
        """Remember `value` as a view that was made unrecorded of a value that requires a gradient."""
        if self.unrecorded is None:
            self.unrecorded = {}
        self.unrecorded = {key: view for key, view in self.unrecorded.items() if view() is not None}
        self.unrecorded[id(value)] = weakref.ref(value)


class Node:
    """One application of an op: its inputs and attributes, numbered in order of creation.

    A node of the tape keeps its result arrays, for backward rules that read an output.

    Attributes:
        versions: the version of each input when the node was made, or None when all were 0.
        counters: by output, its counter and the version that the node's rule expects.
        hooks: by output, functions that see (and may replace) its cotangent.
        origin: where it was recorded, when anomalies are to be explained.
        freed: whether a backward pass has dropped the arrays.
        tape: the number of the `tape()` it was recorded in, 0 outside of any; no path of gradients leads to another.
        signature: what is known of such calls of the op; None if nothing is.
    """

    __slots__ = (
        "attrs", "counters", "freed", "hooks", "inputs", "needs_grad", "op", "origin", "outputs", "results", "seq",
        "signature", "tape", "versions",
    )  # fmt: skip
    numbers = itertools.count()

    def __init__(
        self,
        op: Op[Any],
        inputs: tuple[Value, ...],
        attrs: Mapping[str, Any],
        outputs: tuple[Spec, ...],
        results: tuple[Array, ...] | None,
        needs_grad: bool,
    ) -> None:
        self.needs_grad = needs_grad
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.outputs = outputs
        self.results = results
        self.versions: tuple[int, ...] | None = None
        self.counters: dict[int, tuple[Counter, int]] | None = None
        self.hooks: dict[int, Hooks] | None = None
        self.origin: str | None = None
        self.freed = False
        self.tape = 0
        self.signature: Signature | None = None
        self.seq = next(Node.numbers)

    def output(self, index: int) -> Value:
        """Return a handle on output `index`; handles of one output are the same value."""
        shape, dtype = self.outputs[index]
        data = None if self.results is None else self.results[index]
        return Value(shape, dtype, data, self, index, self.needs_grad and is_float(dtype))

    def release(self) -> None:
        """Drop the arrays after a backward pass that does not keep the tape; the links between nodes stay."""
        self.freed = True
        self.results = None
        self.inputs = tuple(
            [
                v if v.node is None and v.tracked else Value(v.shape, v.dtype, None, v.node, v.index, v.tracked)
                for v in self.inputs
            ]
        )


class Signature:
    """One kind of call of an op.

    Attributes:
        op: the op that is called.
        inputs: shape and dtype of each input, after promotion.
        attrs: the attributes, complete.
        kernel: the op's kernel with these attributes.
        outputs: shape and dtype of the only output.
        rules: backward rules on arrays by the positions of the inputs they serve; None where there is no such rule.
    """

    __slots__ = ("attrs", "carries_gradient", "dtype", "inputs", "kernel", "op", "outputs", "rules", "shape")

    def __init__(self, op: Op[Any], inputs: tuple[Spec, ...], attrs: Mapping[str, Any], output: Spec) -> None:
        self.op = op
        self.inputs = inputs
        self.attrs = attrs
        self.kernel: Callable[..., Any] = functools.partial(op.body, **attrs) if attrs else op.body
        self.outputs = (output,)
        self.shape: Shape = output.shape
        self.dtype: DType = output.dtype
        self.carries_gradient = output.dtype.kind in FLOAT_KINDS
        self.rules: dict[tuple[int, ...], Any] = {}


class Value:
    """An array in a computation: shape and dtype always, data when it has been computed.

    `node` and `index` say which output of which op application it is; a leaf has no node.
    """

    __slots__ = (
        "__weakref__", "_grad", "after", "counter", "data", "dtype", "hooks", "index", "inference", "name", "node",
        "shape", "tracked", "weak",
    )  # fmt: skip
    __hash__ = object.__hash__

    def __init__(
        self,
        shape: Shape,
        dtype: DType,
        data: Array | None,
        node: Node | None = None,
        index: int = 0,
        requires_grad: bool = False,
        *,
        name: str | None = None,
        weak: bool = False,
    ) -> None:
        self.shape = shape
        self.dtype = dtype
        self.data = data
        self.node = node
        self.index = index
        self.tracked = requires_grad
        self._grad: Value | None = None
        self.name = name
        self.weak = weak
        self.counter: Counter | None = None
        self.hooks: Hooks | None = None
        self.after: dict[object, Callable[[Value], object]] | None = None
        self.inference = False

    @property
    def requires_grad(self) -> bool:
        """Whether a gradient is computed for it; assigning is checked as `requires_grad_` checks."""
        return self.tracked

    @requires_grad.setter
    def requires_grad(self, flag: bool) -> None:
        self.requires_grad_(flag)

    @property
    def device(self) -> str:
        """The device that holds the data: "cpu", the only one."""
        return "cpu"

    @property
    def grad_fn(self) -> Node | None:
        """The node that made it, if gradients flow through that; None for leaves and constants."""
        return self.node if self.tracked else None

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return self.size * self.dtype.itemsize

    @property
    def key(self) -> object:
        """What two handles on the same value share (valid while one of them lives)."""
        return id(self) if self.node is None else (self.node, self.index)

    @property
    def spec(self) -> Spec:
        """Shape and dtype."""
        return Spec(self.shape, self.dtype)

    @property
    def grad(self) -> Value | None:
        """The gradient that backward passes have added up; None before the first. What is assigned must fit."""
        return self._grad

    @grad.setter
    def grad(self, gradient: Operand | None) -> None:
        if gradient is None:
            self._grad = None
            return
        value = as_value(gradient)
        if value is self:
            raise GradientError("a value cannot be its own gradient")
        if value.weak:
            value = Value((), self.dtype, value.numpy().astype(self.dtype))
        if value.shape != self.shape or value.dtype != self.dtype:
            raise (ShapeError if value.shape != self.shape else DTypeError)(
                f"a gradient of {value.dtype.name}{list(value.shape)} does not fit a value of "
                f"{self.dtype.name}{list(self.shape)}: shape and dtype must be equal"
            )
        self._grad = value

    def numpy(self) -> Array:
        """Return the data as a NumPy array (not a copy); an error when the value has not been computed."""
        if self.data is None:
            raise GradientError(
                f"value {self.name or '?'} of shape {list(self.shape)} belongs to a graph and has no data"
            )
        return self.data

    def item(self) -> float:
        """Return the only element as a Python number."""
        if self.size != 1:
            raise ShapeError(f"item() needs exactly one element; the value has shape {list(self.shape)}")
        return self.numpy().item()  # type: ignore[no-any-return]

    @property
    def is_leaf(self) -> bool:
        """Whether no op made it, or none that matters for gradients."""
        return self.node is None or not self.node.needs_grad

    @property
    def version(self) -> int:
        """How often its memory was written in place."""
        return 0 if self.counter is None else self.counter.version

    def shared_counter(self) -> Counter:
        """Return the counter of its memory, to be shared with another value on the same memory.

        Every handle on a node's result uses the counter of the node: a second counter would hide writes from
        the node's rule. A copy of the result with the same history has a counter of its own, unknown to the node.
        """
        if self.counter is None:
            node = self.node
            if node is None or node.results is None or node.results[self.index] is not self.data:
                self.counter = Counter()
            else:
                known = (node.counters or {}).get(self.index)
                self.counter = Counter() if known is None else known[0]
                if known is None:
                    node.counters = {**(node.counters or {}), self.index: (self.counter, 0)}
        return self.counter

    def detach(self) -> Value:
        """Return the same data without history: writing to it in place writes to this value too."""
        if self.data is None:
            return self.stop_gradient()  # type: ignore[no-any-return]
        detached = Value(self.shape, self.dtype, self.data, name=self.name)
        detached.counter = self.shared_counter()
        detached.inference = self.inference
        return detached

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("a value with no axes has no length")
        return self.shape[0]

    def __bool__(self) -> bool:
        return bool(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __repr__(self) -> str:
        origin = f", op={self.node.op.name}" if self.node is not None else ""
        body = "" if self.data is None else f"{np.array2string(self.data, threshold=20, precision=4)}, "
        return f"Value({body}shape={list(self.shape)}, dtype={self.dtype.name}{origin})"

    if TYPE_CHECKING:  # bound from the op table by engine.ops.methods.operators and engine.autograd.backward

        def __add__(self, other: Operand) -> Value: ...
        def __radd__(self, other: Operand) -> Value: ...
        def __sub__(self, other: Operand) -> Value: ...
        def __rsub__(self, other: Operand) -> Value: ...
        def __mul__(self, other: Operand) -> Value: ...
        def __rmul__(self, other: Operand) -> Value: ...
        def __truediv__(self, other: Operand) -> Value: ...
        def __rtruediv__(self, other: Operand) -> Value: ...
        def __pow__(self, other: Operand) -> Value: ...
        def __rpow__(self, other: Operand) -> Value: ...
        def __matmul__(self, other: Operand) -> Value: ...
        def __rmatmul__(self, other: Operand) -> Value: ...
        def __neg__(self) -> Value: ...
        def __invert__(self) -> Value: ...
        def __abs__(self) -> Value: ...
        def __pos__(self) -> Value: ...
        def __int__(self) -> int: ...
        def __floordiv__(self, other: Operand) -> Value: ...
        def __rfloordiv__(self, other: Operand) -> Value: ...
        def __mod__(self, other: Operand) -> Value: ...
        def __rmod__(self, other: Operand) -> Value: ...
        def __iter__(self) -> Iterator[Value]: ...
        def __contains__(self, element: object) -> bool: ...
        def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array: ...
        def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any: ...
        def __and__(self, other: Operand) -> Value: ...
        def __or__(self, other: Operand) -> Value: ...
        def __lt__(self, other: Any) -> Value: ...
        def __le__(self, other: Any) -> Value: ...
        def __gt__(self, other: Any) -> Value: ...
        def __ge__(self, other: Any) -> Value: ...
        def __eq__(self, other: object) -> Value: ...  # type: ignore[override]
        def __ne__(self, other: object) -> Value: ...  # type: ignore[override]
        def __getitem__(self, index: Any) -> Value: ...
        def __setitem__(self, index: Any, source: Operand) -> None: ...
        def backward(
            self,
            gradient: Operand | None = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            inputs: Value | Sequence[Value] | None = None,
            *,
            implicit_seed: Literal["scalar", "ones"] = "scalar",
        ) -> None: ...
        def __getattr__(self, name: str) -> Any: ...


Hook = Callable[[Value], Value | None]
Hooks = dict[object, Hook]
"""Hooks by a key that removes them, in the order in which they run."""
RETAINED = "retain_grad"
"""The key of the hook that keeps a cotangent in `.grad`; it runs last, whenever it was set."""
Cotangents = tuple[Value | None, ...]
"""The cotangents of the outputs of an op; None where an output has none."""

Operand = Value | Array | float | int | bool | list[Any]


def as_value(operand: Operand) -> Value:
    """Return `operand` as a Value: arrays keep their dtype, Python numbers are weak in promotion."""
    if isinstance(operand, Value):
        return operand
    if isinstance(operand, (bool, int, float)):
        exact = np.asarray(operand)  # the number itself, in float64 or int64, until promotion has chosen a type
        return Value((), DEFAULT_FLOAT if isinstance(operand, float) else exact.dtype, exact, weak=True)
    return tensor(operand)


def tensor(data: Any, *, dtype: object = None, requires_grad: bool = False, name: str | None = None) -> Value:
    """Create a leaf from an array, a number or nested lists.

    Floats of Python become float32, as in PyTorch; arrays keep their type unless `dtype` says otherwise.
    Only floating leaves may require a gradient.
    """
    if isinstance(data, Value):
        data = data.numpy()
    try:
        array = np.array(data, order="C")
    except ValueError as error:
        raise ShapeError("the nested lists are ragged: every list of one level needs the same length") from error
    if dtype is None:
        dtype = (
            DEFAULT_FLOAT
            if array.dtype == np.float64 and not isinstance(data, np.ndarray | np.generic)
            else array.dtype
        )
    chosen = dtype_of(dtype)
    if requires_grad and not is_float(chosen):
        raise DTypeError(f"only floating values can require gradients; this one is {chosen.name}")
    array = array.astype(chosen, copy=False)
    return Value(array.shape, chosen, array, requires_grad=requires_grad, name=name)
