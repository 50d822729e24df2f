"""The fields of a recipe that may change after training has started, because the checkpoint still fits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from typing import Any

from engine.core.dtypes import FLOAT32
from engine.core.errors import AttributeValueError, ShapeError
from engine.core.options import Reader, options_of
from engine.core.value import Shape, Spec
from engine.optim.groups import SELECTORS, ParameterGroups
from engine.optim.optimizer import Optimizer
from engine.optim.optimizers import Chain
from engine.training.recipe.recipe import Recipe, read_recipe

ADJUSTABLE = frozenset(
    (
        "average", "budget", "checkpoint", "clip", "divergence", "early_stopping", "epochs", "freeze", "loss_scaling",
        "metrics", "noise", "optimizer", "record", "schedule", "steps",
    )
)  # fmt: skip
"""The fields of a recipe that may change after training has started, as far as `check_continuation` allows."""

SHAPES: tuple[Shape, ...] = ((), (5,), (3, 5), (2, 3, 5))
"""Shapes for which slots are compared: slots depend at most on the number of axes."""


def check_continuation(
    before: Mapping[str, Any], after: Mapping[str, Any], step: int, *, steps_per_epoch: int | None = None
) -> None:
    """Check that a fit with the recipe `before` may continue with `after` when `step` steps are done.

    Fields other than `ADJUSTABLE` must be equal. Optimizers keep their kinds and parameters, and must not need new
    slots; freezing rules keep their parameters; an average may start or end, but not change its kind. The fit must not
    be over.

    Args:
        before: the document of the recipe, see `read_recipe`.
        after: that of the recipe to continue with.
        step: training steps done.
        steps_per_epoch: converts `epochs` into steps; without it these are not compared with `step`.

    Raises:
        DocumentError: every fault found; pointers are those of `after`.
    """
    old, new, reader = read_recipe(before), read_recipe(after), Reader()
    for name in options_of(Recipe):
        if name not in ADJUSTABLE and getattr(old, name) != getattr(new, name):
            detail = f'{name} cannot change once training has begun; leave it, or fork with restore: "parameters"'
            reader.fault(f"/{name}", "conflict", detail)
    for pointer, detail in (*_optimizer_faults(old, new), *_freeze_faults(old, new), *_average_faults(old, new)):
        reader.fault(pointer, "conflict", detail)
    for pointer, limit in _ends(new, steps_per_epoch):
        if limit <= step:
            reader.fault(pointer, "out_of_range", f"{step} steps are done already, and this ends the fit at {limit}")
    reader.finish()


def _optimizer_faults(old: Recipe, new: Recipe) -> Iterator[tuple[str, str]]:
    # A schedule that cycles momentum lets optimizers without keep one too.
    before, after = old.groups.groups, new.optimizer.groups
    if len(before) != len(after):
        counts = f"{len(before) - 1} groups of parameters, not {len(after) - 1}"
        yield "/optimizer/groups", f"the fit was begun with {counts}; change their options, not their number"
        return
    fine = True
    for place, (one, other) in enumerate(zip(before, after, strict=True)):
        pointer = f"/optimizer/groups/{place}" if place < len(before) - 1 else "/optimizer"
        for name in SELECTORS:
            if getattr(one, name) != getattr(other, name):
                fine = False
                yield f"{pointer}/{name}", "a group keeps its parameters once training has begun"
        if one.optimizer.kind != other.optimizer.kind:
            fine = False
            kinds = f"{one.optimizer.kind!r} cannot become {other.optimizer.kind!r}"
            yield f"{pointer}/kind", f"{kinds} once training has begun, for each keeps a state of its own"
        elif not other.frozen:
            for name in _lacking(one.optimizer, other.optimizer):
                fine = False
                yield f"{pointer}/{name}", f"so changed, {other.optimizer.kind} needs a state that the fit has not kept"
    if fine and not _served(old.groups, new.groups):
        detail = "it sets the momentum of an optimizer that started without one; set cycle_momentum to false"
        yield "/schedule", detail


def _served(before: ParameterGroups, after: ParameterGroups) -> bool:
    """Return whether the slots of optimizers suffice for the changed ones."""
    pairs = zip(before.groups, after.groups, strict=True)
    return all(other.frozen or _serves(one.optimizer, other.optimizer) for one, other in pairs)


def _lacking(one: Optimizer, other: Optimizer) -> list[str]:
    """Return the options that require other slots, of two optimizers of one kind."""
    if _serves(one, other):
        return []
    changed = [item.name for item in fields(one) if getattr(one, item.name) != getattr(other, item.name)]
    return [name for name in changed if not _serves_with(one, other, name)] or changed


def _serves_with(one: Optimizer, other: Optimizer, name: str) -> bool:
    """Return whether the slots would suffice if this option were the only change."""
    try:
        return _serves(one, replace(one, **{name: getattr(other, name)}))
    except AttributeValueError:  # it does not go with the others, which change with it
        return True


def _serves(one: Optimizer, other: Optimizer) -> bool:
    """Return whether the slots of an optimizer suffice for another one."""
    if one.elementwise != other.elementwise or _transforms(one) != _transforms(other):
        return False
    return all(_slots(other, shape).items() <= _slots(one, shape).items() for shape in SHAPES)


def _transforms(optimizer: Optimizer) -> list[tuple[int, str]]:
    """Return the transforms of a chain that have slots, with their indices."""
    transforms = optimizer.transforms if isinstance(optimizer, Chain) else ()
    spec = Spec(SHAPES[-1], FLOAT32)
    return [(place, type(one).__name__) for place, one in enumerate(transforms) if one.slots(spec)]


def _slots(optimizer: Optimizer, shape: Shape) -> dict[str, Spec]:
    """Return the slots of an optimizer for a parameter of this shape; none if it does not step such."""
    try:
        return optimizer.slots(Spec(shape, FLOAT32))
    except ShapeError:
        return {}


def _freeze_faults(old: Recipe, new: Recipe) -> Iterator[tuple[str, str]]:
    if len(old.freeze) != len(new.freeze):
        counts = f"{len(old.freeze)} rules, not {len(new.freeze)}"
        yield "/freeze", f"the fit was begun with {counts}; change the epochs of those, not their number"
        return
    for place, (one, other) in enumerate(zip(old.freeze, new.freeze, strict=True)):
        if one.patterns != other.patterns:
            yield f"/freeze/{place}/match", "a rule keeps its parameters once training has begun; change its epochs"


def _average_faults(old: Recipe, new: Recipe) -> Iterator[tuple[str, str]]:
    one, other = old.average, new.average
    if one is not None and other is not None and one.kind != other.kind:
        yield "/average/kind", f"an average of kind {one.kind!r} cannot become {other.kind!r}; leave it, or end it"


def _ends(recipe: Recipe, steps_per_epoch: int | None) -> Iterator[tuple[str, int]]:
    """Yield the limits of the fit in steps, with their pointers."""
    if recipe.steps is not None:
        yield "/steps", recipe.steps
    elif recipe.epochs is not None and steps_per_epoch is not None:
        yield "/epochs", recipe.epochs * steps_per_epoch
    if recipe.budget.steps is not None:
        yield "/budget/steps", recipe.budget.steps
