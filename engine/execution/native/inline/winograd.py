"""Transforms of Winograd's minimal filters F(2 x 2, 3 x 3), of as many channels at a time as a register has lanes.

With the matrices below a result of 2 x 2 positions is A' ((G w G') o (B' x B)) A, where o multiplies number by number:
16 multiplications instead of 36 (Winograd 1980; Lavin and Gray 2016, section 4.1). Its gradients are by the transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.blocks import VECTORS, block_rows, choose, with_products
from engine.execution.native.inline.vectors import WORD, Emitter, vector_bytes

Matrix = tuple[tuple[float, ...], ...]
IMAGE: Matrix = ((1, 0, -1, 0), (0, 1, 1, 0), (0, -1, 1, 0), (0, -1, 0, 1))
"""B', by which 4 x 4 places of an image are transformed."""
WEIGHT: Matrix = ((1, 0, 0), (0.5, 0.5, 0.5), (0.5, -0.5, 0.5), (0, 0, 1))
"""G."""
RESULT: Matrix = ((1, 1, 1, 0), (0, 1, -1, 1))
"""A', whose transpose transforms a cotangent."""
PLANES = 16
"""Numbers of a transformed tile: those of each are a matrix of their own, by tile and channel."""


def transposed(matrix: Matrix) -> Matrix:
    """Return the transpose of a matrix."""
    return tuple(zip(*matrix, strict=True))


def _combined(emit: Emitter, factors: Sequence[float], values: Sequence[Any]) -> Any:
    """Return the sum of values times factors: first of those of each size, beginning with one that is added."""
    builder, total = emit.builder, None
    for size in sorted({abs(factor) for factor in factors} - {0}):
        terms = [(factor, value) for factor, value in zip(factors, values, strict=True) if abs(factor) == size]
        (_, part), *others = sorted(terms, key=lambda term: term[0] < 0)
        for factor, value in others:
            part = builder.fadd(part, value) if factor > 0 else builder.fsub(part, value)
        part = part if size == 1 else builder.fmul(part, emit.repeated(ir.Constant(emit.number, size)))
        total = part if total is None else builder.fadd(total, part)
    return total


def _both_ways(emit: Emitter, matrix: Matrix, values: Sequence[Any]) -> list[Any]:
    """Return L X L' of a matrix L and a square X, row by row."""
    extent = len(matrix[0])
    columns = [[_combined(emit, row, values[column::extent]) for column in range(extent)] for row in matrix]
    return [_combined(emit, row, taken) for taken in columns for row in matrix]


def _by_vectors(emit: Emitter, vectors: Any, one: Callable[[Any], None]) -> None:
    """Write a loop over contiguous registers, at least one: `one(bytes from the first)`."""

    def step(index: Any, _: list[Any]) -> list[Any]:
        one(emit.builder.mul(index, emit.word(vector_bytes())))
        return []

    emit.loop(vectors, [], step)


def _places(emit: Emitter, table: Any, count: int) -> list[Any]:
    return [emit.load(emit.at(table, (emit.word(8), k)), WORD) for k in range(count)]


def to_planes(matrix: Matrix) -> Any:
    """Return the function of kernels that transforms registers at listed addresses, to planes."""
    extent = len(matrix[0])

    @intrinsic
    def transform(typing_context: Any, table: Any, target: Any, step: Any, vectors: Any, zero: Any) -> Any:
        """Load from the addresses in a table, transform, and store in the planes of a target, `step` bytes apart.

        At each address there are `vectors` registers.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table, target, step, vectors, _ = arguments
            emit = Emitter(builder, zero)

            def one(shift: Any) -> None:
                places = (builder.add(place, shift) for place in _places(emit, table, extent**2))
                values = [emit.load(place, emit.vector) for place in places]
                for plane, value in enumerate(_both_ways(emit, matrix, values)):
                    emit.store(value, builder.add(emit.at(target, (step, plane)), shift))

            _by_vectors(emit, vectors, one)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 4, zero), generate

    return transform


def from_planes(matrix: Matrix) -> Any:
    """Return the function of kernels that transforms planes to registers at listed addresses."""

    @intrinsic
    def transform(typing_context: Any, table: Any, behind: Any, source: Any, step: Any, vectors: Any, zero: Any) -> Any:
        """Transform planes, `step` bytes apart, and store at the addresses in a table, each moved by `behind` bytes.

        Of each plane there are `vectors` registers.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            table, behind, source, step, vectors, _ = arguments
            emit = Emitter(builder, zero)

            def one(shift: Any) -> None:
                planes = (builder.add(emit.at(source, (step, plane)), shift) for plane in range(PLANES))
                values = _both_ways(emit, matrix, [emit.load(place, emit.vector) for place in planes])
                written = builder.add(behind, shift)
                for value, place in zip(values, _places(emit, table, len(values)), strict=True):
                    emit.store(value, builder.add(place, written))

            _by_vectors(emit, vectors, one)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5, zero), generate

    return transform


image_to_planes = to_planes(IMAGE)
weight_to_planes = to_planes(WEIGHT)
cotangent_to_planes = to_planes(transposed(RESULT))
result_from_planes = from_planes(RESULT)
weight_from_planes = from_planes(transposed(WEIGHT))


@intrinsic
def outer_tile(
    typing_context: Any,
    vectors: Any,
    left: Any,
    left_step: Any,
    right: Any,
    right_step: Any,
    depth: Any,
    target: Any,
    step: Any,
    resume: Any,
    zero: Any,
) -> Any:
    """target[r, c] = sum over k < depth of left[k, r] right[k, c], added to what is there if `resume`.

    There are as many rows as the first of `block_rows()` says, and `vectors` registers of columns, 1 to 3. Steps are in
    bytes from row to row. `depth` is at least 1.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        choice, *rest = arguments

        def one(kind: tuple[int, int]) -> None:
            _outer(Emitter(builder, zero), *kind, *rest[:-1])

        choose(builder, choice, [(vectors, (block_rows()[0], vectors)) for vectors in range(1, VECTORS + 1)], one)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9, zero), generate


def _outer(
    emit: Emitter,
    rows: int,
    vectors: int,
    left: Any,
    left_step: Any,
    right: Any,
    right_step: Any,
    depth: Any,
    target: Any,
    step: Any,
    resume: Any,
) -> None:
    builder = emit.builder
    places = [
        emit.at(target, (step, row), (emit.word(vector_bytes()), vector))
        for row in range(rows)
        for vector in range(vectors)
    ]
    for place in places:
        emit.prefetch(place)

    def add(index: Any, sums: list[Any]) -> list[Any]:
        place = builder.add(right, builder.mul(index, right_step))
        factors = builder.add(left, builder.mul(index, left_step))
        numbers = [emit.load(emit.at(place, (emit.word(vector_bytes()), v)), emit.vector) for v in range(vectors)]
        read = [emit.at(factors, (emit.word(emit.size), row)) for row in range(rows)]
        return with_products(emit, read, numbers, sums)

    sums = emit.loop(depth, [emit.zeros() for _ in places], add)
    again = builder.icmp_signed("!=", resume, emit.word(0))
    with builder.if_else(again) as (then, otherwise):
        with then:
            for value, place in zip(sums, places, strict=True):
                emit.store(builder.fadd(value, emit.load(place, emit.vector)), place)
        with otherwise:
            for value, place in zip(sums, places, strict=True):
                emit.store(value, place)
