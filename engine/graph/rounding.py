"""Rounding to a half type in one pass: a cast to it and back, as gradients of parameters take under mixed precision.

Gradients that are all rounded are rounded in the vector that they are packed into. So products write their results
where the optimizer reads them, and summands of shards are added up as one vector.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.core.dtypes import FLOAT32, DType, is_float
from engine.core.half_precision import convert_dtype
from engine.core.registry import Op
from engine.core.shape_rules import same
from engine.core.value import Array
from engine.graph.simplify import Instruction, Listing, drop_dead


def round_through(x: Array, *, through: DType, out: Array | None = None) -> Array:
    """x rounded to the numbers that `through` has, in its own dtype."""
    return convert_dtype(convert_dtype(x, through), x.dtype, out)


ROUND: Op[Any] = Op(round_through, shape_rule=same)
"""The step that rounds. Plans have it; graphs do not, so it is not in the op table."""


def round_at_once(listing: Listing) -> Listing:
    """Put one step in the place of casts from float32 to a half type and back; of what is packed, behind the pack."""
    casts = {each.outputs[0]: each for each in listing.instructions if each.op.algebra.conversion}
    rounded: dict[int, Instruction] = {}
    for number, cast in casts.items():
        narrow = casts.get(cast.inputs[0])
        if narrow is not None and _rounds(listing, narrow, cast):
            through = listing.specs[narrow.outputs[0]].dtype
            rounded[number] = replace(cast, op=ROUND, inputs=narrow.inputs, attrs={"through": through})
    if rounded:
        listing.instructions = [new for each in listing.instructions for new in _rounding(listing, each, rounded)]
        drop_dead(listing)
    return listing


def rounded_packs(listing: Listing) -> dict[int, int]:
    """Return by number of each value that is a rounded packed vector that of the vector."""
    packed = {each.outputs[0] for each in listing.instructions if each.op.memory.packs}
    rounded = (each for each in listing.instructions if each.op is ROUND and each.inputs[0] in packed)
    return {each.outputs[0]: each.inputs[0] for each in rounded}


def _rounds(listing: Listing, narrow: Instruction, wide: Instruction) -> bool:
    """Return whether two casts lead from float32 to a half type and back."""
    source, half, back = (listing.specs[n].dtype for n in (*narrow.inputs, *wide.inputs, *wide.outputs))
    return source == back == FLOAT32 and is_float(half) and half.itemsize < back.itemsize


def _rounding(listing: Listing, each: Instruction, rounded: Mapping[int, Instruction]) -> list[Instruction]:
    if each.outputs[0] in rounded:
        return [rounded[each.outputs[0]]]
    sources = [rounded.get(number) for number in each.inputs]
    if not each.op.memory.packs or len({source.attrs["through"] if source else None for source in sources}) != 1:
        return [each]
    first = sources[0]
    if first is None:
        return [each]
    vector = listing.new(listing.specs[each.outputs[0]])
    packed = replace(each, inputs=tuple(source.inputs[0] for source in sources if source), outputs=(vector,))
    return [packed, replace(first, inputs=(vector,), outputs=each.outputs, origin=each.origin)]
