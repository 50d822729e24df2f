"""Plans as pictures: steps as nodes in DOT, the buffers that go from one to another as edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.execution.plan.plan import Plan, Step
from engine.execution.plan.printer import names_of, phase_titles, shown

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
        """Print the picture line by line."""
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
                memory[self._plan.buffers[number].root] = f"step_{index}"
        for place, (name, number) in enumerate(self._plan.outputs.items()):
            yield f"  output_{place} [label = {_quoted(name)}, fillcolor = {FILL['output']}];"
            yield self._edge(self._source(number, origin, memory), f"output_{place}", number)
        for target, number in self._plan.copies:
            yield self._edge(self._source(number, origin, memory), self._origin[target], number)

    def _owners(self) -> dict[int, str]:
        """Return who wrote last to each piece of memory, at the start."""
        return {self._plan.buffers[n].root: node for n, node in self._origin.items() if self._known(n)}

    def _source(self, number: int, origin: dict[int, str], memory: dict[int, str]) -> str:
        """Return who made a buffer; of a window on other buffers, who wrote to their memory last."""
        return origin.get(number) or memory[self._plan.buffers[number].root]

    def _edge(self, source: str, target: str, number: int, step: Step | None = None) -> str:
        buffers = self._plan.buffers
        over = (
            step is not None
            and step.inplace
            and any(
                (buffers[n].root, buffers[n].offset) == (buffers[number].root, buffers[number].offset)
                for n in step.outputs
            )
        )
        label = f"{self._names[number]}\\n{shown(buffers[number].spec)}"
        return f"  {source} -> {target} [label = {_quoted(label)}{', style = dashed' if over else ''}];"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'
