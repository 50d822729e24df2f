"""Scheduling of the casts that compress activations: after the last read of the float32 value, to free it early."""

from __future__ import annotations

from engine.core.dtypes import FLOAT32
from engine.graph.simplify import Instruction, Listing
from engine.ops.elementwise.casting import barrier, cast


def schedule_casts(listing: Listing) -> Listing:
    """Move casts from float32 to a smaller type, read only through barriers, behind the last read of their operand.

    The trace has them where the backward pass first reads them. There the float32 value would have to live through the
    whole forward pass, and compression would save nothing. The order of all other instructions stays.
    """
    instructions = listing.instructions
    readers = _readers(listing)
    moving: dict[int, list[Instruction]] = {}
    moved: set[int] = set()
    latest: dict[int, int] = {}
    bases: dict[int, int] = {}
    for index, instruction in enumerate(instructions):
        if instruction.op is cast and _feeds_only_barriers(listing, instruction, readers):
            after = latest.get(bases.get(instruction.inputs[0], instruction.inputs[0]), -1)
            moving.setdefault(after, []).append(instruction)
            moved.add(index)
            continue
        if instruction.op.view:
            bases[instruction.outputs[0]] = bases.get(instruction.inputs[0], instruction.inputs[0])
        for number in (*instruction.inputs, *instruction.outputs):
            latest[bases.get(number, number)] = index
    if moved:
        listing.instructions = [
            placed
            for index, instruction in enumerate(instructions)
            for placed in (*(() if index in moved else (instruction,)), *moving.get(index, ()))
        ]
    return listing


def _readers(listing: Listing) -> dict[int, list[Instruction]]:
    readers: dict[int, list[Instruction]] = {}
    for instruction in listing.instructions:
        for number in instruction.inputs:
            readers.setdefault(number, []).append(instruction)
    return readers


def _feeds_only_barriers(listing: Listing, instruction: Instruction, readers: dict[int, list[Instruction]]) -> bool:
    """Return whether a narrowing cast is read by barriers only, directly or through views."""
    source, made = listing.specs[instruction.inputs[0]], listing.specs[instruction.outputs[0]]
    if source.dtype != FLOAT32 or made.dtype.itemsize >= source.dtype.itemsize:
        return False
    pending = [instruction.outputs[0]]
    while pending:
        for reader in readers.get(pending.pop(), ()):
            if reader.op is barrier:
                continue
            if not reader.op.view:
                return False
            pending.append(reader.outputs[0])
    return True
