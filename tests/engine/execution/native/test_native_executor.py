"""The native executor and shards: the numbers of the NumPy executor, the same bits by any number of threads."""

import numpy as np
import pytest

import engine
from engine.core.errors import ShapeError
from engine.execution.native.executor import NativeExecutor
from engine.execution.plan import NumpyExecutor
from engine.training.step.plans import plan_training

LINEAR = {"layer": "linear", "units": 8, "activation": "relu"}
OUT = {"layer": "linear", "units": 3}
BLOCK = {"layer": "transformer_encoder_layer", "heads": 2, "width": 16, "dropout": 0.0, "causal": True}
LABEL = {"shape": ["batch"], "dtype": "int64"}
TOKENS = {"shape": ["batch", 6], "dtype": "int64"}


def network(*layers, x=("batch", 6), loss="cross_entropy", y=LABEL):
    return {"inputs": {"x": x if isinstance(x, dict) else list(x), "y": y}, "layers": [*layers, OUT], "loss": loss}


CONVOLUTION = {"layer": "conv2d", "channels": 4, "kernel": 3, "padding": 1, "activation": "relu"}
POOL = {"layer": "max_pool2d", "kernel": 2}
FLAT = {"layer": "flatten"}
TABLE = {"layer": "embedding", "rows": 7, "units": 8}
IMAGES = ("batch", 2, 8, 8)
GRAPHS = {
    "mlp": network(LINEAR, LINEAR),
    "regression": network(LINEAR, loss="mse", y=["batch", 3]),
    "convolutions": network(CONVOLUTION, POOL, CONVOLUTION, POOL, FLAT, x=IMAGES),
    "batch norm": network(CONVOLUTION, {"layer": "batch_norm"}, {"layer": "dropout", "p": 0.3}, FLAT, x=IMAGES),
    "transformer": network(TABLE, BLOCK, {"layer": "layer_norm"}, FLAT, x=TOKENS),
    "lstm": network({"layer": "lstm", "units": 5, "result": "last"}, x=("batch", 6, 4)),
    "gru": network({"layer": "gru", "units": 5, "bidirectional": True}, FLAT, x=("batch", 6, 4)),
    "table": {
        "inputs": {"x": TOKENS, "y": ["batch"]},
        "parameters": {"table": [1024, 32], "bias": [1024, 1], "w": [64, 2]},
        # Shards make columns of the gradient of the large table, and summands of the others.
        "program": "h = flatten(embedding(table, x[:, :2]), start=1) @ w\nb = embedding(bias, x[:, 0])\n"
        "loss = mean((sum(tanh(h + b), axis=1) - y) ** 2)",
    },
    "squared": {
        "inputs": {"x": ["batch", 64], "y": ["batch", 64]},
        "parameters": {"w": [64, 64]},
        "program": "m = w @ w\nloss = mean((tanh(x @ m) - y) ** 2)",  # shards see both operands of w @ w differently
    },
    "turned": {
        "inputs": {"x": ["batch", 32], "y": ["batch", 32]},
        "parameters": {"a": [32, 64], "w": [64, 64]},
        "program": "h = a @ transpose(w)\nloss = mean((x @ h[:, :32] - y) ** 2) + mean(h * h)",
    },
    "shared": {
        "inputs": {"x": ["batch", 4], "y": ["batch", 4]},
        "parameters": {"w": [4, 4], "b": []},
        "program": "h = tanh(x @ w + b)\nz = h @ w\nloss = mean((z - y) ** 2) + sum(w * w) * 0.01",
    },
}
RECIPES = {
    "adamw": {"optimizer": {"kind": "adamw", "lr": 0.01, "weight_decay": 0.1}},
    "momentum": {"optimizer": {"kind": "sgd", "lr": 0.05, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}},
    "clipped": {"optimizer": {"kind": "adam", "lr": 0.01}, "clip": {"norm": 0.05}},
    "guarded": {"optimizer": {"kind": "lion", "lr": 0.001}, "divergence": {"action": "skip"}},
}
ROWS = 16


def columns(document, rows=ROWS):
    rng = np.random.default_rng(3)
    created = {}
    for name, spec in document["inputs"].items():
        shape = (rows, *(spec["shape"] if isinstance(spec, dict) else spec)[1:])
        created[name] = rng.integers(0, 3, shape) if isinstance(spec, dict) else rng.standard_normal(shape)
    return created


def planned(document, recipe, precision="float64", rows=ROWS):
    """Return a plan and the state it starts from."""
    read = engine.read_recipe({"steps": 9, "batch_size": rows, "precision": precision, **recipe})
    fit = engine.Fit(engine.parse_graph(document), read, columns(document), execution=engine.Execution("numpy"))
    return (lambda **options: plan_training(fit.model, {"batch": rows}, fit.recipe, **options)), fit.model.arrays


def trained(make, plan, arrays, document, **options):
    state = {name: array.copy() for name, array in arrays.items()}
    executor = make(plan, state, **options)
    outputs = []
    for step in range(3):
        for name, column in columns(document, len(executor.inputs["x"])).items():
            executor.inputs[name][...] = column
        executor.inputs[":key"][...] = (5, step)
        executor.inputs[":lr:0"][...] = 0.01
        executor.run()
        outputs.append({name: array.copy() for name, array in executor.outputs.items()})
    return state, outputs, executor


@pytest.fixture
def shards(monkeypatch):
    """Let plans have so many shards, however little there is to do."""

    def cut(count):
        monkeypatch.setattr("engine.execution.plan.planner.worthwhile_shards", lambda *_: count)
        return {"most_shards": count}

    return cut


@pytest.mark.parametrize("count", [1, 2, 4])
@pytest.mark.parametrize("name", GRAPHS)
def test_a_cut_plan_gives_the_numbers_of_the_whole_one(name, count, shards):
    document = GRAPHS[name]
    plan, arrays = planned(document, RECIPES["adamw"])
    expected, reported, _ = trained(NumpyExecutor, plan(), arrays, document)
    cut = plan(**shards(count))
    assert cut.shards == count
    found, outputs, _ = trained(NativeExecutor, cut, arrays, document, threads=2)
    for key, array in expected.items():
        np.testing.assert_allclose(found[key], array, rtol=1e-7, atol=1e-9, err_msg=key)
    for mine, theirs in zip(outputs, reported, strict=True):
        for key, array in theirs.items():
            np.testing.assert_allclose(mine[key], array, rtol=1e-7, atol=1e-12, err_msg=key)


@pytest.mark.parametrize("name", ["mlp", "convolutions", "batch norm", "transformer"])
def test_a_batch_of_an_odd_size_is_cut_by_columns(name, shards, monkeypatch):
    document, odd = GRAPHS[name], ROWS - 1
    monkeypatch.setattr("engine.core.sharding_rules.LEAST_ELEMENTS", 8)
    plan, arrays = planned(document, RECIPES["adamw"], rows=odd)
    expected, _, _ = trained(NumpyExecutor, plan(), arrays, document)
    few = plan(**shards(2))
    assert few.shards == 1  # its products are not worth it
    monkeypatch.setattr("engine.execution.plan.planner.worth_columns", lambda _: True)
    cut = plan(**shards(2))
    assert cut.shards == 2
    assert sum(len(phase.steps) for phase in cut.phases if phase.sharded) >= 8
    states = [trained(NativeExecutor, cut, arrays, document, threads=threads)[0] for threads in (1, 2)]
    for key, array in expected.items():
        np.testing.assert_allclose(states[0][key], array, rtol=1e-7, atol=1e-9, err_msg=key)
        assert states[0][key].tobytes() == states[1][key].tobytes(), key


@pytest.mark.parametrize("name", RECIPES)
def test_updates_are_cut_as_well(name, shards):
    document = GRAPHS["mlp"]
    plan, arrays = planned(document, RECIPES[name])
    expected, _, _ = trained(NumpyExecutor, plan(), arrays, document)
    found, _, _ = trained(NativeExecutor, plan(**shards(2)), arrays, document)
    for key, array in expected.items():
        np.testing.assert_allclose(found[key], array, rtol=1e-7, atol=1e-9, err_msg=key)


@pytest.mark.parametrize("name", ["mlp", "convolutions", "transformer", "lstm", "table"])
def test_any_number_of_threads_gives_the_same_bits(name, shards):
    document = GRAPHS[name]
    plan, arrays = planned(document, RECIPES["adamw"], "float32")
    cut = plan(**shards(4))
    states = [trained(NativeExecutor, cut, arrays, document, threads=threads)[0] for threads in (1, 2, 3, 4)]
    for state in states[1:]:
        for key, array in states[0].items():
            assert array.tobytes() == state[key].tobytes(), key


@pytest.mark.parametrize("name", ["mlp", "convolutions", "transformer"])
def test_shards_share_most_of_a_step(name, shards):
    plan, _ = planned(GRAPHS[name], RECIPES["adamw"])
    cut = plan(**shards(2))
    shared = sum(len(phase.steps) for phase in cut.phases if not phase.sharded)
    assert shared < len(cut.steps) / 2
    assert sorted(place for phase in cut.phases for place in phase.steps) == list(range(len(cut.steps)))


def test_a_batch_that_cannot_be_cut_evenly_stays_whole(shards):
    plan, _ = planned(GRAPHS["mlp"], RECIPES["adamw"])
    assert plan(**shards(5)).shards == 2


def test_a_class_out_of_range_is_refused_in_the_words_of_the_op(shards):
    document = GRAPHS["mlp"]
    plan, arrays = planned(document, RECIPES["adamw"])
    _, _, executor = trained(NativeExecutor, plan(**shards(2)), arrays, document)
    executor.inputs["y"][9] = 3
    with pytest.raises(ShapeError, match="class 3 is out of range for 3 classes"):
        executor.run()
    executor.inputs["y"][9] = 2
    executor.run()


def test_what_is_not_a_number_is_passed_on(shards):
    document = GRAPHS["mlp"]
    plan, arrays = planned(document, RECIPES["adamw"])
    state, _, executor = trained(NativeExecutor, plan(**shards(2)), arrays, document)
    executor.inputs["x"][3, 2] = np.nan
    executor.run()
    assert np.isnan(executor.outputs["loss"])
    assert np.isnan(state["vector:float64"]).any()


def test_subnormal_numbers_become_zero_and_python_keeps_them():
    document = GRAPHS["mlp"]
    plan, arrays = planned(document, RECIPES["adamw"], "float32")
    arrays["slot:moment1:vector:float32"][...] = 1e-44
    state, _, _ = trained(NativeExecutor, plan(), arrays, document)
    moments = np.abs(state["slot:moment1:vector:float32"].astype(np.float64))
    assert not ((moments > 0) & (moments < np.finfo(np.float32).tiny)).any()
    assert np.float32(1e-30) * np.float32(1e-10) > 0


def test_neighbouring_elementwise_steps_are_one_group():
    document = {
        "inputs": {"x": ["batch", 2048], "y": ["batch", 2048]},
        "parameters": {"w": [2048]},
        "program": "loss = mean((sigmoid(exp(x * w) - 1) - y) ** 2)",
    }
    plan, arrays = planned(document, RECIPES["adamw"])
    created = plan()
    names = [[created.steps[place].op.name for place in group] for group in created.groups]
    assert any(set(group) >= {"mul", "exp", "sub", "sigmoid"} for group in names)
    expected, _, _ = trained(NumpyExecutor, created, arrays, document)
    found, _, executor = trained(NativeExecutor, created, arrays, document)
    assert any(call.kernel.name == "chain" for call in executor.calls)
    for key, array in expected.items():
        np.testing.assert_allclose(found[key], array, rtol=1e-9, atol=1e-12, err_msg=key)


ROW_BY_ROW = {
    "a repeated parameter": "loss = sum(hardswish(x * p) * 2.0)",
    "a mask of bytes": "loss = sum(x * p * exp(clamp(x * p, min=-1, max=1)))",
    "an operand that is read twice": "a = x * p\nm = minimum(a, a + 1.0)\nloss = sum(logaddexp(m, a) * 2.0)",
    "rows in reverse": "a = x * p\nloss = sum((a * flip(a, axis=0) + a) * 2.0)",
    "a table made of the batch": "h = tanh(x * p)\nq = embedding(h, pick)\nloss = sum(q * x * 1.5)",
}


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("rows", [256, 8192], ids=["a whole batch", "shards"])
@pytest.mark.parametrize("program", ROW_BY_ROW.values(), ids=ROW_BY_ROW)
def test_operands_larger_than_a_block_give_the_gradients_of_the_numpy_executor(program, rows, precision):
    document = {
        "inputs": {"x": ["batch", 64], "pick": {"shape": ["batch"], "dtype": "int64"}},
        "parameters": {"p": [64]},
        "program": program,
    }
    rng = np.random.default_rng(0)
    batch = {"x": rng.standard_normal((rows, 64)).astype(precision), "pick": rng.integers(0, rows, rows)}
    found = {}
    for executor in ("numpy", "native"):
        session = engine.Session(
            engine.parse_graph(document), "sgd", execution=engine.Execution(executor), precision=precision
        )
        session.set_parameters({"p": np.ones(64, precision)})
        session.forward_backward(batch)
        found[executor] = session.gradients["p"]
    scale = np.abs(found["numpy"]).max()
    np.testing.assert_allclose(
        found["native"], found["numpy"], atol=scale * (1e-12 if precision == "float64" else 2e-6)
    )
