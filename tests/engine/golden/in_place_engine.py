"""Runs in-place programs on the engine and judges what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import engine
from engine import GradientError, ops
from engine.autograd import tape
from engine.core.value import Value
from tests.engine.golden.in_place_programs import NumpyMachine, Program, run_program, weights

STRICTER = (
    "shares its memory with another (a view)",
    "several elements of this value share one place in memory",
    "output 0 of div, which its gradient needs",
)
"""What the engine refuses and PyTorch accepts.

These are a recorded write to memory that a view shares, a write to a broadcast value, and a write to a quotient whose
divisor gets a gradient: the rule of div reads the quotient, that of PyTorch divides again.
"""
TOLERANCE = {"rtol": 1e-6, "atol": 1e-8}
OPERATORS = {"add_": "__iadd__", "sub_": "__isub__", "mul_": "__imul__", "div_": "__itruediv__", "pow_": "__ipow__"}


class EngineMachine:
    """Runs a program on values of the tape."""

    def __init__(self) -> None:
        self.leaves: list[Value] = []

    def leaf(self, data: np.ndarray, tracked: bool) -> Value:
        created = engine.tensor(data, requires_grad=tracked)
        if tracked:
            self.leaves.append(created)
        return created

    def apply(self, name: str, value: Value, *operands: Any) -> Value:
        if name == "clamp":
            return value.clamp(min=operands[0][0], max=operands[0][1])
        if name in ("softmax", "cumsum", "sum", "mean", "flip"):
            return getattr(ops, name)(value, axis=operands[0][0])
        return getattr(ops, {"clone": "copy"}.get(name, name))(value, *operands)

    def view(self, name: str, value: Value, *options: Any) -> Value:
        if name == "slice":
            axis, *bounds = options
            return value[(slice(None),) * axis + (slice(*bounds),)]
        if name == "select":
            return value[(slice(None),) * options[0] + (options[1],)]
        if name == "detach":
            return value.detach()
        attribute = {"permute": "axes", "unsqueeze": "axis"}.get(name, "shape")
        option = tuple(options[0]) if isinstance(options[0], list) else options[0]
        return getattr(value, {"expand": "broadcast_to"}.get(name, name))(**{attribute: option})

    def write(self, name: str, value: Value, *operands: Any) -> None:
        if name == "clamp_":
            value.clamp_(min=operands[0][0], max=operands[0][1])
        elif name in OPERATORS and isinstance(operands[0], Value):
            getattr(value, OPERATORS[name])(*operands)
        else:
            getattr(value, name)(*operands)

    def assign(self, value: Value, index: Any, source: Any) -> None:
        value[index] = source

    def unrecorded(self) -> Any:
        return engine.no_grad()

    def backward(self, outputs: Sequence[Value], twice: bool) -> None:
        parts = [(output * weights(output.shape)).sum() for output in outputs]
        parts = [part for part in parts if part.requires_grad] or parts  # PyTorch differentiates their sum
        if not twice:
            tape.backward(parts, retain_graph=True)
            return
        slopes = tape.grad(parts, self.leaves, create_graph=True, allow_unused=True)
        squares = [(slope * slope).sum() for slope in slopes if slope is not None]
        tape.backward([*parts, *(square for square in squares if square.requires_grad)], retain_graph=True)


def judge_engine(program: Program, accepted: bool, gradients: Sequence[Any]) -> str:
    """Return "equal", "both refuse", "stricter" or "laxer"; "wrong: ..." where the engine must not answer so.

    Args:
        program: the program to run.
        accepted: whether PyTorch accepts it.
        gradients: the right gradients, an array for each leaf or None.
    """
    machine = EngineMachine()
    values: list[Value] = []
    try:
        run_program(program, machine, values)
    except GradientError as error:
        if not accepted:
            return "both refuse"
        return "stricter" if any(text in str(error) for text in STRICTER) else f"wrong refusal: {error}"
    for number, (leaf, right) in enumerate(zip(machine.leaves, gradients, strict=True)):
        if (leaf.grad is None) != (right is None):
            return f"wrong gradient: leaf {number} has {leaf.grad}, right is {right}"
        if leaf.grad is not None and not np.allclose(leaf.grad.numpy(), np.reshape(right, leaf.shape), **TOLERANCE):
            return f"wrong gradient: leaf {number} has {leaf.grad.numpy().tolist()}, right is {np.asarray(right)}"
    expected: list[np.ndarray] = []
    run_program(program, NumpyMachine(), expected)
    for number, (value, array) in enumerate(zip(values, expected, strict=True)):
        if value.shape != array.shape or not np.allclose(value.numpy(), array, **TOLERANCE):
            return f"wrong value: value {number} is {value.numpy().tolist()}, right is {array.tolist()}"
    return "equal" if accepted else "laxer"
