"""Plans for people and clients: lines of text, and JSON."""

from __future__ import annotations

import math
from typing import Any

from engine.core.value import Spec
from engine.execution.plan.plan import Plan


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
            }
            for step in plan.steps
        ],
        "buffers": [
            {
                "name": names[number],
                "kind": plan.roots[buffer.root].kind,
                "shape": list(buffer.spec.shape),
                "dtype": buffer.spec.dtype.name,
                "offset": plan.roots[buffer.root].offset + buffer.offset,
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
