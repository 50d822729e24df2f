"""Making a program that breaks the law smaller, as long as it breaks it in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.core.dtypes import is_float
from engine.core.value import Array, Value
from engine.graph.definition import NodeSpec
from tests.engine.random_graphs.executors import values_on_tape
from tests.engine.random_graphs.program import LEAVES, Program

Fails = Callable[[Program], bool]


def shrink(program: Program, fails: Fails) -> Program:
    """Return a program that still fails, from which no single piece can be left out.

    What is tried: to want less, and to put a leaf or an operand in the place of a node's result.
    """
    smaller = True
    while smaller:
        smaller = False
        for candidate in _candidates(program):
            if _size(candidate) < _size(program) and fails(candidate):
                program, smaller = candidate, True
                break
    return program


def _size(program: Program) -> tuple[int, int, int]:
    """Return what is to become smaller."""
    wanted = len(program.outputs) + len(program.losses) + len(program.updates) + program.twice
    return len(program.nodes), wanted, len(program.leaves)


def _candidates(program: Program) -> Iterator[Program]:
    """Yield programs with one piece less, the largest pieces first."""
    for field in ("losses", "outputs"):
        references = getattr(program, field)
        for half in (references[: len(references) // 2], references[len(references) // 2 :]):
            if len(half) < len(references):
                yield replace(program, **{field: half}).without_unused()
        for index in range(len(references)):
            yield replace(program, **{field: references[:index] + references[index + 1 :]}).without_unused()
    if program.twice:
        yield replace(program, twice=False)
    for name in program.updates:
        updates = {n: source for n, source in program.updates.items() if n != name}
        yield replace(program, updates=updates).without_unused()
    values = values_on_tape(program)
    for node in program.nodes:
        yield from _without(program, node, values)


def _without(program: Program, node: NodeSpec, values: dict[str, Value]) -> Iterator[Program]:
    """Yield programs in which something else stands for the results of a node."""
    results = [r for r in values if ":" in r and r.partition(":")[0] == node.name]
    read = [r for r in results if any(_is_read(other, r) for other in program.nodes)]
    known = [x for x in node.inputs if isinstance(x, str)]
    alike = [x for x in known if read and all(values[_full(x, values)].spec == values[r].spec for r in read)]
    for operand in alike:
        yield _renamed(program, node, dict.fromkeys(read, operand), {}, {})
    # Leaves in the place of all results: those that gradients ran through become parameters.
    created = {f"{node.name}_{index}": values[r] for index, r in enumerate(read)}
    names = dict(zip(read, created, strict=True))
    moving = {n: _array(v) for n, v in created.items() if v.requires_grad and is_float(v.dtype)}
    fixed = {n: _array(v) for n, v in created.items() if n not in moving}
    yield _renamed(program, node, names, {**fixed, **moving}, {})
    yield _renamed(program, node, names, fixed, moving)


def _array(value: Value) -> Array:
    return value.numpy().copy()


def _full(reference: str, values: dict[str, Value]) -> str:
    return reference if reference in values else f"{reference}:0"


def _is_read(node: NodeSpec, reference: str) -> bool:
    return any(isinstance(x, str) and _same(x, reference) for x in node.inputs)


def _same(one: str, other: str) -> bool:
    return one == other or (":" not in one and f"{one}:0" == other)


def _renamed(
    program: Program, gone: NodeSpec, names: dict[str, str], inputs: dict[str, Array], parameters: dict[str, Array]
) -> Program:
    """Drop a node, and read other values in the place of its results."""

    def renamed(reference: str | float) -> str | float:
        return next(
            (new for old, new in names.items() if isinstance(reference, str) and _same(reference, old)), reference
        )

    nodes = tuple(
        replace(node, inputs=tuple(renamed(x) for x in node.inputs)) for node in program.nodes if node is not gone
    )
    kept = tuple(r for r in program.outputs if r.partition(":")[0] != gone.name)
    losses = tuple(r for r in program.losses if r.partition(":")[0] != gone.name)
    updates = {n: s for n, s in program.updates.items() if s.partition(":")[0] != gone.name}
    tables = {"inputs": {**program.inputs, **inputs}, "parameters": {**program.parameters, **parameters}}
    assert set(tables) < set(LEAVES)
    return replace(program, nodes=nodes, outputs=kept, losses=losses, updates=updates, **tables).without_unused()
