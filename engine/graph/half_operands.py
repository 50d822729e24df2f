"""Casts that ops spare: a plan holds bfloat16, and kernels widen what they read and round what they write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Set
from dataclasses import replace
from itertools import chain

from engine.core.dtypes import BFLOAT16, FLOAT32, is_float
from engine.core.value import Spec
from engine.graph.simplify import Instruction, Listing, drop_dead

SHORT = 4 * 10**5
"""Operations below which no kernel for bfloat16 is faster: it widens its operands, each time they are read."""


def read_halves(listing: Listing) -> Listing:
    """Give ops that read bfloat16 the operands of casts to float32, where all their floating operands are such casts.

    Views of such casts count too; sums read casts that other ops need. Results stay float32. NumPy's kernels get
    bfloat16 as float32, so that their bits are the same; compiled products of pairs add in another order.
    """
    casts = [each for each in listing.instructions if each.op.algebra.conversion and _widens(listing, each)]
    if casts:
        narrow = {each.outputs[0]: each.inputs[0] for each in casts}
        wide = {each.outputs: each for each in listing.instructions}
        listing.instructions = [new for each in listing.instructions for new in _reading(listing, each, narrow)]
        drop_dead(listing)
        made = {number for each in listing.instructions for number in each.outputs}
        listing.instructions = [_of_kept(each, wide.get(each.outputs, each), made) for each in listing.instructions]
        drop_dead(listing)
    return listing


def write_halves(listing: Listing) -> Listing:
    """Have ops that write bfloat16 do so where a cast to it is all that reads their result."""
    readers = Counter(number for each in listing.instructions for number in each.inputs)
    readers.update([*listing.outputs.values(), *listing.updates.values()])
    casts = {
        each.inputs[0]: each
        for each in listing.instructions
        if each.op.algebra.conversion
        and readers[each.inputs[0]] == 1
        and listing.specs[each.outputs[0]].dtype is BFLOAT16
    }
    narrowed = {
        each.outputs[0]: casts.pop(each.outputs[0]).outputs
        for each in listing.instructions
        if each.outputs[0] in casts and _writes(listing, each)
    }
    if narrowed:
        spared = set(chain.from_iterable(narrowed.values()))
        listing.instructions = [
            replace(each, outputs=narrowed.get(each.outputs[0], each.outputs))
            for each in listing.instructions
            if each.outputs[0] not in spared
        ]
    return listing


def _writes(listing: Listing, each: Instruction) -> bool:
    return each.op.numerics.writes_bfloat16 and all(listing.specs[number].dtype is BFLOAT16 for number in each.inputs)


def _of_kept(each: Instruction, wide: Instruction, made: Set[int]) -> Instruction:
    """Return an instruction on casts that others need all the same, unless it is one that is faster in half types."""
    gains = not each.op.numerics.reads_bfloat16 or each.op.numerics.autocast == "half"
    return each if gains or not set(wide.inputs) <= made else wide


def _widens(listing: Listing, cast: Instruction) -> bool:
    source, made = (listing.specs[number].dtype for number in (cast.inputs[0], cast.outputs[0]))
    return source is BFLOAT16 and made == FLOAT32


def _is_long(listing: Listing, each: Instruction) -> bool:
    """Return whether an instruction takes so long that it saves time to read halves."""
    inputs, outputs = ([listing.specs[number].shape for number in numbers] for numbers in (each.inputs, each.outputs))
    return each.op.count_flops(each.attrs, inputs, outputs) >= SHORT


def _reading(listing: Listing, each: Instruction, narrow: dict[int, int]) -> list[Instruction]:
    """Return an instruction with bfloat16 operands if it takes them; beside a view of a cast one of the cast's operand.

    `narrow` has the bfloat16 of each value that is the cast of one, to which it adds that view.
    """
    inputs = tuple(narrow.get(number, number) for number in each.inputs)
    if each.op.algebra.barrier:  # what it waits for need not be widened
        each = replace(each, inputs=(each.inputs[0], *inputs[1:]))
    if each.op.view and each.inputs[0] in narrow:
        (made,) = each.outputs
        narrow[made] = listing.new(Spec(listing.specs[made].shape, listing.specs[inputs[0]].dtype))
        return [each, Instruction(each.op, inputs, (narrow[made],), each.attrs, each.origin)]
    floats = [number for number in each.inputs if is_float(listing.specs[number].dtype)]
    if each.op.numerics.reads_bfloat16 and all(number in narrow for number in floats) and _is_long(listing, each):
        return [Instruction(each.op, inputs, each.outputs, each.attrs, each.origin)]
    return [each]
