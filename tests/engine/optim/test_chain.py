"""Chains of transforms, step for step against optax (golden/chains.json is written by make_chain_golden.py)."""

import json
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import CheckpointError, DocumentError
from engine.core.modes import tracing
from engine.core.value import Spec, Value
from engine.execution.plan import NumpyExecutor, make_plan
from engine.optim.optimizers import OPTIMIZERS, TRANSFORMS, make_optimizer, transform_catalogue
from engine.optim.tape_optimizer import TapeOptimizer
from tests.support.rows import each_row

pytestmark = pytest.mark.law

GOLDEN = Path(__file__).parent / "golden"
CHAINS = json.loads((GOLDEN / "chains.json").read_text())
PROBLEMS = json.loads((GOLDEN / "optimizers.json").read_text())[0]["problems"]
RECORDED, RUNS = CHAINS["recorded"], CHAINS["runs"]
FLOAT64, FLOAT32 = np.dtype("float64"), np.dtype("float32")

WHOLE = {"kind": "chain", "lr": 0.1, "transforms": [{"kind": "trace", "decay": 0.5}, "centralize", "scale_by_novograd"]}
SMOOTH = {"kind": "chain", "lr": 0.1, "transforms": [{"kind": "ema", "decay": 0.5}, "scale_by_adam", "scale_by_adam"]}
"""A chain that needs parameters as they are, and an elementwise one."""

REQUIRED = {
    "trace": {"decay": 0.9}, "ema": {"decay": 0.9}, "scale": {"step_size": 0.5}, "clip": {"max_delta": 0.1},
    "clip_by_block_rms": {"threshold": 0.1}, "adaptive_grad_clip": {"clipping": 0.1},
}  # fmt: skip
LINKS = [{"kind": kind, **REQUIRED.get(kind, {})} for kind in TRANSFORMS]


def named(run):
    links = run["document"].get("transforms", [])
    what = " ".join(link["kind"] for link in links) if links else run["document"]["kind"]
    return f"{what} {run['problem']} {RUNS.index(run)}"


def slope(problem, known, step):
    """The gradient of one of the golden problems."""
    if "gradients" in problem:
        return np.array(problem["gradients"][step])
    if "steepness" in problem:
        return np.array(problem["steepness"]) * (known - problem["centre"])
    x, y = np.array(problem["x"]), np.array(problem["y"])
    return x.T @ (1 / (1 + np.exp(-x @ known)) - y) / y.size


def planned(optimizer, start, dtype=FLOAT64):
    """Plan one update of a parameter; return the executor and the state it works on."""
    spec = Spec(start.shape, dtype)
    slots = optimizer.slots(spec)
    state = {"p": start.astype(dtype), **{name: np.zeros(s.shape, s.dtype) for name, s in slots.items()}}
    leaves = {name: Value(array.shape, array.dtype, None, name=name) for name, array in state.items()}
    gradient, rate = Value(spec.shape, dtype, None, name="g"), Value((), FLOAT64, None, name="lr")
    with tracing(lambda: pytest.fail("no transform is random")):
        updated, changed = optimizer.update(gradient, leaves["p"], {name: leaves[name] for name in slots}, rate)
    return NumpyExecutor(make_plan({"g": gradient, "lr": rate}, leaves, {}, {"p": updated, **changed}), state), state


def walked(run, dtype=FLOAT64):
    """Step through a golden run; yield the parameter beside what it must be after each recorded step."""
    problem, optimizer = PROBLEMS[run["problem"]], make_optimizer(run["document"])
    executor, state = planned(optimizer, np.array(problem["start"]), dtype)
    for step in range(RECORDED[-1]):
        executor.inputs["g"][...] = slope(problem, state["p"], step)
        executor.inputs["lr"][...] = optimizer.lr
        executor.run()
        if step + 1 in RECORDED:
            yield state["p"], run["path"][RECORDED.index(step + 1)]


@each_row("run", RUNS, ids=named)
def test_a_chain_or_an_optimizer_steps_as_optaxs(run):
    rounded = run["document"]["kind"] == "adafactor"  # whose decay optax takes in float32
    for found, expected in walked(run):
        np.testing.assert_allclose(found, expected, rtol=1e-7 if rounded else 1e-10, atol=1e-13)


@each_row("run", [run for run in RUNS if run["problem"] == "stream"], ids=named)
def test_a_chain_on_float32_stays_float32_and_near(run):
    for found, expected in islice(walked(run, FLOAT32), 5):
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_every_transform_is_in_the_golden_runs():
    assert {link["kind"] for run in RUNS for link in run["document"].get("transforms", [])} == set(TRANSFORMS)


@each_row("document", [run["document"] for run in RUNS[::3]], ids=lambda d: d["kind"])
def test_the_tape_steps_to_the_bits_of_the_plan(document):
    problem = PROBLEMS["bowl"]
    executor, state = planned(make_optimizer(document), np.array(problem["start"]))
    options = {name: value for name, value in document.items() if name != "kind"}
    p = engine.parameter(np.array(problem["start"]))
    optimizer = TapeOptimizer([p], document["kind"], **options)
    for step in range(4):
        gradient = slope(problem, state["p"], step)
        executor.inputs["g"][...], executor.inputs["lr"][...] = gradient, document["lr"]
        executor.run()
        p.grad = gradient
        optimizer.step()
        np.testing.assert_array_equal(p.numpy(), state["p"])


@each_row(
    ("document", "links"),
    [
        ({"kind": "sgd", "momentum": 0.9}, [{"kind": "trace", "decay": 0.9}]),
        ({"kind": "adamw"}, ["scale_by_adam", {"kind": "add_decayed_weights", "weight_decay": 0.01}]),
        ({"kind": "adagrad"}, [{"kind": "scale_by_rss", "initial_accumulator_value": 0.0, "eps": 0.0}]),
        ({"kind": "lion"}, ["scale_by_lion"]),
        ({"kind": "lamb"}, [{"kind": "scale_by_adam", "eps": 1e-6}, "scale_by_trust_ratio"]),
        ({"kind": "radam"}, [{"kind": "scale_by_radam", "eps": 0.0}]),
        ({"kind": "sgd"}, []),
    ],
    ids=lambda part: part["kind"] if isinstance(part, dict) else "",
)
def test_optimizers_of_the_table_are_chains(document, links):
    start, numbers = np.random.default_rng(0).standard_normal((4, 3)), np.random.default_rng(1)
    runs = [planned(make_optimizer(d), start) for d in (document, {"kind": "chain", "transforms": links})]
    for _ in range(12):
        gradient = numbers.standard_normal((4, 3))
        for executor, _ in runs:
            executor.inputs["g"][...], executor.inputs["lr"][...] = gradient, 0.05
            executor.run()
        np.testing.assert_allclose(runs[1][1]["p"], runs[0][1]["p"], rtol=1e-6)


def test_maximizing_goes_up_the_gradient():
    up, down = (engine.parameter(np.array([1.0, -2.0])) for _ in range(2))
    for p, maximize in ((up, True), (down, False)):
        p.grad = np.array([2.0, 0.5])
        TapeOptimizer([p], "chain", transforms=["scale_by_sign"], lr=0.1, maximize=maximize).step()
    assert (up.numpy().tolist(), down.numpy().tolist()) == ([1.1, -1.9], [0.9, -2.1])


def test_a_chain_is_elementwise_when_all_of_its_transforms_are():
    def chain(*links):
        return make_optimizer({"kind": "chain", "transforms": links}).elementwise

    assert chain()
    assert chain("scale_by_adam", {"kind": "add_decayed_weights", "weight_decay": 0.1})
    assert not chain("scale_by_adam", {"kind": "add_decayed_weights", "weight_decay": 0.1, "min_ndim": 2})
    assert not chain("scale_by_adam", "scale_by_trust_ratio")


@each_row("link", LINKS, ids=lambda link: link["kind"])
def test_an_elementwise_transform_steps_a_part_of_a_parameter_as_it_steps_the_whole(link):
    start, numbers = np.random.default_rng(0).standard_normal(6), np.random.default_rng(1)
    optimizer = make_optimizer({"kind": "chain", "lr": 0.1, "transforms": [link]})
    whole, part = planned(optimizer, start.reshape(3, 2)), planned(optimizer, start[2:4])
    for _ in range(3):
        gradient = numbers.standard_normal(6)
        for (executor, _), mine in ((whole, gradient.reshape(3, 2)), (part, gradient[2:4])):
            executor.inputs["g"][...], executor.inputs["lr"][...] = mine, 0.1
            executor.run()
    same = np.array_equal(whole[1]["p"].ravel()[2:4], part[1]["p"])
    assert same == optimizer.elementwise


@each_row("link", LINKS, ids=lambda link: link["kind"])
def test_a_step_without_a_gradient_is_finite_under_every_transform(link):
    executor, state = planned(make_optimizer({"kind": "chain", "transforms": [link]}), np.zeros((2, 2)))
    executor.inputs["g"][...], executor.inputs["lr"][...] = 0.0, 0.1
    for _ in range(2):
        executor.run()
    assert all(np.isfinite(array).all() for array in state.values())


@each_row("link", LINKS, ids=lambda link: link["kind"])
def test_a_parameter_without_axes_is_stepped_by_every_transform(link):
    p = engine.parameter(np.array(2.0, "float32"))
    optimizer = TapeOptimizer([p], "chain", transforms=[link], lr=0.1)
    for _ in range(2):
        p.grad = np.array(0.5, "float32")
        optimizer.step()
    assert (p.dtype, p.shape) == (FLOAT32, ())
    assert np.isfinite(p.numpy())
    assert p.item() != 2


@pytest.mark.parametrize("document", [WHOLE, SMOOTH], ids=["whole", "elementwise"])
def test_a_fit_by_a_chain_goes_on_to_the_same_bits_from_any_checkpoint(document, tmp_path):
    graph = {
        "inputs": {"x": ["n", 3], "y": ["n", 2]},
        "parameters": {"v": [3, 4], "w": [4, 2], "b": [2]},
        "program": "loss = mse_loss(tanh(x @ v) @ w + b, y)",
    }
    x = np.random.default_rng(0).standard_normal((12, 3))

    def start():
        recipe = engine.read_recipe({"epochs": 2, "batch_size": 4, "optimizer": document})
        return engine.Fit(engine.parse_graph(graph), recipe, {"x": x, "y": x[:, :2]})

    whole, states = start(), []
    while not whole.done:
        whole.advance()
        whole.snapshot().save(tmp_path / f"{whole.step}.safetensors")
        states.append({name: array.tobytes() for name, array in whole.model.arrays.items()})
    assert len(set(map(repr, states))) == 6
    for step in (1, 4):
        resumed = start()
        resumed.restore(engine.Checkpoint.load(tmp_path / f"{step}.safetensors"))
        while not resumed.done:
            resumed.advance()
        assert {name: array.tobytes() for name, array in resumed.model.arrays.items()} == states[-1]


@pytest.mark.parametrize("document", [WHOLE, SMOOTH], ids=["whole", "elementwise"])
def test_the_state_on_the_tape_is_taken_over(document):
    options = {name: value for name, value in document.items() if name != "kind"}

    def stepped(optimizer, p, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            ops.sum(ops.square(p - 1.0)).backward()
            optimizer.step()
        return p.numpy()

    first, second, other = (engine.parameter(np.arange(6.0).reshape(2, 3)) for _ in range(3))
    one, two = (TapeOptimizer({"p": p}, "chain", **options) for p in (first, second))
    stepped(one, first, 3)
    state = json.loads(json.dumps(one.state_dict(), default=np.ndarray.tolist))
    two.load_state_dict(state)
    with engine.no_grad():
        second.copy_(first)
    np.testing.assert_array_equal(stepped(two, second, 2), stepped(one, first, 2))
    plain = TapeOptimizer({"p": other}, "sgd", lr=0.1)
    with pytest.raises(CheckpointError):
        plain.load_state_dict({**state, "groups": [{**state["groups"][0], "kind": "sgd", "options": {"lr": 0.1}}]})


FAULTS = {
    "no list": ({"transforms": "scale_by_adam"}, "/transforms", "type_mismatch"),
    "no object": ({"transforms": [1]}, "/transforms/0", "type_mismatch"),
    "no kind": ({"transforms": [{"b1": 0.5}]}, "/transforms/0", "missing_field"),
    "an unknown kind": ({"transforms": ["clip_by_norm"]}, "/transforms/0", "unknown_name"),
    "a kind that is a number": ({"transforms": [{"kind": 1}]}, "/transforms/0/kind", "unknown_name"),
    "an unknown option": ({"transforms": [{"kind": "clip", "max_delta": 1, "min": 0}]}, "/transforms/0/min", None),
    "a missing option": ({"transforms": ["centralize", "trace"]}, "/transforms/1", "missing_field"),
    "an option out of range": (
        {"transforms": ["centralize", "centralize", {"kind": "scale_by_adam", "b1": 1.0}]},
        "/transforms/2/b1",
        "out_of_range",
    ),
    "an option of text": (
        {"transforms": [{"kind": "scale", "step_size": "big"}]},
        "/transforms/0/step_size",
        "attribute_invalid",
    ),
    "an unknown choice": (
        {"transforms": [{"kind": "adaptive_grad_clip", "clipping": 1, "units": "all"}]},
        "/transforms/0/units",
        "attribute_invalid",
    ),
    "too many": ({"transforms": ["centralize"] * 33}, "/transforms", "too_many"),
    "a negative rate": ({"lr": -1.0}, "/lr", "out_of_range"),
    "a rate of text": ({"lr": "fast"}, "/lr", "attribute_invalid"),
    "a direction that is a number": ({"maximize": 1}, "/maximize", "attribute_invalid"),
    "a misspelt field": ({"transform": []}, "/transform", "unknown_field"),
}


@each_row(("options", "pointer", "code"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_a_chain_is_found_at_its_place(options, pointer, code):
    with pytest.raises(DocumentError) as caught:
        make_optimizer({"kind": "chain", **options})
    (finding,) = caught.value.findings
    assert (finding.pointer, finding.code) == (pointer, code or "unknown_field")


def test_every_fault_of_a_chain_in_a_recipe_is_found_below_the_optimizer():
    transforms = [{"kind": "scale_by_adam", "b1": -1, "eps": -1}, "centralise"]
    with pytest.raises(DocumentError) as caught:
        engine.read_recipe({"epochs": 1, "optimizer": {"kind": "chain", "transforms": transforms}})
    found = [(finding.pointer, finding.detail.partition("; accepted are ")[0]) for finding in caught.value.findings]
    assert found == [
        ("/optimizer/transforms/0/b1", "b1 must be at least 0 and less than 1, not -1.0"),
        ("/optimizer/transforms/0/eps", "eps must be at least 0, not -1.0"),
        ("/optimizer/transforms/1", "there is no transform called 'centralise'; did you mean 'centralize'?"),
    ]


def test_the_catalogue_describes_every_transform():
    (chain,) = (entry for entry in engine.optimizer_catalogue() if entry["kind"] == "chain")
    (transforms,) = (entry for entry in chain["attrs"] if entry["name"] == "transforms")
    assert transforms["kinds"] == transform_catalogue()
    assert [entry["kind"] for entry in transforms["kinds"]] == list(TRANSFORMS)
    assert all(entry["doc"] for entry in transforms["kinds"])
    assert json.loads(json.dumps(transforms, allow_nan=False))
    (decay, nesterov) = transforms["kinds"][0]["attrs"]
    assert decay == {"name": "decay", "type": "a number", "required": True, "range": "at least 0 and less than 1"}
    assert nesterov == {"name": "nesterov", "type": "true or false", "required": False, "default": False}


def test_chains_of_equal_transforms_are_equal():
    created = [make_optimizer(document) for document in (WHOLE, dict(WHOLE), SMOOTH)]
    assert created[0] == created[1] != created[2]
    assert len(set(created)) == 2
    assert type(created[0]) is OPTIMIZERS["chain"]
