"""Plan: a computation as data. Steps in order, buffers with their places, bytes and operations; readable in full."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.registry import Op
from engine.value import Array, Spec

Kind = Literal["input", "state", "constant", "arena", "pinned"]


@dataclass(frozen=True, slots=True)
class Root:
    """A piece of memory: an input, a state, a constant, a range of the arena, or a piece that is never shared."""

    kind: Kind
    name: str
    nbytes: int
    offset: int = 0


@dataclass(frozen=True, slots=True)
class Buffer:
    """Where a numbered value lives: a root, and the layout of its elements in it (offset and strides in bytes)."""

    root: int
    offset: int
    spec: Spec
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """One kernel call on buffers. `inplace` tells that the output lies over an input."""

    op: Op[Any]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    attrs: Mapping[str, Any]
    inplace: bool = False


@dataclass(frozen=True)
class Plan:
    """Everything an executor needs, and everything a reader wants to know."""

    steps: tuple[Step, ...]
    buffers: Mapping[int, Buffer]
    roots: tuple[Root, ...]
    constants: Mapping[int, Array]
    inputs: Mapping[str, int]
    state: Mapping[str, int]
    outputs: Mapping[str, int]
    copies: tuple[tuple[int, int], ...]
    arena_bytes: int

    @property
    def flops(self) -> int:
        """Estimated arithmetic operations of one run."""
        return sum(self._flops(step) for step in self.steps)

    @property
    def peak_bytes(self) -> int:
        """Bytes of everything the plan holds: arena, inputs, state, constants."""
        return self.arena_bytes + sum(root.nbytes for root in self.roots if root.kind != "arena")

    def _flops(self, step: Step) -> int:
        outputs = [self.buffers[number].spec.shape for number in step.outputs]
        shapes = [self.buffers[number].spec.shape for number in step.inputs]
        if step.op.name == "matrix_product":
            return 2 * math.prod(outputs[0]) * shapes[0][-2 if step.attrs["transpose_a"] else -1]
        if step.op.name == "convolution":
            return 2 * math.prod(outputs[0]) * math.prod(shapes[1][1:])
        if step.op.name == "convolution_input":
            return 2 * math.prod(shapes[0]) * math.prod(shapes[1][1:])
        if step.op.name == "convolution_weight":
            return 2 * math.prod(shapes[1]) * math.prod(outputs[0][1:])
        return max(math.prod(shape) for shape in (*outputs, *shapes))

    def to_json(self) -> dict[str, Any]:
        """Write steps, buffers, bytes and operations for a client."""
        names = self._names()
        return {
            "executor": "numpy",
            "steps": [
                {
                    "op": step.op.name,
                    "inputs": [names[number] for number in step.inputs],
                    "outputs": [names[number] for number in step.outputs],
                    "attrs": {key: _plain(value) for key, value in step.attrs.items()},
                    "inplace": step.inplace,
                    "flops": self._flops(step),
                }
                for step in self.steps
            ],
            "buffers": [
                {
                    "name": names[number],
                    "kind": self.roots[buffer.root].kind,
                    "shape": list(buffer.spec.shape),
                    "dtype": buffer.spec.dtype.name,
                    "offset": self.roots[buffer.root].offset + buffer.offset,
                    "strides": list(buffer.strides),
                }
                for number, buffer in self.buffers.items()
            ],
            "fused_groups": [],
            "arena_bytes": self.arena_bytes,
            "peak_bytes": self.peak_bytes,
            "flops": self.flops,
        }

    def to_text(self) -> str:
        """Print one line a step, as a person would write it down."""
        names = self._names()
        lines = []
        for step in self.steps:
            outputs = ", ".join(f"{names[n]}: {_show(self.buffers[n].spec)}" for n in step.outputs)
            inputs = ", ".join(names[n] for n in step.inputs)
            attrs = "".join(f", {key}={_plain(value)}" for key, value in step.attrs.items())
            lines.append(f"{outputs} = {step.op.name}({inputs}{attrs})" + ("  # in place" if step.inplace else ""))
        lines += [f"{names[target]} <- {names[source]}" for target, source in self.copies]
        lines.append(f"# {len(self.steps)} steps, arena {self.arena_bytes} bytes, {self.flops} operations")
        return "\n".join(lines) + "\n"

    def _names(self) -> dict[int, str]:
        names = {number: f"%{number}" for number in self.buffers}
        names.update({number: name for name, number in self.inputs.items()})
        names.update({number: name for name, number in self.state.items()})
        return names


def _show(spec: Spec) -> str:
    return f"{spec.dtype.name}[{','.join(map(str, spec.shape))}]"


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if isinstance(value, int | float | str | bool | None) else str(value)
