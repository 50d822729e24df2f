"""Transforms of Winograd's minimal filters, of as many channels at a time as a register has lanes.

What they are by is in `engine.execution.native.inline.minimal_filters`: a form is the place of one in its list. A
transformed tile has a number in each of several planes, which are matrices of their own, by tile and channel. Gradients
are by the transposes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.blocks import VECTORS, block_rows, choose, with_products
from engine.execution.native.inline.minimal_filters import FORMS, Filter, Form, Matrix, transposed
from engine.execution.native.inline.vectors import WORD, Emitter, vector_bytes


def _combined(emit: Emitter, factors: Sequence[float], values: Sequence[Any]) -> Any:
    """Return the sum of values times factors: first of those of each size, which are multiplied at once."""
    builder, total = emit.builder, None
    for size in sorted({abs(factor) for factor in factors} - {0}, key=lambda size: (size != 1, size)):
        terms = [(factor, value) for factor, value in zip(factors, values, strict=True) if abs(factor) == size]
        (scale, part), *others = sorted(terms, key=lambda term: term[0] < 0)
        for factor, value in others:
            part = builder.fadd(part, value) if factor == scale else builder.fsub(part, value)
        if total is None:
            total = part if scale == 1 else builder.fmul(part, _repeated(emit, scale))
        else:
            total = emit.multiply_add(part, _repeated(emit, scale), total)
    return total


def _repeated(emit: Emitter, number: float) -> Any:
    return emit.repeated(ir.Constant(emit.number, number))


def _both_ways(emit: Emitter, matrices: tuple[Matrix, Matrix], values: Sequence[Any]) -> list[Any]:
    """Return L X R' of matrices L, R and X, which is given and returned row by row."""
    left, right = matrices
    extent = len(right[0])
    columns = [[_combined(emit, row, values[column::extent]) for column in range(extent)] for row in left]
    return [_combined(emit, row, taken) for taken in columns for row in right]


def _by_vectors(emit: Emitter, vectors: Any, one: Callable[[Any], None]) -> None:
    """Write a loop over contiguous registers, at least one: `one(bytes from the first)`."""

    def step(index: Any, _: list[Any]) -> list[Any]:
        one(emit.builder.mul(index, emit.word(vector_bytes())))
        return []

    emit.loop(vectors, [], step)


def _places(emit: Emitter, table: Any, count: int) -> list[Any]:
    return [emit.load(emit.at(table, (emit.word(8), k)), WORD) for k in range(count)]


def _by_form(builder: Any, form: Any, matrix: Callable[[Filter], Matrix], one: Callable[[Any], None]) -> None:
    """Write code for each form, given the matrices along its rows and columns; `form` chooses which runs."""

    def of_form(kind: tuple[int]) -> None:
        found: Form = FORMS[kind[0]]
        one((matrix(found.rows), matrix(found.columns)))

    choose(builder, form, [(number, (number,)) for number in range(len(FORMS))], of_form)


def to_planes(matrix: Callable[[Filter], Matrix]) -> Any:
    """Return the function of kernels that transforms registers at listed addresses, to planes."""

    @intrinsic
    def transform(typing_context: Any, form: Any, table: Any, target: Any, step: Any, vectors: Any, zero: Any) -> Any:
        """Load from the addresses in a table, transform, and store in the planes of a target, `step` bytes apart.

        At each address there are `vectors` registers.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form, table, target, step, vectors, _ = arguments
            emit = Emitter(builder, zero)

            def one(matrices: tuple[Matrix, Matrix]) -> None:
                count = len(matrices[0][0]) * len(matrices[1][0])

                def transform_register(shift: Any) -> None:
                    places = (builder.add(place, shift) for place in _places(emit, table, count))
                    values = [emit.load(place, emit.vector) for place in places]
                    for plane, value in enumerate(_both_ways(emit, matrices, values)):
                        emit.store(value, builder.add(emit.at(target, (step, plane)), shift))

                _by_vectors(emit, vectors, transform_register)

            _by_form(builder, form, matrix, one)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 5, zero), generate

    return transform


def from_planes(matrix: Callable[[Filter], Matrix]) -> Any:
    """Return the function of kernels that transforms planes to registers at listed addresses."""

    @intrinsic
    def transform(
        typing_context: Any, form: Any, table: Any, behind: Any, source: Any, step: Any, vectors: Any, zero: Any
    ) -> Any:
        """Transform planes, `step` bytes apart, and store at the addresses in a table, each moved by `behind` bytes.

        Of each plane there are `vectors` registers.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            form, table, behind, source, step, vectors, _ = arguments
            emit = Emitter(builder, zero)

            def one(matrices: tuple[Matrix, Matrix]) -> None:
                count = len(matrices[0][0]) * len(matrices[1][0])

                def transform_register(shift: Any) -> None:
                    planes = (builder.add(emit.at(source, (step, plane)), shift) for plane in range(count))
                    values = _both_ways(emit, matrices, [emit.load(place, emit.vector) for place in planes])
                    written = builder.add(behind, shift)
                    for value, place in zip(values, _places(emit, table, len(values)), strict=True):
                        emit.store(value, builder.add(place, written))

                _by_vectors(emit, vectors, transform_register)

            _by_form(builder, form, matrix, one)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6, zero), generate

    return transform


image_to_planes = to_planes(lambda used: used.image)
weight_to_planes = to_planes(lambda used: used.weight)
cotangent_to_planes = to_planes(lambda used: transposed(used.result))
result_from_planes = from_planes(lambda used: used.result)
weight_from_planes = from_planes(lambda used: transposed(used.weight))


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
