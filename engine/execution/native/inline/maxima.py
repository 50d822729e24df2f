"""Maxima and their places in vector registers: of rows, of numbers some steps apart, of windows inside an image.

The first NaN is the largest. Places are int32.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from engine.execution.native.inline.pointers import freeze
from engine.execution.native.inline.vectors import INDEX, WORD, Emitter, masked_row


def _is_larger(builder: Any, number: Any, old: Any) -> Any:
    """Return whether numbers win against older ones: they are larger, or NaN where those are not."""
    return builder.and_(builder.fcmp_unordered(">", number, old), builder.fcmp_ordered("ord", old, old))


@intrinsic
def larger_row(
    typing_context: Any, best: Any, places: Any, source: Any, place: Any, count: Any, fresh: Any, zero: Any
) -> Any:
    """Take the numbers of a row that are larger than the best so far, and their places (int32), counted from `place`.

    The first NaN is the largest. If `fresh`, all are taken.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        best, places, source, place, count, fresh, _ = arguments
        emit = Emitter(builder, zero)
        whole = ir.VectorType(INDEX, emit.lanes)
        steps = ir.Constant(whole, list(range(emit.lanes)))
        always = emit.spread(builder.icmp_signed("!=", fresh, emit.word(0)), ir.IntType(1))

        def step(shift: Any, mask: Any) -> None:
            number = emit.masked_load(builder.add(source, shift), mask)
            old = freeze(builder, emit.masked_load(builder.add(best, shift), mask))
            taken = builder.or_(always, _is_larger(builder, number, old))
            emit.masked_store(builder.select(taken, number, old), builder.add(best, shift), mask)
            first = builder.add(place, builder.sdiv(shift, emit.word(emit.size)))
            found = builder.add(emit.spread(builder.trunc(first, INDEX), INDEX), steps)
            target = builder.add(places, builder.mul(builder.sdiv(shift, emit.word(emit.size)), emit.word(4)))
            old_place = freeze(builder, emit.masked_load(target, mask, INDEX))
            emit.masked_store(builder.select(taken, found, old_place), target, mask)

        masked_row(emit, count, step)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 6, zero), generate


@intrinsic
def larger_apart(
    typing_context: Any, best: Any, found: Any, rows: Any, places: Any, count: Any, step: Any, fresh: Any, zero: Any
) -> Any:
    """Take numbers `step` apart, 1 or 2, where they are larger than the best so far, and their places (int32).

    Of equal numbers, and of NaNs, which are the largest, that with the smaller place stays. If `fresh`, all are taken.
    Whole registers are read and written, behind the ends of rows too.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        best, found, rows, places, count, step, fresh, _ = arguments
        with builder.if_else(builder.icmp_signed("==", step, ir.Constant(WORD, 1))) as (neighbours, pairs):
            with neighbours:
                _larger_apart(Emitter(builder, zero), 1, best, found, rows, places, count, fresh)
            with pairs:
                _larger_apart(Emitter(builder, zero), 2, best, found, rows, places, count, fresh)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 7, zero), generate


def _larger_apart(
    emit: Emitter, step: int, best: Any, found: Any, rows: Any, places: Any, count: Any, fresh: Any
) -> None:
    builder = emit.builder
    always = emit.spread(builder.icmp_signed("!=", fresh, emit.word(0)), ir.IntType(1))

    def body(index: Any, _: list[Any]) -> list[Any]:
        first = builder.mul(index, emit.word(emit.lanes))
        number = emit.load_apart(emit.at(rows, (first, step * emit.size)), emit.number, step)
        place = emit.load_apart(emit.at(places, (first, step * 4)), INDEX, step)
        target, target_place = emit.at(best, (first, emit.size)), emit.at(found, (first, 4))
        old, old_place = (
            freeze(builder, emit.load_apart(at, kind, 1)) for at, kind in ((target, emit.number), (target_place, INDEX))
        )
        both = builder.and_(builder.fcmp_unordered("uno", number, number), builder.fcmp_unordered("uno", old, old))
        same = builder.or_(builder.fcmp_ordered("==", number, old), both)
        earlier = builder.and_(same, builder.icmp_signed("<", place, old_place))
        taken = builder.or_(always, builder.or_(_is_larger(builder, number, old), earlier))
        emit.store(builder.select(taken, number, old), target)
        emit.store(builder.select(taken, place, old_place), target_place)
        return []

    emit.loop(builder.sdiv(builder.add(count, emit.word(emit.lanes - 1)), emit.word(emit.lanes)), [], body)


@intrinsic
def window_maxima(
    typing_context: Any, best: Any, found: Any, source: Any, place: Any, offsets: Any, taps: Any, step: Any, count: Any,
    zero: Any,
) -> Any:  # fmt: skip
    """Set `count` neighbouring numbers to the largest of their windows, and int32 to the places of these.

    Args:
        typing_context: of numba.
        best: address of the maxima.
        found: address of their places.
        source: address of the first number of the first window.
        place: place of that number.
        offsets: address of int64: how many numbers behind its first each number of a window lies.
        taps: how many these are, at least one.
        step: numbers from window to window, 1 or 2.
        count: windows.
        zero: of the dtype.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        *rest, step, count, _ = arguments
        with builder.if_else(builder.icmp_signed("==", step, ir.Constant(WORD, 1))) as (neighbours, pairs):
            with neighbours:
                _window_maxima(Emitter(builder, zero), 1, count, *rest)
            with pairs:
                _window_maxima(Emitter(builder, zero), 2, count, *rest)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8, zero), generate


def _window_maxima(
    emit: Emitter, step: int, count: Any, best: Any, found: Any, source: Any, place: Any, offsets: Any, taps: Any
) -> None:
    builder = emit.builder
    spread = ir.Constant(ir.VectorType(INDEX, emit.lanes), [step * lane for lane in range(emit.lanes)])
    least = ir.Constant(emit.vector, [float("-inf")] * emit.lanes)

    def windows(shift: Any, mask: Any) -> None:
        done = builder.sdiv(shift, emit.word(emit.size))
        first = emit.scaled(source, shift, step * emit.read_size)
        start = builder.add(place, builder.mul(done, emit.word(step)))
        at = builder.add(emit.spread(builder.trunc(start, INDEX), INDEX), spread)
        left = None if mask is None else builder.sub(count, done)

        def tap(index: Any, values: list[Any]) -> list[Any]:
            old, old_place = values
            offset = emit.load(emit.at(offsets, (index, 8)), WORD)
            number = _every(emit, step, emit.at(first, (offset, emit.read_size)), left)
            taken = _is_larger(builder, number, old)
            here = builder.add(at, emit.spread(builder.trunc(offset, INDEX), INDEX))
            return [builder.select(taken, number, old), builder.select(taken, here, old_place)]

        number, found_place = emit.loop(taps, [least, at], tap)
        stored = emit.upper_halves(number) if emit.writes_halves else number
        emit.masked_store(stored, emit.scaled(best, shift, emit.written_size), mask)
        emit.masked_store(found_place, emit.at(found, (done, 4)), mask)

    masked_row(emit, count, windows)


def _every(emit: Emitter, step: int, address: Any, left: Any) -> Any:
    """Load every number of `step`, as many as a vector has lanes, or `left`: nothing behind the last one is read."""
    if step == 1:
        return emit.read(address, None if left is None else emit.first_lanes(left))
    builder, lanes = emit.builder, emit.lanes
    masks = [None, None]
    if left is not None:
        read = builder.sub(builder.add(left, left), emit.word(1))
        masks = [emit.first_lanes(read), emit.first_lanes(builder.sub(read, emit.word(lanes - 1)))]
    low = emit.read(address, masks[0])
    high = emit.read(builder.add(address, emit.word((lanes - 1) * emit.read_size)), masks[1])
    # The second vector begins with the last number of the first one.
    chosen = [2 * lane if 2 * lane < lanes else 2 * lane + 1 for lane in range(lanes)]
    return builder.shuffle_vector(low, high, ir.Constant(ir.VectorType(INDEX, lanes), chosen))
