"""Blocks of matrix products in registers, whose one operand lies anywhere in memory: a table holds the addresses.

They are what a convolution is made of: rows of the table are the places in an image that a kernel element meets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeVar

from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.vectors import WORD, Emitter, registers, vector_bytes

Kind = TypeVar("Kind", bound=tuple[int, ...])

VECTORS = 3
"""Maximum number of vectors in a row of a block of products."""


def block_rows() -> tuple[int, ...]:
    """Return how many rows a block of products may have, the most first."""
    return (8, 4, 2, 1) if registers() == 32 else (4, 2, 1)


def block_outputs() -> tuple[int, ...]:
    """Return how many outputs a block of a gradient may have, the most first."""
    return (4, 1) if registers() == 32 else (2, 1)


def block_taps() -> tuple[int, ...]:
    """Return how many rows of the table a block of a gradient may take, the most first."""
    return (6, 3, 1) if registers() == 32 else (4, 3, 1)


@intrinsic
def product_block(
    typing_context: Any,
    rows: Any,
    vectors: Any,
    weights: Any,
    table: Any,
    depth: Any,
    source: Any,
    target: Any,
    step: Any,
    resume: Any,
    zero: Any,
) -> Any:
    """target[r, p] = sum over k < depth of weights[k, r] source[table[k] + p], added to what is there if `resume`.

    `rows` is one of `block_rows()`, p runs over `vectors` of 1 to 3 registers. Table entries and `step`, from row to
    row of the target, are in bytes.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, vectors, *rest = arguments
        kinds = list(product(block_rows(), range(1, VECTORS + 1)))
        choice = builder.add(builder.mul(rows, Emitter(builder, zero).word(VECTORS + 1)), vectors)

        def one(kind: tuple[int, int]) -> None:
            _product(Emitter(builder, zero), kind[0], kind[1], *rest[:-1])

        choose(builder, choice, [(kind[0] * (VECTORS + 1) + kind[1], kind) for kind in kinds], one)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 9, zero), generate


def _product(
    emit: Emitter,
    rows: int,
    vectors: int,
    weights: Any,
    table: Any,
    depth: Any,
    source: Any,
    target: Any,
    step: Any,
    resume: Any,
) -> None:
    builder = emit.builder
    places = [
        emit.at(target, (step, row), (emit.word(vector_bytes()), vector))
        for row, vector in product(range(rows), range(vectors))
    ]
    fresh, again = builder.block, builder.append_basic_block("resume")
    start = builder.append_basic_block("start")
    builder.cbranch(builder.icmp_signed("!=", resume, emit.word(0)), again, start)
    builder.position_at_end(again)
    held = [emit.load(place, emit.vector) for place in places]
    builder.branch(start)
    builder.position_at_end(start)
    starts = []
    for value in held:
        phi = builder.phi(emit.vector)
        phi.add_incoming(emit.zeros(), fresh)
        phi.add_incoming(value, again)
        starts.append(phi)

    def add(index: Any, sums: list[Any]) -> list[Any]:
        place = builder.add(source, emit.load(emit.at(table, (index, 8)), WORD))
        row = emit.at(weights, (index, rows * emit.size))
        numbers = [emit.load(emit.at(place, (emit.word(vector_bytes()), v)), emit.vector) for v in range(vectors)]
        return with_products(emit, [emit.at(row, (emit.word(emit.size), r)) for r in range(rows)], numbers, sums)

    for value, place in zip(emit.loop(depth, starts, add), places, strict=True):
        emit.store(value, place)


def with_products(emit: Emitter, places: Sequence[Any], numbers: Sequence[Any], sums: Sequence[Any]) -> list[Any]:
    """Return the sums of a row of registers for each place, with the products of the number there and `numbers`.

    One factor is loaded at a time: 16 registers hold no more beside the sums.
    """
    result = []
    for row, place in enumerate(places):
        factor = emit.repeated(emit.load(place, emit.number))
        held = sums[row * len(numbers) : (row + 1) * len(numbers)]
        result += [emit.multiply_add(factor, number, s) for number, s in zip(numbers, held, strict=True)]
    return result


@intrinsic
def gradient_block(
    typing_context: Any,
    outputs: Any,
    taps: Any,
    cotangent: Any,
    output_step: Any,
    cotangent_step: Any,
    table: Any,
    source: Any,
    source_step: Any,
    images: Any,
    vectors: Any,
    target: Any,
    target_step: Any,
    resume: Any,
    zero: Any,
) -> Any:
    """target[o, k] = sum over images and p of cotangent[o, image, p] source[table[k] + image, p].

    p runs over whole `vectors`. `outputs` is one of `block_outputs()`, `taps` one of `block_taps()`. Steps are in
    bytes: from output to output and image to image of the cotangent, image to image of the source, output to output of
    the target, which is added to if `resume`.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        outputs, taps, *rest = arguments
        kinds = list(product(block_outputs(), block_taps()))
        choice = builder.add(builder.mul(outputs, Emitter(builder, zero).word(100)), taps)

        def one(kind: tuple[int, int]) -> None:
            _gradient(Emitter(builder, zero), kind[0], kind[1], *rest[:-1])

        choose(builder, choice, [(kind[0] * 100 + kind[1], kind) for kind in kinds], one)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 13, zero), generate


def _gradient(
    emit: Emitter,
    outputs: int,
    taps: int,
    cotangent: Any,
    output_step: Any,
    cotangent_step: Any,
    table: Any,
    source: Any,
    source_step: Any,
    images: Any,
    vectors: Any,
    target: Any,
    target_step: Any,
    resume: Any,
) -> None:
    builder = emit.builder
    offsets = [emit.load(emit.at(table, (emit.word(8), tap)), WORD) for tap in range(taps)]
    sources = [builder.add(source, offset) for offset in offsets]
    cotangents = [emit.at(cotangent, (output_step, output)) for output in range(outputs)]

    def image(index: Any, sums: list[Any]) -> list[Any]:
        xs = [builder.add(place, builder.mul(index, source_step)) for place in sources]
        gs = [builder.add(place, builder.mul(index, cotangent_step)) for place in cotangents]

        def add(vector: Any, sums: list[Any]) -> list[Any]:
            shift = builder.mul(vector, emit.word(vector_bytes()))
            left = [emit.load(builder.add(g, shift), emit.vector) for g in gs]
            right = [emit.load(builder.add(x, shift), emit.vector) for x in xs]
            return [emit.multiply_add(g, x, s) for (g, x), s in zip(product(left, right), sums, strict=True)]

        return emit.loop(vectors, sums, add)

    sums = emit.loop(images, [emit.zeros()] * (outputs * taps), image)
    totals = [emit.total(value) for value in sums]
    places = [
        emit.at(target, (target_step, output), (emit.word(emit.size), tap))
        for output, tap in product(range(outputs), range(taps))
    ]
    again = builder.icmp_signed("!=", resume, emit.word(0))
    with builder.if_else(again) as (then, otherwise):
        with then:
            for value, place in zip(totals, places, strict=True):
                emit.store(builder.fadd(value, emit.load(place, emit.number)), place)
        with otherwise:
            for value, place in zip(totals, places, strict=True):
                emit.store(value, place)


def choose(builder: Any, choice: Any, kinds: Sequence[tuple[int, Kind]], one: Callable[[Kind], None]) -> None:
    """Write the code of each kind, and run that which the word `choice` names."""
    after = builder.append_basic_block("chosen")
    switch = builder.switch(choice, after)
    for number, kind in kinds:
        block = builder.append_basic_block("kind")
        switch.add_case(number, block)
        builder.position_at_end(block)
        one(kind)
        builder.branch(after)
    builder.position_at_end(after)
