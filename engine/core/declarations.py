"""What an op declares beside its rules, in groups: call forms, numerics, memory, algebra, documentation and sharding.

Declarations are data and functions; nothing is computed when an op is declared.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.core.dtypes import computing_dtype
from engine.core.value import Shape, Spec

Promotion = Literal["common", "float", "none"]
Autocast = Literal["half", "float32", "widest", "unchanged"]
View = Literal["", "strided", "reshape"]
Flops = Callable[[Mapping[str, Any], Sequence[Shape], Sequence[Shape]], int]
"""Arithmetic operations of one application, from attributes, input shapes and output shapes."""
Scratch = Callable[[Mapping[str, Any], Sequence[Spec], Sequence[Spec]], int]
"""Bytes that the NumPy kernel allocates beside its outputs, from attributes, inputs and outputs."""
Fans = Callable[[Mapping[str, Any], int, Shape], tuple[int, int] | None]
"""Fan-in and fan-out of a parameter, from attributes, number of the input and its shape; None if it is no weight."""


@dataclass(frozen=True, slots=True)
class CallForms:
    """How PyTorch's form of a call differs from inputs and then attributes by place.

    Attributes:
        orders: orders that put attributes before inputs, or depend on the number of arguments.
        by_place: the attributes that may be given by place, where that is not every one in the order of declaration:
            PyTorch takes the others in another order, by name only, or means something else. A wrong guess must not go
            unnoticed.
        with_index: the op that returns values and indices, which PyTorch's form returns when `dim` is given. Such a
            call by place is refused: it gives the values alone in NumPy, and a pair in PyTorch.
    """

    orders: tuple[tuple[str, ...], ...] = ()
    by_place: tuple[str, ...] | None = None
    with_index: str = ""


@dataclass(frozen=True, slots=True)
class Numerics:
    """In which types an op computes.

    Attributes:
        promotion: bring the inputs to their common dtype ("common"), to a floating one ("float"), or not ("none").
        promote_from: index of the first input that takes part in promotion.
        autocast: in which type mixed precision gives the op its floating inputs: the half type ("half") for products of
            matrices; "float32" for what needs its digits or its range, as sums, statistics, powers, exponentials,
            losses and equations; the widest type among them ("widest"); or the type each one has ("unchanged").
        compute_float32: a composition that gets nothing but a half type computes in float32 and rounds its results
            once. A kernel gets large float16 inputs as float32, where that gives the same numbers in less time.
        supports_bfloat16: the kernel takes bfloat16 as it is; others get it as float32, and their results are rounded.
        reads_bfloat16: plans give the op operands of bfloat16 instead of their casts to float32, which its kernel works
            on all the same.
        writes_bfloat16: of such operands its kernel rounds the result itself, where a cast is all that reads it.
        handles_missing: the op detects, fills in or skips missing values (NaN).
    """

    promotion: Promotion = "none"
    promote_from: int = 0
    autocast: Autocast = "widest"
    compute_float32: bool = False
    supports_bfloat16: bool = False
    reads_bfloat16: bool = False
    writes_bfloat16: bool = False
    handles_missing: bool = False


AUTOCAST_HALF = Numerics(autocast="half")
AUTOCAST_FLOAT32 = Numerics(autocast="float32")
COMPUTE_FLOAT32 = Numerics(compute_float32=True)
PROMOTE_COMMON = Numerics(promotion="common")
PROMOTE_FLOAT = Numerics(promotion="float")
PRECISE_FUNCTION = Numerics(promotion="float", autocast="float32")
"""For functions of one number that need the digits or the range of float32."""
PRECISE_COMPOSITION = Numerics(compute_float32=True, autocast="float32")
PRODUCT_COMPOSITION = Numerics(compute_float32=True, autocast="half")
"""For compositions whose cost is in products of matrices."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Which memory an op reads, writes and needs.

    Attributes:
        view: the kernel returns a view of its first input: any window on it ("strided"), or its elements in row-major
            order in another shape ("reshape"), for which some layouts need a copy.
        inplace: which output the kernel can write over which input. Elementwise kernels can without declaring it.
        state_updates: which output holds the new value of which input, for running statistics.
        packs: the op lays its inputs out at the places `offsets` of one vector; plans compute them there.
        scratch: bytes of what the kernel allocates beside its outputs; only what grows with the operands counts.
        moments: inputs that hold the moments of an optimizer, which a reset sets to 0.
        keeps_workspace: the kernel allocates in the thread's workspace, which keeps its memory from call to call.
    """

    view: View = ""
    inplace: Mapping[int, int] = field(default_factory=dict)
    state_updates: Mapping[int, int] = field(default_factory=dict)
    packs: bool = False
    scratch: Scratch | None = None
    moments: tuple[int, ...] = ()
    keeps_workspace: bool = False


@dataclass(frozen=True, slots=True)
class Algebra:
    """What rewrites and the planner may conclude.

    Attributes:
        elementwise: an output element depends on the input elements at the same place only. None leaves it to the
            shape rule: those that broadcast, or give the shape of the first input, are rules of elementwise ops.
        additive: the sum of results is the result of the sums, so that shards pass summands through.
        affine: the result is an affine function of each input: a parameter behind it is still the weight of a product.
        identity: the op returns its first input when neither shape nor dtype changes.
        keeps_elements: the elements of the first input in their order, in another shape or dtype.
        piecewise_constant: the derivative is 0 wherever there is one.
        conversion: the result is the first input in another dtype.
        barrier: the result is the first input, ordered after the second; passes must not merge or move across it.
        addition: the result is the sum of both inputs.
        difference: the result is the first input minus the second.
        total: the result is a sum of elements of the first input.
        joined_by: of an op that puts its input among zeros along the attribute `axis`, at `start` and by `step`, the
            name of that which makes of several inputs, given the axis, what their results add up to if no zero remains.
        summed_by: the name of the op that gives the sum of several results, in their order: it takes the inputs of one
            after those of another, and the attributes that all have.
    """

    elementwise: bool | None = None
    additive: bool = False
    affine: bool = False
    identity: bool = False
    keeps_elements: bool = False
    piecewise_constant: bool = False
    conversion: bool = False
    barrier: bool = False
    addition: bool = False
    difference: bool = False
    total: bool = False
    joined_by: str = ""
    summed_by: str = ""


@dataclass(frozen=True, slots=True)
class Documentation:
    """What the catalogue says about an op beside its docstring.

    Attributes:
        outputs: names of several outputs.
        no_gradient: why floating results that are neither drawn nor constant carry no gradient.
        gradient_notes: by attribute, why it makes the gradient something else than the slope.
    """

    outputs: Sequence[str] = ()
    no_gradient: str = ""
    gradient_notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sharding:
    """How an op applies to parts of its inputs (see engine.core.sharding_rules for cases, cuts and strategies).

    Attributes:
        split: the rule for inputs some of which are split or partial.
        split_whole: the rule for large inputs all of which are whole; None leaves them to one shard.
        of_images: whether shards of channels do work again that those of images share, such as copying patches.
    """

    split: Callable[[Any], Any]
    split_whole: Callable[[Any], Any] | None = None
    of_images: bool = False


def nbytes(spec: Spec) -> int:
    """Return the bytes of a row-major array."""
    return math.prod(spec.shape) * spec.dtype.itemsize


def computing_itemsize(spec: Spec) -> int:
    """Return the bytes of an element in the type that is computed in."""
    return computing_dtype(spec.dtype).itemsize


def converted_bytes(inputs: Sequence[Spec]) -> int:
    """Return the bytes of the float32 copies of half-precision inputs."""
    return sum(
        math.prod(spec.shape) * computing_itemsize(spec) for spec in inputs if computing_dtype(spec.dtype) != spec.dtype
    )
