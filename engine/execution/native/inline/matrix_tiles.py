"""Tiles of a matrix product in registers, and transposition by registers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.blocks import VECTORS, block_rows, choose, with_products
from engine.execution.native.inline.vectors import INDEX, Emitter, vector_bytes


@intrinsic
def product_tile(
    typing_context: Any,
    rows: Any,
    vectors: Any,
    left: Any,
    left_row: Any,
    panel: Any,
    depth: Any,
    target: Any,
    step: Any,
    count: Any,
    resume: Any,
    zero: Any,
) -> Any:
    """target[r, c] = sum over k < depth of left[r, k] panel[k, c], added to what is there if `resume`.

    `rows` is one of `block_rows()`. The panel has `vectors` registers, 1 to 3, for each k; of a row of the target the
    first `count` numbers are written, for which it takes all these registers. Rows of `left` lie `left_row` bytes
    apart, those of the target `step`. `depth` is at least 1.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows, vectors, *rest = arguments
        kinds = list(product(block_rows(), range(1, VECTORS + 1)))
        choice = builder.add(builder.mul(rows, Emitter(builder, zero).word(VECTORS + 1)), vectors)

        def one(kind: tuple[int, int]) -> None:
            _tile(Emitter(builder, zero), kind[0], kind[1], *rest[:-1])

        choose(builder, choice, [(kind[0] * (VECTORS + 1) + kind[1], kind) for kind in kinds], one)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 10, zero), generate


@intrinsic
def far_tile(
    typing_context: Any,
    left: Any,
    left_row: Any,
    panel: Any,
    depth: Any,
    target: Any,
    step: Any,
    count: Any,
    resume: Any,
    zero: Any,
) -> Any:
    """As `product_tile` with the most rows and registers, for rows of `left` that are in no near cache.

    It fetches those of the next tile, behind its own.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _tile(Emitter(builder, zero), block_rows()[0], VECTORS, *arguments[:-1], ahead=True)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8, zero), generate


def _tile(
    emit: Emitter,
    rows: int,
    vectors: int,
    left: Any,
    left_row: Any,
    panel: Any,
    depth: Any,
    target: Any,
    step: Any,
    count: Any,
    resume: Any,
    *,
    ahead: bool = False,
) -> None:
    builder = emit.builder
    masks = emit.masks_of_row(count, vectors)
    places = [
        (emit.at(target, (step, row), (emit.word(vector_bytes()), vector)), masks[vector])
        for row, vector in product(range(rows), range(vectors))
    ]
    for place, _ in places:
        emit.prefetch(place)
    left_rows = [emit.at(left, (left_row, row)) for row in range(rows)]
    following = emit.at(left, (left_row, rows))

    def fetch_ahead(index: Any) -> None:
        row, part = builder.and_(index, emit.word(rows - 1)), builder.and_(index, emit.word(-rows))
        emit.fetch(emit.at(builder.add(following, builder.mul(row, left_row)), (part, emit.size)))

    def add(index: Any, sums: list[Any]) -> list[Any]:
        if ahead:
            fetch_ahead(index)
        place = emit.at(panel, (index, vectors * vector_bytes()))
        numbers = [emit.load(emit.at(place, (emit.word(vector_bytes()), v)), emit.vector) for v in range(vectors)]
        return with_products(emit, [emit.at(row, (index, emit.size)) for row in left_rows], numbers, sums)

    sums = emit.loop(depth, [emit.zeros() for _ in places], add)
    again = builder.icmp_signed("!=", resume, emit.word(0))
    with builder.if_else(again) as (then, otherwise):
        with then:
            for value, (place, mask) in zip(sums, places, strict=True):
                emit.masked_store(builder.fadd(value, emit.masked_load(place, mask)), place, mask)
        with otherwise:
            for value, (place, mask) in zip(sums, places, strict=True):
                emit.masked_store(value, place, mask)


@intrinsic
def prefetch_rows(typing_context: Any, target: Any, step: Any, rows: Any) -> Any:
    """Fetch the cache line at the start of each of `rows` rows, at least one, that are soon written."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        target, step, rows = arguments
        emit = Emitter(builder, types.float32)

        def row(index: Any, _: list[Any]) -> list[Any]:
            emit.prefetch(builder.add(target, builder.mul(index, step)))
            return []

        emit.loop(rows, [], row)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), generate


def _transposing(read_apart: int, written_apart: int) -> Any:
    @intrinsic
    def transpose(
        typing_context: Any,
        target: Any,
        target_step: Any,
        source: Any,
        source_step: Any,
        rows: Any,
        columns: Any,
        zero: Any,
    ) -> Any:
        """target[c, r] = source[r, c] for as many rows as a register has lanes, or fewer, and any number of columns.

        Steps are in bytes from row to row. There is at least one column.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            target, *rest = arguments[:-1]
            _transpose(Emitter(builder, zero), read_apart, written_apart, (target,), *rest)
            return context.get_dummy_value()

        return types.void(*[types.int64] * 6, zero), generate

    return transpose


def _transpose(
    emit: Emitter,
    read_apart: int,
    written_apart: int,
    targets: Sequence[Any],
    target_step: Any,
    source: Any,
    source_step: Any,
    rows: Any,
    columns: Any,
) -> None:
    builder = emit.builder
    last = builder.sub(rows, emit.word(1))
    starts = []
    for row in range(emit.lanes):  # rows behind the last one are read as that
        inside = builder.icmp_signed("<", emit.word(row), rows)
        starts.append(builder.add(source, builder.mul(builder.select(inside, emit.word(row), last), source_step)))
    whole = emit.masks_of_stored(rows, written_apart)
    if read_apart == written_apart == len(targets) == 1 and not (emit.reads_halves or emit.writes_halves):
        after = builder.append_basic_block("transposed")
        for width in _narrow_widths(emit.lanes):
            with builder.if_then(builder.icmp_signed("<=", columns, emit.word(width))):
                _transpose_narrow(emit, width, targets[0], target_step, starts, whole[0], columns)
                builder.branch(after)
        _transpose_blocks(emit, read_apart, targets, target_step, starts, whole, columns)
        builder.branch(after)
        builder.position_at_end(after)
    else:
        _transpose_blocks(emit, read_apart, targets, target_step, starts, whole, columns)


def _narrow_widths(lanes: int) -> list[int]:
    """Return the powers of 2 below the lanes of a register."""
    return [1 << power for power in range(1, lanes.bit_length() - 1)]


def _transpose_narrow(
    emit: Emitter, width: int, target: Any, target_step: Any, starts: Sequence[Any], inside: Any, columns: Any
) -> None:
    """Transpose rows of at most `width` numbers, of which a register holds several: with as many registers as columns.

    The first one gets every `width`-th row from the first on, the next one those from the second on, and so on.
    """
    builder = emit.builder
    mask = emit.first_of(columns, width)
    parts = [emit.load_part(start, mask, width) for start in starts]
    read = [emit.joined(parts[first::width]) for first in range(width)]
    for column, vector in enumerate(transposed(emit, read)):
        is_one = emit.spread(builder.icmp_signed("<", emit.word(column), columns), ir.IntType(1))
        place = builder.add(target, builder.mul(emit.word(column), target_step))
        emit.masked_store(vector, place, builder.and_(inside, is_one))


def _transpose_blocks(
    emit: Emitter,
    read_apart: int,
    targets: Sequence[Any],
    target_step: Any,
    starts: Sequence[Any],
    whole: list[Any],
    columns: Any,
) -> None:
    builder = emit.builder
    blocks = builder.sdiv(builder.add(columns, emit.word(emit.lanes - 1)), emit.word(emit.lanes))

    def block(index: Any, _: list[Any]) -> list[Any]:
        first = builder.mul(index, emit.word(emit.lanes))
        left = builder.sub(columns, first)
        masks = emit.masks_of_first(left, read_apart)
        places = (emit.at(start, (first, read_apart * emit.read_size)) for start in starts)
        read = [emit.load_lanes(place, masks) for place in places]
        for column, vector in enumerate(transposed(emit, read)):
            inside = emit.spread(builder.icmp_signed("<", emit.word(column), left), ir.IntType(1))
            # Columns go to the targets in turn; there are as many of a block for each.
            turns, turn = divmod(column, len(targets))
            row = builder.add(builder.mul(index, emit.word(emit.lanes // len(targets))), emit.word(turns))
            place = builder.add(targets[turn], builder.mul(row, target_step))
            emit.store_lanes(vector, place, [builder.and_(mask, inside) for mask in whole])
        return []

    emit.loop(blocks, [], block)


@intrinsic
def transpose_in_turn(
    typing_context: Any,
    even: Any,
    odd: Any,
    target_step: Any,
    source: Any,
    source_step: Any,
    rows: Any,
    columns: Any,
    zero: Any,
) -> Any:
    """even[c, r] = source[r, 2 c] and odd[c, r] = source[r, 2 c + 1]; otherwise as `transpose`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        even, odd, *rest = arguments[:-1]
        _transpose(Emitter(builder, zero), 1, 1, (even, odd), *rest)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7, zero), generate


transpose = _transposing(1, 1)
transpose_every_second = _transposing(2, 1)
"""As `transpose`, of every second number of the rows of the source."""
transpose_to_every_second = _transposing(1, 2)
"""As `transpose`, to every second number of the rows of the target; for machines with AVX-512."""


def transposed(emit: Emitter, vectors: list[Any]) -> list[Any]:
    """Return the columns of a square matrix, given its rows: blocks off the diagonal change places, by powers of 2.

    With fewer vectors than these have lanes: those of several such matrices that lie side by side.
    """
    lanes, distance = emit.lanes, 1
    while distance < len(vectors):
        keep = [lane if not lane & distance else lanes + (lane ^ distance) for lane in range(lanes)]
        other = [(lane ^ distance) if not lane & distance else lanes + lane for lane in range(lanes)]
        result = list(vectors)
        for low in (row for row in range(len(vectors)) if not row & distance):
            pair = vectors[low], vectors[low + distance]
            for place, lanes_taken in ((low, keep), (low + distance, other)):
                indices = ir.Constant(ir.VectorType(INDEX, lanes), lanes_taken)
                result[place] = emit.builder.shuffle_vector(*pair, indices)
        vectors, distance = result, 2 * distance
    return vectors
