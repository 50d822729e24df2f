"""The verifier of plans: whatever it accepts computes the right numbers, and faults of every kind are refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

import engine
from engine.core.errors import PlanError
from engine.core.modes import tracing
from engine.core.sharding_rules import WHOLE
from engine.core.value import Array, Value
from engine.execution.native.executor import NativeExecutor
from engine.execution.plan import Plan, make_plan
from engine.execution.plan.plan import Phase
from engine.execution.plan.verifier import verify_plan
from engine.training.step.plans import plan_training
from tests.extent import FULL

ROWS = 512
TRIES = 12 if FULL else 6
GRAPHS = {
    "elementwise": {
        "inputs": {"x": ["batch", 64], "y": ["batch", 64]},
        "parameters": {"p": [64], "q": [64]},
        "program": "a = x * p\nm = minimum(a, a + 1.0)\nb = hardswish(a * q) * exp(clamp(a, min=-1, max=1))\n"
        "loss = sum(logaddexp(m, b) * 2.0) + sum((flip(a, axis=0) - y * b) ** 2)",
    },
    "gather": {
        "inputs": {"x": ["batch", 16], "y": ["batch", 32], "pick": {"shape": ["batch"], "dtype": "int64"}},
        "parameters": {"w": [16, 32], "v": [16, 256]},
        "program": "h = tanh(x @ w)\nq = embedding(h, pick)\nk = tanh(x @ v)\n"
        "loss = mean((q - y) ** 2) + mean(k * softmax(k, axis=1))",
    },
    "layers": {
        "inputs": {"x": ["batch", 16], "y": ["batch", 32]},
        "layers": [
            {"layer": "linear", "units": 64, "activation": "gelu"},
            {"layer": "layer_norm"},
            {"layer": "linear", "units": 32},
        ],
        "loss": "mse",
    },
}
RECIPE = {"optimizer": {"kind": "adamw", "lr": 0.01}, "clip": {"norm": 1.0}, "average": {"kind": "ema", "decay": 0.9}}


class Subject:
    """A plan, with the numbers that it has to give."""

    def __init__(self, name: str, shards: int) -> None:
        document = GRAPHS[name]
        rng = np.random.default_rng(0)
        self.columns: dict[str, Array] = {
            "x": rng.standard_normal((ROWS, document["inputs"]["x"][1])).astype(np.float32),
            "y": rng.standard_normal((ROWS, document["inputs"]["y"][1])).astype(np.float32),
            "pick": rng.integers(0, ROWS, ROWS),
        }
        self.columns = {key: self.columns[key] for key in document["inputs"]}
        recipe = engine.read_recipe({"steps": 3, "batch_size": ROWS, **RECIPE})
        fit = engine.Fit(engine.parse_graph(document), recipe, self.columns, execution=engine.Execution("numpy"))
        self.arrays = fit.model.arrays
        self.plan = plan_training(fit.model, {"batch": ROWS}, fit.recipe, most_shards=shards)
        assert self.plan.shards == shards
        self.expected = self.results(self.plan)

    def results(self, plan: Plan) -> list[bytes]:
        """The bits of states and outputs after two runs."""
        state = {name: array.copy() for name, array in self.arrays.items()}
        executor = NativeExecutor(plan, state, threads=2)
        for step in range(2):
            for name, column in self.columns.items():
                executor.inputs[name][...] = column
            executor.inputs[":key"][...] = (5, step)
            executor.inputs[":lr:0"][...] = 0.01
            executor.run()
        return [array.tobytes() for table in (state, executor.outputs) for _, array in sorted(table.items())]


def move_a_root(plan: Plan, choose: random.Random) -> Plan:
    """Lay a value of an arena somewhere else in it."""
    places = [
        place
        for place, allocation in enumerate(plan.allocations)
        if allocation.kind in ("arena", "shard") and allocation.nbytes
    ]
    place = choose.choice(places)
    allocation = plan.allocations[place]
    size = plan.arena_bytes if allocation.kind == "arena" else plan.shard_bytes
    offset = 64 * choose.randrange((size - allocation.nbytes) // 64 + 1)
    allocations = (*plan.allocations[:place], replace(allocation, offset=offset), *plan.allocations[place + 1 :])
    return replace(plan, allocations=allocations)


def share_a_root(plan: Plan, choose: random.Random) -> Plan:
    """Let a value be written over another one of its size."""
    by_size: dict[tuple[str, int], list[int]] = {}
    for place, allocation in enumerate(plan.allocations):
        if allocation.kind in ("arena", "shard"):
            by_size.setdefault((allocation.kind, allocation.nbytes), []).append(place)
    one, other = choose.sample(choose.choice([places for places in by_size.values() if len(places) > 1]), 2)
    allocations = list(plan.allocations)
    allocations[one] = replace(allocations[one], offset=allocations[other].offset)
    return replace(plan, allocations=tuple(allocations))


def swap_steps(plan: Plan, choose: random.Random) -> Plan:
    """Run two steps of a phase in the other order."""
    place = choose.choice([place for place, phase in enumerate(plan.phases) if len(phase.steps) > 1])
    steps = list(plan.phases[place].steps)
    at = choose.randrange(len(steps) - 1)
    steps[at], steps[at + 1] = steps[at + 1], steps[at]
    phase = replace(plan.phases[place], steps=tuple(steps))
    swapped = set(steps[at : at + 2])
    groups = tuple(group for group in plan.groups if not swapped & {*group})
    return replace(plan, phases=(*plan.phases[:place], phase, *plan.phases[place + 1 :]), groups=groups)


def join_groups(plan: Plan, choose: random.Random) -> Plan:
    """Let neighbouring steps run interleaved, whatever they read and write."""
    phase = choose.choice([phase for phase in plan.phases if len(phase.steps) > 1])
    first = choose.randrange(len(phase.steps) - 1)
    joined = phase.steps[first : first + choose.randrange(2, 9)]
    kept = [group for group in plan.groups if not {*joined} & {*group}]
    return replace(plan, groups=(*kept, joined))


def drop_a_window(plan: Plan, choose: random.Random) -> Plan:
    """Let shards see another part of an input than the rule of the op asks for."""
    found = [(at, i) for at, step in enumerate(plan.steps) for i, seen in enumerate(step.windows) if seen is not None]
    at, place = choose.choice(found)
    step = plan.steps[at]
    rank = len(plan.buffers[step.inputs[place]].spec.shape)
    windows = (*step.windows[:place], choose.choice([None, WHOLE, *range(rank)]), *step.windows[place + 1 :])
    return replace(plan, steps=(*plan.steps[:at], replace(step, windows=windows), *plan.steps[at + 1 :]))


def join_phases(plan: Plan, choose: random.Random) -> Plan:
    """Let shards run two of their phases without waiting for one another in between."""
    sharded = [at for at, phase in enumerate(plan.phases) if phase.sharded]
    if len(sharded) < 2:
        return plan
    at = choose.randrange(len(sharded) - 1)
    first, second = sharded[at : at + 2]
    joined = Phase(True, plan.phases[first].steps + plan.phases[second].steps)
    between = plan.phases[first + 1 : second]
    return replace(plan, phases=(*plan.phases[:first], joined, *between, *plan.phases[second + 1 :]))


MUTATIONS: dict[str, tuple[Callable[[Plan, random.Random], Plan], tuple[int, ...]]] = {
    "a value is moved": (move_a_root, (1, 2)),
    "a value lies over another": (share_a_root, (1, 2)),
    "two steps are swapped": (swap_steps, (1, 2)),
    "steps are interleaved": (join_groups, (1, 2)),
    "a window is another": (drop_a_window, (2,)),
    "phases are joined": (join_phases, (2,)),
}


@pytest.fixture(scope="module")
def subjects() -> list[Subject]:
    with pytest.MonkeyPatch.context() as patch:
        created = []
        for shards in (1, 2):
            patch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_, shards=shards: shards)
            created += [Subject(name, shards) for name in GRAPHS]
        return created


@pytest.mark.parametrize("kind", MUTATIONS)
def test_what_is_accepted_gives_the_right_bits_and_faults_are_refused(kind: str, subjects: list[Subject]) -> None:
    mutate, shards = MUTATIONS[kind]
    refused = 0
    for subject in subjects:
        if subject.plan.shards not in shards:
            continue
        for seed in range(TRIES):
            changed = mutate(subject.plan, random.Random(seed))
            try:
                verify_plan(changed)
            except PlanError:
                refused += 1
            else:
                assert subject.results(changed) == subject.expected, f"seed {seed}"
    assert refused


def test_every_kind_of_dropped_work_is_refused(subjects: list[Subject]) -> None:
    for subject in subjects:
        plan = subject.plan
        for at in range(0, len(plan.steps), 1 if FULL else 3):
            phases = tuple(replace(phase, steps=tuple(s for s in phase.steps if s != at)) for phase in plan.phases)
            with pytest.raises(PlanError, match="read at"):
                verify_plan(replace(plan, phases=phases, groups=()))
        for at in range(len(plan.copies)):
            with pytest.raises(PlanError, match="state"):
                verify_plan(replace(plan, copies=plan.copies[:at] + plan.copies[at + 1 :]))


def test_the_environment_asks_for_a_proof_of_every_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Plan] = []
    monkeypatch.setattr("engine.execution.plan.planner.verify_plan", seen.append)
    for asked, proofs in (("", 0), ("0", 0), ("1", 1)):
        monkeypatch.setenv("ADJOINT_VERIFY_PLANS", asked)
        seen.clear()
        x = Value((3,), np.dtype(np.float32), None, name="x")
        with tracing(lambda: pytest.fail("no random op is used here")):
            make_plan({"x": x}, {}, {"y": x * 2.0}, {})
        assert len(seen) == proofs
