"""Which steps are gone through together, block by block, so that what passes between them stays in the cache."""

from __future__ import annotations

from collections.abc import Sequence

from engine.infer import broadcast, broadcast_bool, same, same_bool, same_number
from engine.plan.plan import Buffer, Phase, Step
from engine.value import Shape

ELEMENTWISE = (broadcast, broadcast_bool, same, same_bool, same_number)


def fused_groups(
    steps: Sequence[Step], buffers: dict[int, Buffer], phases: Sequence[Phase]
) -> tuple[tuple[int, ...], ...]:
    """Return runs of two or more elementwise steps of a phase whose results have one shape, of two elements or more."""
    groups: list[tuple[int, ...]] = []
    for phase in phases:
        run: list[int] = []
        shape: Shape | None = None
        for place in (*phase.steps, None):
            found = None if place is None else _shape(steps[place], buffers)
            if found is None or found != shape:
                if len(run) > 1:
                    groups.append(tuple(run))
                run, shape = [], found
            if place is not None and found is not None:
                run.append(place)
    return tuple(groups)


def _shape(step: Step, buffers: dict[int, Buffer]) -> Shape | None:
    """Return the shape of the result of an elementwise step with one result, else None."""
    if step.op.infer not in ELEMENTWISE or step.op.view or len(step.outputs) != 1:
        return None
    shape = buffers[step.outputs[0]].spec.shape
    return shape if any(extent > 1 for extent in shape) else None
