"""Plans as NumPy programs: they run alone, and give the bits of the NumPy executor."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine
from engine.autograd.backward import pull_back
from engine.core.dtypes import BFLOAT16, FLOAT16
from engine.core.errors import EngineError
from engine.core.fingerprint import blas_threads
from engine.core.modes import tracing
from engine.core.registry import OPS as REGISTRY
from engine.core.registry import Op, primitive
from engine.core.shape_rules import same
from engine.core.value import Array, Value
from engine.execution.plan import NumpyExecutor, Plan, make_plan, plan_program
from engine.ops import OPS
from engine.training.step.plans import plan_training, trained_parameters
from engine.training.train_state import StateOptions, TrainState

pytestmark = pytest.mark.law

OPS_IN_A_PLAN = 96  # definitions that kernels share are read once for a plan
RUNS = 2


def groups() -> list[list[Op[Any]]]:
    """All ops but those that cannot be planned, in random groups."""
    ops = [op for op in OPS.values() if not op.data_dependent]
    random.Random(1).shuffle(ops)
    return [ops[start : start + OPS_IN_A_PLAN] for start in range(0, len(ops), OPS_IN_A_PLAN)]


def loaded(plan: Plan) -> dict[str, Any]:
    """Run the program of a plan in a namespace of its own; what it defines."""
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(plan_program(plan), "<program>", "exec", dont_inherit=True), namespace)
    return namespace


def bits(arrays: Mapping[str, Array]) -> dict[str, bytes]:
    return {name: np.ascontiguousarray(array).tobytes() for name, array in arrays.items()}


def check(plan: Plan, feeds: list[dict[str, Array]], state: Mapping[str, Array]) -> None:
    """Run a plan by the executor and as a program, and compare outputs and state after each run."""
    executed = {name: array.copy() for name, array in state.items()}
    written = {name: array.copy() for name, array in state.items()}
    executor, step = NumpyExecutor(plan, executed), loaded(plan)["step"]
    for feed in feeds:
        for name, array in feed.items():
            executor.inputs[name][...] = array
        executor.run()
        outputs = step(feed, written)
        assert {n: (a.shape, a.dtype) for n, a in outputs.items()} == {
            n: (a.shape, a.dtype) for n, a in executor.outputs.items()
        }
        assert bits(outputs) == bits(executor.outputs)
        assert bits(written) == bits(executed)


def every_sample(ops: list[Op[Any]], dtype: str) -> tuple[Plan, dict[str, Array]]:
    """Plan all samples of some ops and their gradients; also return the inputs."""
    arrays: dict[str, Array] = {}
    leaves: dict[str, Value] = {}
    outputs: dict[str, Value] = {}
    with tracing(lambda: pytest.fail("samples hold their keys")):
        for op in ops:
            for number, sample in enumerate(op.samples):
                place = f"{op.name}.{number}"
                drawn = [np.asarray(array) for array in sample.arrays(f"{op.name}-{number}")]
                mine = {f"{place}.x{i}": a.astype(dtype) if a.dtype.kind == "f" else a for i, a in enumerate(drawn)}
                inputs = {n: Value(a.shape, a.dtype, None, requires_grad=a.dtype.kind == "f") for n, a in mine.items()}
                created = op(*inputs.values(), **sample.attrs)
                results = list(created) if isinstance(created, tuple) else [created]
                outputs.update({f"{place}.y{i}": result for i, result in enumerate(results)})
                tracked = [y for y in results if y.requires_grad]
                seeds = [Value(y.shape, y.dtype, np.ones(y.shape, y.dtype)) for y in tracked]
                slopes = pull_back(tracked, seeds, [x for x in inputs.values() if x.requires_grad])
                outputs.update({f"{place}.d{i}": slope for i, slope in enumerate(slopes) if slope is not None})
                arrays.update(mine)
                leaves.update(inputs)
    return make_plan(leaves, {}, outputs, {}), arrays


@pytest.mark.slow
@pytest.mark.parametrize("ops", [pytest.param(group, id=f"group {n}") for n, group in enumerate(groups())])
def test_the_program_of_any_op_and_its_gradient_gives_the_bits_of_the_executor(ops: list[Op[Any]]) -> None:
    plan, arrays = every_sample(ops, "float32")
    check(plan, [arrays] * RUNS, {})


MLP = {
    "inputs": {"x": ["batch", 6], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 8, "activation": "relu"}, {"layer": "linear", "units": 3}],
    "loss": "cross_entropy",
}
CNN = {
    "inputs": {"x": ["batch", 1, 8, 8], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "conv2d", "channels": 4, "kernel": 3, "padding": 1},
        {"layer": "batch_norm"},
        {"layer": "relu"},
        {"layer": "max_pool2d", "kernel": 2},
        {"layer": "flatten"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 3},
    ],
    "loss": "cross_entropy",
}
TRANSFORMER = {
    "inputs": {"x": {"shape": ["batch", 5], "dtype": "int64"}, "label": {"shape": ["batch", 5], "dtype": "int64"}},
    "layers": [
        {"layer": "embedding", "rows": 3, "units": 8},
        {"layer": "transformer_encoder_layer", "heads": 2, "width": 16, "dropout": 0.1, "causal": True},
        {"layer": "linear", "units": 3},
        {"layer": "permute", "axes": [0, 2, 1]},
    ],
    "loss": {"kind": "cross_entropy", "target": "label"},
}
LSTM = {
    "inputs": {"x": ["batch", 4, 6], "y": ["batch", 4, 5]},
    "layers": [{"layer": "lstm", "units": 5}],
    "loss": {"kind": "mse", "target": "y"},
}
WIDE = {
    "inputs": {"x": ["batch", 600], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [{"layer": "linear", "units": 600, "activation": "gelu"}, {"layer": "linear", "units": 3}],
    "loss": "cross_entropy",
}
TRAININGS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mlp": (MLP, {"optimizer": "adamw", "clip": {"norm": 1.0}}),
    "cnn": (CNN, {"optimizer": {"kind": "sgd", "momentum": 0.9}, "average": {"kind": "ema"}}),
    "transformer": (TRANSFORMER, {"optimizer": "adafactor"}),
    "lstm": (LSTM, {"optimizer": "lion", "precision": "float64"}),
    "mixed_float16": (WIDE, {"optimizer": "adam", "precision": "mixed_float16"}),
    "mixed_bfloat16": (WIDE, {"optimizer": "adam", "precision": "mixed_bfloat16"}),
}
BATCH, STEPS = 8, 3


def training(name: str) -> tuple[Plan, dict[str, Array], list[dict[str, Array]]]:
    """A plan of training steps, the state it starts from, and what to feed to each step."""
    document, options = TRAININGS[name]
    recipe = engine.read_recipe({"steps": STEPS, "batch_size": BATCH, **options})
    definition = engine.parse_graph(document)
    dims = dict.fromkeys(definition.dimension_names, BATCH)
    model = TrainState(
        definition, trained_parameters(definition, dims), recipe.groups, 0, StateOptions(scaled=recipe.scaled)
    )
    plan = plan_training(model, dims, recipe)
    draw = np.random.default_rng(0)
    feeds = []
    for step in range(STEPS):
        feed = {}
        for leaf, number in plan.inputs.items():
            shape, dtype = plan.buffers[number].spec
            drawn = draw.integers(0, 3, shape) if dtype.kind == "i" else draw.standard_normal(shape)
            feed[leaf] = np.asarray(drawn).astype(dtype)
        feed.update({":key": np.array([0, step]), ":lr:0": np.array(1e-2)})
        feeds.append(feed)
    return plan, model.arrays, feeds


ALONE = """
import pathlib, sys
import numpy as np

class NoEngine:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("engine", "app"):
            raise ImportError(name)

sys.meta_path.insert(0, NoEngine())
for source in sorted(pathlib.Path(sys.argv[1]).glob("*.py")):
    program = {"__name__": "program"}
    exec(compile(source.read_text(), source.name, "exec"), program)
    given, results = np.load(source.with_suffix(".npz")), {}
    for name, array in program["STATE"].items():
        array[...] = given[f"state {name}"]
    for step in range(int(sys.argv[2])):
        outputs = program["step"]({name: given[f"{step} {name}"] for name in program["INPUTS"]})
        results.update({f"{step} {name}": array for name, array in outputs.items()})
        results.update({f"{step} state {name}": array.copy() for name, array in program["STATE"].items()})
    np.savez(source.with_suffix(".out.npz"), **results)
"""


def test_programs_of_training_steps_run_where_there_is_no_engine_and_give_the_same_bits(tmp_path: Path) -> None:
    names = [name for name in TRAININGS if BFLOAT16 is not None or "bfloat16" not in name]
    trainings = {name: training(name) for name in names}
    for name, (plan, state, feeds) in trainings.items():
        (tmp_path / f"{name}.py").write_text(plan_program(plan))
        arrays = {f"{step} {leaf}": array for step, feed in enumerate(feeds) for leaf, array in feed.items()}
        np.savez(tmp_path / f"{name}.npz", **arrays, **{f"state {n}": array for n, array in state.items()})
    # The bits of products depend on it, and tests that ran before in this process may have changed it.
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": blas_threads()}
    command = [sys.executable, "-I", "-c", ALONE, str(tmp_path), str(STEPS)]
    subprocess.run(command, check=True, timeout=120, env=environment)
    for name, (plan, state, feeds) in trainings.items():
        executor, found = NumpyExecutor(plan, state), np.load(tmp_path / f"{name}.out.npz")
        for step, feed in enumerate(feeds):
            for leaf, array in feed.items():
                executor.inputs[leaf][...] = array
            executor.run()
            expected = {**executor.outputs, **{f"state {n}": array for n, array in state.items()}}
            assert bits({n: found[f"{step} {n}"] for n in expected}) == bits(expected), f"{name}, step {step}"
            assert np.isfinite(executor.outputs["loss"])


def test_a_program_that_needs_no_half_types_imports_only_numpy_and_the_standard_library() -> None:
    text = plan_program(training("cnn")[0])
    lines = [line.split() for line in text.splitlines() if line.startswith(("import ", "from "))]
    imported = {line[1].partition(".")[0] for line in lines}
    assert "numpy" in imported
    assert imported <= {"numpy", *sys.stdlib_module_names}


def test_a_program_has_state_of_its_own_that_starts_at_zero_and_is_the_default() -> None:
    plan, state, feeds = training("mlp")
    program = loaded(plan)
    assert not any(array.any() for array in program["STATE"].values())
    for name, array in program["STATE"].items():
        array[...] = state[name]
    program["step"](feeds[0])
    assert bits(program["STATE"]) != bits(state)
    program["step"](feeds[0], state)
    assert bits(program["STATE"]) == bits(state)


def test_the_program_of_a_plan_with_shards_computes_what_one_without_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_: 4)
    draw = np.random.default_rng(0)
    x, label = draw.standard_normal((8, 5)), draw.integers(0, 3, 8)
    state = {"w": draw.standard_normal((5, 3)), "b": draw.standard_normal(3)}
    leaves = {"x": Value(x.shape, x.dtype, None), "label": Value(label.shape, label.dtype, None)}
    states = {name: Value(a.shape, a.dtype, None, requires_grad=True) for name, a in state.items()}
    with tracing(lambda: pytest.fail("nothing is random")):
        y = OPS["tanh"](OPS["matrix_product"](leaves["x"], states["w"]) + states["b"])
        loss = OPS["cross_entropy"](y, leaves["label"])
        slopes = pull_back([loss], [Value((), x.dtype, np.ones(()))], list(states.values()))
        updates = {n: v - 0.1 * g for (n, v), g in zip(states.items(), slopes, strict=True) if g is not None}
    results = []
    for shards in (1, 2, 4):
        plan = make_plan(leaves, states, {"loss": loss, "y": y}, updates, rows=("x", "label"), most_shards=shards)
        assert plan.shards == shards
        step, mine = loaded(plan)["step"], {name: array.copy() for name, array in state.items()}
        results.append([{**step({"x": x, "label": label}, mine), **{n: a.copy() for n, a in mine.items()}}])
        results[-1].append(step({"x": -x, "label": label}, mine))
    for found in results[1:]:
        for one, several in zip(results[0], found, strict=True):
            for name in one:
                np.testing.assert_allclose(several[name], one[name], rtol=1e-12, atol=1e-14, err_msg=name)


def test_constants_that_are_long_not_finite_or_half_types_keep_their_bits() -> None:
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(100), np.array([np.nan, -0.0, np.inf]), np.array([0.1, -0.0], np.float32)]
    arrays += [np.array([[True], [False]]), draw.standard_normal(5000).astype(FLOAT16), np.zeros((0, 3))]
    leaf = Value((), arrays[0].dtype, None)
    with tracing(lambda: pytest.fail("nothing is random")):
        constants = [Value(a.shape, a.dtype, a) for a in arrays]
        outputs = {str(i): OPS["copy"](constant) for i, constant in enumerate(constants)}
    check(make_plan({"x": leaf}, {}, outputs, {}), [{"x": np.zeros(())}], {})


def test_names_of_leaves_that_are_no_identifiers_or_clash_with_a_kernel_do_not_get_in_its_way() -> None:
    names = ["np", "step", "relu", "class", "a.b/c", "a-b", "1", ":lr:0", "list", '"""']
    leaves = {name: Value((2,), np.dtype("float32"), None) for name in names}
    with tracing(lambda: pytest.fail("nothing is random")):
        outputs = {name: OPS["relu"](leaf) for name, leaf in leaves.items()}
    plan = make_plan(leaves, {}, outputs, {})
    check(plan, [{name: np.array([-1, i], np.float32) for i, name in enumerate(names)}], {})


def test_a_kernel_that_is_not_at_the_top_level_of_a_module_is_refused() -> None:
    @primitive(shape_rule=same)
    def hidden_kernel(x: Array, *, out: Array | None = None) -> Array:
        """Itself."""
        return np.positive(x, out=out)

    try:
        leaf = Value((2,), np.dtype("float32"), None)
        plan = make_plan({"x": leaf}, {}, {"y": hidden_kernel(leaf)}, {})
        with pytest.raises(EngineError, match=r"hidden_kernel.*top level"):
            plan_program(plan)
    finally:
        del REGISTRY["hidden_kernel"]
