"""Plans for people and clients: lines of text, JSON, and a drawing for Graphviz."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from engine.core.value import Spec
from engine.execution.plan.plan import Plan, Step


def plan_json(plan: Plan) -> dict[str, Any]:
    """Write steps, buffers, bytes and operations for a client."""
    names = names_of(plan)
    return {
        "steps": [
            {
                "op": step.op.name,
                "inputs": [names[number] for number in step.inputs],
                "outputs": [names[number] for number in step.outputs],
                "attrs": {key: plain(value) for key, value in step.attrs.items()},
                "inplace": step.inplace,
                "flops": plan.flops_of(step),
                "definition_node": step.origin.node or None,
                "kind": step.origin.kind,
            }
            for step in plan.steps
        ],
        "buffers": [
            {
                "name": names[number],
                "kind": plan.allocations[buffer.allocation].kind,
                "shape": list(buffer.spec.shape),
                "dtype": buffer.spec.dtype.name,
                "offset": plan.allocations[buffer.allocation].offset + buffer.offset,
                "strides": list(buffer.strides),
            }
            for number, buffer in plan.buffers.items()
        ],
        "fused_groups": [list(group) for group in plan.groups],
        "shards": plan.shards,
        "phases": [{"sharded": phase.sharded, "steps": list(phase.steps)} for phase in plan.phases],
        "arena_bytes": plan.arena_bytes,
        "peak_bytes": plan.peak_bytes,
        "flops": plan.flops,
    }


def plan_text(plan: Plan) -> str:
    """Print one line a step, as a person would write it down; phases have a line before them where there are shards."""
    names = names_of(plan)
    starts = [phase.steps[0] for phase in plan.phases] if plan.shards > 1 else []
    titles = dict(zip(starts, phase_titles(plan), strict=False))
    lines = []
    for index, step in enumerate(plan.steps):
        if index in titles:
            lines.append(f"# {titles[index]}")
        outputs = ", ".join(f"{names[n]}: {shown(plan.buffers[n].spec)}" for n in step.outputs)
        inputs = ", ".join(names[n] for n in step.inputs)
        attrs = "".join(f", {key}={plain(value)}" for key, value in step.attrs.items())
        lines.append(f"{outputs} = {step.op.name}({inputs}{attrs})" + ("  # in place" if step.inplace else ""))
    lines += [f"{names[target]} <- {names[source]}" for target, source in plan.copies]
    lines.append(f"# {len(plan.steps)} steps, arena {plan.arena_bytes} bytes, {plan.flops} operations")
    return "\n".join(lines) + "\n"


def phase_titles(plan: Plan) -> list[str]:
    """Say of each phase who runs it."""
    each = f"by each of {plan.shards} shards"
    return [f"phase {place}, {each if phase.sharded else 'by one thread'}" for place, phase in enumerate(plan.phases)]


def names_of(plan: Plan) -> dict[int, str]:
    """Name every buffer: inputs and states by their names, the others by their numbers."""
    names = {number: f"%{number}" for number in plan.buffers}
    names.update({number: name for name, number in plan.inputs.items()})
    names.update({number: name for name, number in plan.state.items()})
    return names


def shown(spec: Spec) -> str:
    """Print a shape and dtype: float32[32,4]."""
    return f"{spec.dtype.name}[{','.join(map(str, spec.shape))}]"


def plain(value: Any) -> Any:
    """Write an attribute's value as JSON has it: tuples become lists, dtypes and numbers that JSON lacks text."""
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value if isinstance(value, int | float | str | bool | None) else str(value)


FILL = {"input": "white", "state": "yellow", "constant": "pink", "output": "green"}


def plan_dot(plan: Plan, groups: Sequence[tuple[str, Sequence[int]]] | None = None) -> str:
    """Draw a plan in DOT: steps in blue, inputs white, states yellow, constants pink, outputs green.

    An edge is labelled with the buffer that one step leaves for another; it is dashed where the reader writes its
    result over it. `groups` are drawn as boxes: each has a title and the places of its steps; by default they are
    the phases of a plan that has shards.
    """
    if groups is None:
        groups = list(zip(phase_titles(plan), (phase.steps for phase in plan.phases), strict=True))
        groups = groups if plan.shards > 1 else ()
    return "\n".join(_Drawing(plan, groups).lines()) + "\n"


class _Drawing:
    def __init__(self, plan: Plan, groups: Sequence[tuple[str, Sequence[int]]]) -> None:
        self._plan = plan
        self._groups = groups
        self._names = names_of(plan)
        self._origin = {number: f"input_{i}" for i, number in enumerate(plan.inputs.values())}
        self._origin.update({number: f"state_{i}" for i, number in enumerate(plan.state.values())})
        self._origin.update({number: f"constant_{number}" for number in plan.constants})

    def lines(self) -> Iterator[str]:
        yield from ("digraph plan {", "  rankdir = TB;")
        yield '  node [shape = box, style = filled, fontname = "monospace"];'
        for number, node in self._origin.items():
            label = f"{self._names[number]}\\n{shown(self._plan.buffers[number].spec)}" if self._known(number) else ""
            yield f"  {node} [label = {_quoted(label)}, fillcolor = {FILL[node.partition('_')[0]]}];"
        grouped = {index for _, members in self._groups for index in members}
        for place, (title, members) in enumerate(self._groups):
            yield f"  subgraph cluster_{place} {{"
            yield f"    label = {_quoted(title)};"
            yield from (f"  {self._node(index)}" for index in members)
            yield "  }"
        yield from (self._node(index) for index in range(len(self._plan.steps)) if index not in grouped)
        yield from self._edges()
        yield "}"

    def _known(self, number: int) -> bool:
        return number in self._plan.buffers

    def _node(self, index: int) -> str:
        step = self._plan.steps[index]
        label = f"{index} {step.op.name}\\n{', '.join(shown(self._plan.buffers[n].spec) for n in step.outputs)}"
        return f"  step_{index} [label = {_quoted(label)}, fillcolor = lightblue];"

    def _edges(self) -> Iterator[str]:
        origin, memory = dict(self._origin), self._owners()
        for index, step in enumerate(self._plan.steps):
            for number in dict.fromkeys(step.inputs):
                yield self._edge(self._source(number, origin, memory), f"step_{index}", number, step)
            for number in step.outputs:
                origin[number] = f"step_{index}"
                memory[self._plan.buffers[number].allocation] = f"step_{index}"
        for place, (name, number) in enumerate(self._plan.outputs.items()):
            yield f"  output_{place} [label = {_quoted(name)}, fillcolor = {FILL['output']}];"
            yield self._edge(self._source(number, origin, memory), f"output_{place}", number)
        for target, number in self._plan.copies:
            yield self._edge(self._source(number, origin, memory), self._origin[target], number)

    def _owners(self) -> dict[int, str]:
        """Return who wrote last to each piece of memory, at the start."""
        return {self._plan.buffers[n].allocation: node for n, node in self._origin.items() if self._known(n)}

    def _source(self, number: int, origin: dict[int, str], memory: dict[int, str]) -> str:
        """Return who made a buffer; of a window on other buffers, who wrote to their memory last."""
        return origin.get(number) or memory[self._plan.buffers[number].allocation]

    def _edge(self, source: str, target: str, number: int, step: Step | None = None) -> str:
        buffers = self._plan.buffers
        over = (
            step is not None
            and step.inplace
            and any(
                (buffers[n].allocation, buffers[n].offset) == (buffers[number].allocation, buffers[number].offset)
                for n in step.outputs
            )
        )
        label = f"{self._names[number]}\\n{shown(buffers[number].spec)}"
        return f"  {source} -> {target} [label = {_quoted(label)}{', style = dashed' if over else ''}];"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
