"""Arrangement: a static graph as numbered values and instructions, with the memory each result needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.core.value import Value
from engine.execution.plan.layout import Layout, layouts, nbytes
from engine.ggml.overhead import aligned
from engine.ggml.tensor_table import TensorTable
from engine.graph.simplify import Instruction, Listing


@dataclass(frozen=True)
class Arrangement:
    """What is to be computed, in order.

    Attributes:
        values: every leaf and result by number, and `layouts` how each lies in the one that owns its memory.
        instructions: in order, without those that only look at memory in another way.
        places: for each instruction, the position of its first result among the nodes of the graph.
        offsets: by number of a result that owns memory, where it starts among the bytes of all of them.
        work_size: how many bytes these are.
        leaves: the leaves that are read.
        sums: by number of a result, the leaf in whose memory it lies.
    """

    values: tuple[Value, ...]
    layouts: tuple[Layout, ...]
    instructions: tuple[Instruction, ...]
    places: tuple[int, ...]
    offsets: dict[int, int]
    work_size: int
    leaves: tuple[int, ...]
    sums: dict[int, Value]


def arrange(table: TensorTable, sums: Iterable[tuple[Value, Value]]) -> Arrangement:
    """Arrange the computed part of `table`; each of `sums` is a result and the leaf it is to be computed into."""
    computed = table.computed()
    values = [value for value in table if value.key in computed]
    numbers = {value.key: number for number, value in enumerate(values)}
    into = {numbers[total.key]: leaf for total, leaf in sums if total.key in numbers}
    listing = Listing(specs=[value.spec for value in values])
    places: list[int] = []
    for value in values:
        if value.node is not None and value.index == 0:
            inputs = tuple(numbers[source.key] for source in value.node.inputs)
            outputs = tuple(numbers[(value.node, index)] for index in range(len(value.node.outputs)))
            listing.instructions.append(Instruction(value.node.op, inputs, outputs, value.node.attrs))
            places.append(table.place(value))
    laid, free = layouts(listing)
    offsets: dict[int, int] = {}
    work_size = 0
    kept = [index for index in range(len(listing.instructions)) if index not in free]
    for index in kept:
        for number in listing.instructions[index].outputs:
            if number not in into:
                offsets[number] = work_size
                work_size += aligned(nbytes(listing.specs[number]))
    return Arrangement(
        values=tuple(values),
        layouts=tuple(laid),
        instructions=tuple(listing.instructions[index] for index in kept),
        places=tuple(places[index] for index in kept),
        offsets=offsets,
        work_size=work_size,
        leaves=tuple(number for number, value in enumerate(values) if value.node is None),
        sums=into,
    )
