"""Random programs in the syntax that clients write, so that names, results and arguments meet in every way.

Each applies some op to leaves of one of its samples, and goes on from there with whatever names there are by then:
many are refused, and those that are not are looked at by `accepted`.
"""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import engine
from engine.core.dtypes import is_float
from engine.core.registry import Op
from engine.core.samples import Sample
from engine.ops import OPS

NAMES = ("a", "b", "c", "d", "loss", "x_0", "copy", "split", "add.1", "not")
BINARY = ("+", "-", "*", "/", "@", "**", "<", ">=", "==", " and ", " or ")
SUFFIXES = (".T", "[0]", "[-1]", "[0:1]", "[:, 0]", "[1:]", ".sum()", ".mean(axis=0)", ".relu()", ".detach()")
REDUCTIONS = ("sum", "mean", "max", "logsumexp", "norm")
NUMBERS = ("0", "1", "2.5", "-3", "1e3")
TRIES = 3
LARGEST = 4096
"""Elements of the largest leaf: the point is what goes with what, not how much of it."""


def random_program(random: Random) -> dict[str, Any]:
    """Return a graph with a program, as a client would send it."""
    op, sample = _choice(random)
    leaves = _leaves(random, op, sample)
    known = [name for table in leaves.values() for name in table]
    first = _format_call(op, known, sample.attrs)
    lines: list[str] = []
    for number in range(random.choice((1, 2, 3, 5, 8))):
        for _ in range(TRIES):
            targets = _targets(random, len(lines), several=op.multi_output and not number)
            line = f"{', '.join(targets)} = {first if not number else _expression(random, known, 2)}"
            # Lines that are refused are there as well, but seldom: nothing comes of what is behind them.
            if random.random() < 0.02 or _is_taken({**leaves, "program": "\n".join([*lines, line])}):
                lines.append(line)
                known += targets * 2  # what was made last is used more often than leaves
                break
    if lines and random.random() < 0.6:
        lines.append(f"loss = {random.choice(REDUCTIONS)}({known[-1]})")
    return {**leaves, "program": "\n".join(lines)}


def _is_taken(document: Any) -> bool:
    try:
        engine.parse_graph(document)
    except engine.EngineError:
        return False
    return True


def _choice(random: Random) -> tuple[Op[Any], Sample]:
    while True:
        op = OPS[random.choice([*OPS])]
        samples = [
            sample
            for sample in op.samples
            if all(_size(argument.shape) <= LARGEST for argument in sample.arguments)
            and all(map(_literal, sample.attrs.values()))
        ]
        if samples:
            return op, random.choice(samples)


def _leaves(random: Random, op: Op[Any], sample: Sample) -> dict[str, dict[str, Any]]:
    tables: dict[str, dict[str, Any]] = {"inputs": {}, "parameters": {}, "buffers": {}}
    batched = random.random() < 0.5
    for place, array in enumerate(sample.arrays(op.name)):
        floating = is_float(array.dtype)
        table = random.choice(("inputs", "inputs", "parameters", "buffers") if floating else ("inputs", "buffers"))
        shape: list[int | str] = list(array.shape)
        if batched and table == "inputs" and shape and random.random() < 0.7:
            shape[0] = "batch"
        tables[table][f"x_{place}"] = {"shape": shape, "dtype": "float32" if floating else array.dtype.name}
    return tables


def _targets(random: Random, line: int, *, several: bool) -> list[str]:
    """Return what a line assigns to: new names mostly, seldom some that are taken, twice there or no names at all."""
    count = random.choice((1, 2, 2, 3, 4)) if several else random.choice((*(1,) * 12, 2))
    fresh = [f"v{line}_{place}" for place in range(count)]
    return [random.choice(NAMES) if random.random() < 0.1 else name for name in fresh]


def _format_call(op: Op[Any], operands: list[str], attrs: Mapping[str, Any]) -> str:
    """Return the call of an op."""
    return f"{op.name}({', '.join([*operands, *(f'{name}={_literal(value)}' for name, value in attrs.items())])})"


def _expression(random: Random, known: list[str], depth: int) -> str:
    kind = random.random() if depth else 1.0
    if kind < 0.25:
        left, right = (_expression(random, known, depth - 1) for _ in range(2))
        return f"({left} {random.choice(BINARY)} {right})"
    if kind < 0.5:
        return _expression(random, known, depth - 1) + random.choice(SUFFIXES)
    if kind < 0.6:
        return f"{random.choice(('-', '+', 'not ', '-+-'))}{_expression(random, known, depth - 1)}"
    if kind < 0.9:
        op, sample = _choice(random)
        operands = [_expression(random, known, depth - 1) for _ in sample.arguments]
        return _format_call(op, operands, sample.attrs)
    return random.choice(NUMBERS) if random.random() < 0.1 else random.choice(known)


def _literal(value: Any) -> str:
    """Return a value as programs write it, "" if they cannot."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int | float):
        return repr(value) if value == value and abs(value) < float("inf") else ""
    if isinstance(value, str):
        return repr(value) if "'" not in value and '"' not in value else ""
    if isinstance(value, tuple | list):
        inner = [_literal(item) for item in value]
        return f"[{', '.join(inner)}]" if all(inner) else ""
    return ""


def _size(shape: tuple[int, ...]) -> int:
    size = 1
    for extent in shape:
        size *= extent
    return size
