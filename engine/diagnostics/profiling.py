"""Profile of a step: the time of each node, and the bytes it reads, writes and keeps allocated."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

import numpy as np

from engine.core.errors import DocumentError, EngineError, Finding
from engine.core.modes import Admit, Cost, admit_any
from engine.core.options import Reader
from engine.core.value import Array
from engine.execution.interpreter.node_runner import NodeRunner, check_memory, check_work, cost_of_runner
from engine.execution.interpreter.point import WITHOUT_MODE, EvaluationPoint, read_point
from engine.execution.plan import NumpyExecutor, Plan
from engine.execution.plan.numpy_executor import prepare
from engine.graph.definition import Definition
from engine.training.recipe.recipe import Recipe, read_recipe
from engine.training.step.names import GRADIENT
from engine.training.step.plan_cache import cached_plan
from engine.training.step.plans import plan_update, trained_parameters
from engine.training.train_state import StateLayout

REPEATS, REPEATS_MAX = 3, 100


@dataclass(frozen=True, slots=True)
class Timing:
    """One node of a step.

    Attributes:
        name: as the list of the graph's nodes has it; steps of the update are numbered.
        op: what it does.
        phase: "forward", "backward" or "update".
        seconds: of its NumPy kernel, the median of all repeats.
        bytes_read: of its inputs.
        bytes_made: of its outputs.
        shape: of its first output.
        dtype: of its first output.
        operations: estimated arithmetic operations.
        live_bytes: of all that is held while it runs; an update holds all of its memory throughout.
    """

    name: str
    op: str
    phase: Literal["forward", "backward", "update"]
    seconds: float
    bytes_read: int
    bytes_made: int
    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    operations: int = 0
    live_bytes: int = 0


def profile_step(definition: Definition, request: Mapping[str, Any], admit: Admit = admit_any) -> list[Timing]:
    """Measure a training step of a graph node by node, each by its NumPy kernel: forward, backward and update.

    Args:
        definition: the graph; without a loss there is only its forward pass.
        request: {"inputs", "parameters", "buffers", "seed"} as `compute` takes them, "optimizer" as in a recipe (left
            out: no update) and "repeats" 3.
        admit: called with the cost before anything is allocated; may raise.

    Raises:
        DocumentError: with pointers into the request.
    """
    reader = Reader()
    request = reader.mapping(request, "")
    reader.fields(request, "", (*WITHOUT_MODE, "optimizer", "repeats"))
    repeats = reader.typed(request.get("repeats", REPEATS), int, "/repeats", "repeats", REPEATS)
    if not 1 <= repeats <= REPEATS_MAX:
        reader.fault("/repeats", "out_of_range", f"repeats must lie between 1 and {REPEATS_MAX}")
    point = read_point(definition, request, reader, training=True)
    recipe = _recipe(definition, request["optimizer"]) if request.get("optimizer") is not None else None
    runner = NodeRunner(point)
    cost = cost_of_runner(runner, repeats)
    if recipe is None:
        admit(cost)
        return profile(runner, repeats)
    form, plan = _update(point.definition, point, recipe)
    # The arrays of the model and its gradients, and the copies of them that are stepped.
    held = sum(allocation.nbytes for allocation in plan.allocations if allocation.kind == "state")
    taken = {**cost.terms, "update_bytes": plan.peak_bytes + held}
    check_memory(Cost(taken))
    admit(Cost(taken, cost.operations + check_work(plan, "/repeats", "ask for fewer repeats", repeats)))
    return [*profile(runner, repeats), *profile_update(plan, _arrays(form, runner), repeats)]


def profile(runner: NodeRunner, repeats: int = 1) -> list[Timing]:
    """Measure the forward and the backward pass of a step.

    Raises:
        DocumentError: numbers that an op does not take.
    """
    return _medians([list(_time_nodes(runner)) for _ in range(repeats)])


def plan_of_update(form: StateLayout, recipe: Recipe) -> Plan:
    """Return the plan of the update by gradients that have been added up."""
    return cached_plan(plan_update, form, recipe, form.flat_groups, "sum", tells_clipping=True)


def profile_update(plan: Plan, arrays: Mapping[str, Array], repeats: int = 1) -> list[Timing]:
    """Measure an update on copies of the arrays that it works on."""
    executor = NumpyExecutor(plan, {name: arrays[name].copy() for name in plan.state})
    return _medians([_time_steps(executor) for _ in range(repeats)])


def _time_nodes(runner: NodeRunner) -> list[Timing]:
    return [
        Timing(
            run.name,
            run.op,
            "backward" if run.backward else "forward",
            run.seconds,
            sum(array.nbytes for array in run.inputs),
            sum(array.nbytes for array in run.outputs),
            run.outputs[0].shape,
            run.outputs[0].dtype.name,
            run.operations,
            run.live_bytes,
        )
        for run in runner.run_nodes()
    ]


def _time_steps(executor: NumpyExecutor) -> list[Timing]:
    plan, timings = executor.plan, []
    for place, step in enumerate(plan.steps):
        inputs, outputs = ([executor.arrays[n] for n in numbers] for numbers in (step.inputs, step.outputs))
        call = prepare(step, inputs, outputs)
        with np.errstate(all="ignore"):
            start = time.perf_counter()
            if call is not None:
                call()
            seconds = time.perf_counter() - start
        inputs, outputs = ([executor.arrays[n] for n in numbers] for numbers in (step.inputs, step.outputs))
        read, made = (sum(array.nbytes for array in arrays) for arrays in (inputs, outputs))
        shape, dtype = outputs[0].shape, outputs[0].dtype.name
        timings.append(
            Timing(
                f"update {place}",
                step.op.name,
                "update",
                seconds,
                read,
                made,
                shape,
                dtype,
                plan.flops_of(step),
                plan.peak_bytes,
            )
        )
    return timings


def _medians(runs: Sequence[Sequence[Timing]]) -> list[Timing]:
    return [replace(same[0], seconds=median(timing.seconds for timing in same)) for same in zip(*runs, strict=True)]


def _update(definition: Definition, point: EvaluationPoint, recipe: Recipe) -> tuple[StateLayout, Plan]:
    try:
        form = StateLayout(definition, trained_parameters(definition, point.dims), recipe.groups)
        plan = plan_of_update(form, recipe)
    except EngineError as error:  # such as an optimizer that steps matrices only
        raise _refusal(error.code, str(error)) from error
    if not form.flat_groups:
        raise _refusal("nothing_to_train", "no loss depends on a trainable parameter, so there is nothing to update")
    return form, plan


def _arrays(form: StateLayout, runner: NodeRunner) -> dict[str, Array]:
    """Return the arrays of a model at the parameters of a walk; optimizer state and gradients are 0."""
    arrays = {name: np.zeros(spec.shape, spec.dtype) for name, spec in form.specs.items()}
    for flat in form.flat_groups:
        arrays[GRADIENT + flat.name] = np.zeros(flat.size, flat.dtype)
        for name, window in flat.views(arrays[flat.name]).items():
            window[...] = runner.arrays[name]
    return arrays


def _recipe(definition: Definition, optimizer: Any) -> Recipe:
    if not definition.losses:
        raise _refusal("no_loss", "the graph has no loss, so there is no gradient to update by; leave out 'optimizer'")
    recipe = read_recipe({"optimizer": optimizer, "steps": 1, "record": {"gradient_norms": False}})
    if recipe.closure:
        raise _refusal("conflict", "lbfgs evaluates the loss several times a step; take another, or leave it out")
    return recipe


def _refusal(code: str, detail: str) -> DocumentError:
    return DocumentError([Finding("/optimizer", code, detail)])
