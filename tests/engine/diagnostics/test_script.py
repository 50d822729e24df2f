"""Graphs as scripts: they train and evaluate where there is no engine, and compute the numbers of a fit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import engine

pytestmark = pytest.mark.law

BATCH, STEPS = 8, 5
DRAW = np.random.default_rng(3)
ROWS = BATCH * 3
MLP = {
    "name": "mlp",
    "inputs": {"x": ["batch", 6], "label": {"shape": ["batch"], "dtype": "int64"}},
    "parameters": {
        "w1": {"shape": [6, 8], "init": {"kind": "orthogonal", "scale": 1.5}},
        "b1": {"shape": [8], "init": {"kind": "uniform", "low": -0.1, "high": 0.1}},
        "w2": [8, 3],
        "still": {"shape": [3], "frozen": True, "init": {"kind": "normal"}},
    },
    "nodes": [
        {"name": "h", "op": "matmul", "inputs": ["x", "w1"]},
        {"name": "hb", "op": "add", "inputs": ["h", "b1"]},
        {"name": "a", "op": "gelu", "inputs": ["hb"]},
        {"name": "z", "op": "matmul", "inputs": ["a", "w2"]},
        {"name": "logits", "op": "add", "inputs": ["z", "still"]},
        {"name": "loss", "op": "cross_entropy", "inputs": ["logits", "label"]},
    ],
    "outputs": ["logits"],
    "losses": ["loss"],
}
CNN = {
    "name": 'a "name" \\ of\u2028any kind',
    "inputs": {"x": ["batch", 1, 6, 6], "label": {"shape": ["batch"], "dtype": "int64"}},
    "layers": [
        {"layer": "conv2d", "channels": 4, "kernel": 3, "padding": 1},
        {"layer": "batch_norm"},
        {"layer": "relu"},
        {"layer": "flatten"},
        {"layer": "dropout", "p": 0.3},
        {"layer": "linear", "units": 3},
    ],
    "loss": "cross_entropy",
}
NORM = {
    "inputs": {"x": ["batch", 6], "y": ["batch"]},
    "parameters": {"w": [6], "b": []},
    "program": "h = dropout(layer_norm(x), p=0.2)\npred = h @ w + b\nloss = mean(abs(pred - y)) + 0.01 * sum(w ** 2)",
}
LINE = {
    "name": "line",
    "inputs": {"x": ["batch", 6], "y": ["batch"], "scale": []},
    "parameters": {"w": [6], "b": []},
    "program": "pred = scale * (x @ w) + b\nloss = mean((pred - y) ** 2)",
    "outputs": ["pred"],
}
COLUMNS: dict[str, dict[str, Any]] = {
    "mlp": {"x": DRAW.standard_normal((ROWS, 6)).astype(np.float32), "label": DRAW.integers(0, 3, ROWS)},
    "cnn": {"x": DRAW.standard_normal((ROWS, 1, 6, 6)).astype(np.float32), "label": DRAW.integers(0, 3, ROWS)},
}
COLUMNS["norm"] = {"x": COLUMNS["mlp"]["x"], "y": DRAW.standard_normal(ROWS).astype(np.float32)}
GRAPHS = {"mlp": MLP, "cnn": CNN, "norm": NORM}
KINDS = [entry["kind"] for entry in engine.optimizer_catalogue()]
CASES = [("mlp", kind) for kind in KINDS if kind not in ("lbfgs", "muon")]
CASES += [(graph, kind) for graph in ("cnn", "norm") for kind in ("sgd", "adam", "adafactor")]


def script(document: dict[str, Any], optimizer: str | None) -> str:
    return engine.graph_program(engine.parse_graph(document), BATCH, None if optimizer is None else {"kind": optimizer})


def loaded(text: str) -> dict[str, Any]:
    """Run a script in a namespace of its own; what it defines."""
    namespace: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "<program>", "exec", dont_inherit=True), namespace)
    return namespace


def fitted(graph: str, optimizer: str | dict[str, Any], **options: Any) -> tuple[list[float], engine.Fit]:
    """Return the losses of a fit that takes the rows in order, and the fit."""
    recipe: dict[str, Any] = {"optimizer": optimizer, "steps": STEPS, "batch_size": BATCH, "shuffle": False, **options}
    fit = engine.Fit(
        engine.parse_graph(GRAPHS[graph]),
        engine.read_recipe(recipe),
        COLUMNS[graph],
        execution=engine.Execution("numpy"),
    )
    return [point.values["loss"] for point in fit if point.split == "train"], fit


def learned(fit: engine.Fit) -> dict[str, bytes]:
    arrays = {**fit.model.parameters, **fit.model.buffers}
    return {name: array.tobytes() for name, array in arrays.items()}


@pytest.mark.parametrize(("graph", "optimizer"), CASES)
def test_a_script_comes_to_the_bits_of_a_fit(graph: str, optimizer: str) -> None:
    losses, fit = fitted(graph, optimizer)
    program = loaded(script(GRAPHS[graph], optimizer))
    found = [step["loss"].item() for step in program["train"](program["batches"](COLUMNS[graph], STEPS))]
    assert found == losses
    assert len(set(found)) == STEPS
    arrays = {**program["PARAMETERS"], **program["BUFFERS"]}
    assert {name: array.tobytes() for name, array in arrays.items()} == learned(fit)


def test_a_script_starts_from_the_values_and_draws_of_any_seed() -> None:
    losses, _ = fitted("cnn", "sgd", seed=7)
    program = loaded(script(CNN, "sgd"))
    batches = list(program["batches"](COLUMNS["cnn"], STEPS))
    list(program["train"](batches))
    program["start"](7)
    assert [step["loss"].item() for step in program["train"](batches, 7)] == losses


def test_steps_can_be_taken_in_parts_and_at_another_rate() -> None:
    losses, _ = fitted("cnn", {"kind": "sgd", "lr": 0.5})
    program = loaded(script(CNN, "sgd"))
    batches = list(program["batches"](COLUMNS["cnn"], STEPS))
    parts = [*program["train"](batches[:2], lr=0.5), *program["train"](batches[2:], lr=0.5, first=2)]
    assert [step["loss"].item() for step in parts] == losses


def test_an_evaluation_gives_the_outputs_from_the_inputs_that_they_need() -> None:
    _, fit = fitted("cnn", "adam")
    program = loaded(script(CNN, None))
    assert program["FED"] == ["x"]
    for name, array in {**fit.model.parameters, **fit.model.buffers}.items():
        {**program["PARAMETERS"], **program["BUFFERS"]}[name][...] = array
    batch = {"x": COLUMNS["cnn"]["x"][:BATCH]}
    predictor = engine.Predictor(engine.parse_graph(CNN), fit.snapshot())
    for name, output in predictor.predict(batch).items():
        np.testing.assert_array_equal(program["evaluate"](batch)[name], output)


def test_inputs_without_rows_go_into_every_batch() -> None:
    program = loaded(script(LINE, "sgd"))
    data = {"x": np.ones((20, 6)), "y": np.arange(20.0), "scale": np.array(2.0)}
    first, second = program["batches"](data)
    assert first["scale"] == second["scale"] == 2.0
    assert second["y"].tolist() == list(range(8, 16))


def alone(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as a person would, in a place where nothing but NumPy and the standard library can be imported."""
    (cwd / "block.py").write_text(
        "import runpy, sys\n"
        "class Block:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] not in {'numpy', *sys.stdlib_module_names, *sys.builtin_module_names}:\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Block())\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_path(sys.argv[0], run_name='__main__')\n"
    )
    command = [sys.executable, "-I", "block.py", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


def test_a_script_is_run_by_a_person_on_data_of_theirs(tmp_path: Path) -> None:
    losses, fit = fitted("mlp", "adam", seed=2)
    (tmp_path / "train.py").write_text(script(MLP, "adam"))
    (tmp_path / "evaluate.py").write_text(script(MLP, None))
    np.savez(tmp_path / "data.npz", **COLUMNS["mlp"])
    trained = alone("train.py", "data.npz", "--steps", "5", "--seed", "2", "--save", "trained.npz", cwd=tmp_path)
    assert (trained.returncode, trained.stderr) == (0, "")
    lines = [line.split() for line in trained.stdout.splitlines()]
    assert [(line[0], line[1], line[2]) for line in lines] == [("step", str(n + 1), "loss") for n in range(STEPS)]
    assert [np.float32(line[3]).item() for line in lines] == losses
    with np.load(tmp_path / "trained.npz") as file:
        assert {name: file[name].tobytes() for name in file.files} == learned(fit)
    evaluated = alone("evaluate.py", "data.npz", "--parameters", "trained.npz", "--save", "outputs.npz", cwd=tmp_path)
    assert (evaluated.returncode, evaluated.stderr) == (0, "")
    outputs = fit_outputs(fit)
    with np.load(tmp_path / "outputs.npz") as file:
        np.testing.assert_array_equal(file["logits"], outputs[:BATCH])
    assert evaluated.stdout.count("logits") == ROWS // BATCH


def fit_outputs(fit: engine.Fit) -> Any:
    return engine.Predictor(engine.parse_graph(MLP), fit.snapshot()).predict({"x": COLUMNS["mlp"]["x"]}, chunk=BATCH)[
        "logits"
    ]


def test_a_script_runs_on_made_up_numbers_and_refuses_data_that_do_not_fit(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(script(LINE, "sgd"))
    made_up = alone("train.py", cwd=tmp_path)
    losses = [float(line.split()[3]) for line in made_up.stdout.splitlines()]
    assert (made_up.returncode, len(losses)) == (0, 10)
    assert losses[-1] < losses[0]
    good = {"x": np.ones((8, 6)), "y": np.ones(8), "scale": 1.0}
    faults = {"no array 'y'": {"x": good["x"]}, "shape (8, 5)": {**good, "x": np.ones((8, 5))}}
    faults["7 rows"] = {**good, "x": np.ones((7, 6))}
    program = loaded(script(LINE, "sgd"))
    for message, arrays in faults.items():
        np.savez(tmp_path / "data.npz", **arrays)
        with pytest.raises(SystemExit) as refused:
            list(program["batches"](program["read"](tmp_path / "data.npz")))
        assert message in str(refused.value)
    np.savez(tmp_path / "data.npz", v=np.ones(6))
    with pytest.raises(SystemExit, match="nothing is called 'v'"):
        program["load"](tmp_path / "data.npz")


def test_names_of_the_graph_do_not_get_in_the_way_of_those_of_the_script(tmp_path: Path) -> None:
    document = {
        "name": "train",
        "inputs": {"step": ["batch", 2], "zlib": ["batch"]},
        "parameters": {"file": [2], "PARAMETERS": [2, 2], "start": [2], "kaiming_uniform": []},
        "program": "save = step @ PARAMETERS\nmain = save @ (file * start) + kaiming_uniform\n"
        "loss = mean((main - zlib) ** 2)",
    }
    (tmp_path / "train.py").write_text(script(document, "adamw"))
    trained = alone("train.py", "--save", "trained.npz", cwd=tmp_path)
    assert (trained.returncode, trained.stderr) == (0, "")
    with np.load(tmp_path / "trained.npz") as file:
        assert set(file.files) == {"file", "PARAMETERS", "start", "kaiming_uniform"}
    again = alone("train.py", "--parameters", "trained.npz", "--steps", "1", cwd=tmp_path)
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.parametrize("optimizer", ["adamm", "lbfgs"])
def test_an_optimizer_that_has_no_step_of_one_plan_is_refused(optimizer: str) -> None:
    with pytest.raises(engine.EngineError, match=r"adam|lbfgs"):
        script(MLP, optimizer)
