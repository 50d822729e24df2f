"""Optimizers as objects on the tape: PyTorch's steps, groups, states and refusals."""

import json
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError, CheckpointError, GradientError, ShapeError, UnknownName
from engine.optim.optimizers import OPTIMIZERS
from engine.optim.tape_optimizer import TapeOptimizer
from tests.extent import FULL
from tests.support.rows import each_row

pytestmark = pytest.mark.law

GOLDEN = Path(__file__).parent / "golden"
(UPDATES,) = json.loads((GOLDEN / "optimizers.json").read_text())


def decayed(kind):
    """Options with weight decay, where the optimizer has it."""
    (entry,) = (entry for entry in engine.optimizer_catalogue() if entry["kind"] == kind)
    return {"lr": 0.1, **({"weight_decay": 0.1} if "weight_decay" in {a["name"] for a in entry["attrs"]} else {})}


def leaf(*numbers, name=None, dtype=float):
    return engine.parameter(np.array(numbers, dtype), name=name)


def named(run):
    return " ".join(f"{key}={value}" for key, value in run["document"].items()) + f" {run['problem']}"


def lost(problem, p, step):
    """The loss of one of the golden problems."""
    if "gradients" in problem:
        return ops.sum(p * np.array(problem["gradients"][step]))
    if "steepness" in problem:
        return ops.sum(ops.square(p - np.array(problem["centre"])) * np.array(problem["steepness"])) * 0.5
    return ops.bce_with_logits_loss(ops.matmul(np.array(problem["x"]), p), np.array(problem["y"]))


THOROUGHLY = ("sgd", "adamw", "adagrad")
"""Kinds all of whose runs step on the tape; of each other kind one does: its formulas are those of test_optimizers."""


def taped_runs():
    first = {run["document"]["kind"]: run for run in reversed(UPDATES["runs"])}
    return [
        run
        for run in UPDATES["runs"]
        if FULL or run["document"]["kind"] in THOROUGHLY or run is first[run["document"]["kind"]]
    ]


@each_row("run", taped_runs(), ids=named)
def test_every_optimizer_steps_as_pytorchs(run):
    options, problem = dict(run["document"]), UPDATES["problems"][run["problem"]]
    p = leaf(*problem["start"])
    optimizer = TapeOptimizer([p], options.pop("kind"), **options)
    for step in range(12):
        optimizer.zero_grad()
        lost(problem, p, step).backward()
        optimizer.step()
        if step + 1 in UPDATES["recorded"]:
            expected = run["path"][UPDATES["recorded"].index(step + 1)]
            np.testing.assert_allclose(p.numpy(), expected, rtol=1e-10, atol=1e-13)


def test_a_line_is_fitted_step_for_step_as_pytorch(waves):
    expected = json.loads((GOLDEN / "regression.json").read_text())["steps"]
    x, noise = waves(20, 1), waves(20, 1, start=0.3)
    y = 3 * x + 2 + 0.1 * noise
    w, b = engine.parameter(np.array([[0.5]]), name="w"), engine.parameter(np.array([0.0]), name="b")
    optimizer = TapeOptimizer([w, b], "sgd", lr=0.01)
    steps = []
    for _ in range(100):
        loss = ops.mse_loss(ops.linear(x, w, b), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps.append([loss.item(), w.item(), b.item()])
    np.testing.assert_allclose(steps, expected, rtol=1e-12)


def test_passed_gradients_are_used_in_place_of_those_of_the_leaves():
    w = leaf(1.0, name="w")
    optimizer = TapeOptimizer({"w": w}, "sgd", lr=0.1)
    gradients = engine.gradients_by_name((w * 2).sum())
    optimizer.step({"w": gradients["w"] * 10})
    assert w.numpy().tolist() == pytest.approx([-1.0])
    assert w.grad.numpy().tolist() == [2]
    optimizer.zero_grad()
    assert w.grad is None


def test_gradients_under_the_names_of_leaves_reach_parameters_of_other_names():
    w = leaf(1.0, name="encoder.weight")
    optimizer = TapeOptimizer({"W": w}, "sgd", lr=0.5)
    optimizer.step(engine.gradients_by_name((w * 2).sum()))
    assert w.numpy().tolist() == [0]
    with pytest.raises(UnknownName, match="did you mean 'W'"):
        optimizer.step({"WW": np.ones(1)})


@each_row("kind", OPTIMIZERS)
def test_a_parameter_without_a_gradient_is_left_alone_with_its_step_count(kind):
    seen, rested = leaf([1.0], [2.0], name="seen"), leaf([1.0], [2.0], name="rested")
    optimizer = TapeOptimizer([seen, rested], kind, **decayed(kind))
    for step in range(3):
        optimizer.zero_grad()
        ((seen * seen).sum() + ((rested * rested).sum() if step == 2 else 0.0)).backward()
        before = rested.numpy().copy()
        optimizer.step()
        assert np.array_equal(rested.numpy(), before) == (step < 2)
    fresh = leaf([1.0], [2.0], name="rested")
    once = TapeOptimizer([fresh], kind, **decayed(kind))
    (fresh * fresh).sum().backward()
    once.step()
    np.testing.assert_array_equal(rested.numpy(), fresh.numpy())


def test_zeros_step_where_no_gradient_does_not():
    zeros, none = leaf(1.0), leaf(1.0)
    optimizer = TapeOptimizer([zeros, none], "sgd", lr=0.1, weight_decay=0.5)
    zeros.grad = np.zeros(1)
    optimizer.step()
    assert (zeros.item(), none.item()) == (0.95, 1.0)
    optimizer = TapeOptimizer([zeros := leaf(1.0), none := leaf(1.0)], "sgd", lr=0.1, momentum=0.9)
    zeros.grad, none.grad = np.ones(1), np.ones(1)
    optimizer.step()
    zeros.grad, none.grad = np.zeros(1), None
    optimizer.step()
    assert (zeros.item(), none.item()) == (pytest.approx(0.81), 0.9)  # momentum goes on where there are zeros


def test_stepping_up_the_gradient():
    up, down = leaf(1.0), leaf(1.0)
    for p, maximize in ((up, True), (down, False)):
        p.grad = np.array([2.0])
        TapeOptimizer([p], "sgd", lr=0.1, maximize=maximize).step()
    assert (up.item(), down.item()) == (1.2, 0.8)


def test_a_step_is_noticed_by_a_rule_that_saved_the_parameter():
    w = leaf(2.0)
    y = (w * w).sum()
    w.grad = np.ones(1)
    TapeOptimizer([w], "sgd", lr=0.1).step()
    with pytest.raises(GradientError, match="modified by an in-place operation"):
        y.backward()


def test_groups_have_options_of_their_own():
    a, b, c = (leaf(1.0, name=name) for name in "abc")
    optimizer = TapeOptimizer([{"params": [a]}, {"params": [b], "lr": 0.5}], "sgd", lr=0.1)
    optimizer.add_param_group({"params": {"c": c}, "kind": "adam", "lr": 0.25})
    for p in (a, b, c):
        p.grad = np.ones(1)
    optimizer.step()
    np.testing.assert_allclose([a.item(), b.item(), c.item()], [0.9, 0.5, 0.75])
    optimizer.groups[0].lr = 1.0
    optimizer.step()
    np.testing.assert_allclose([a.item(), b.item()], [-0.1, 0.0], atol=1e-15)


@each_row("dtype", ["float32", "float64", "float16"])
@each_row("kind", OPTIMIZERS)
def test_a_state_goes_on_where_it_was_taken(kind, dtype):
    def run(optimizer, p, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            ops.sum(ops.square(p - 0.3)).backward()
            optimizer.step()

    options = {"momentum": 0.9} if kind == "sgd" else {}
    p = leaf([1.0], [-2.0], name="p", dtype=dtype)
    optimizer = TapeOptimizer([p], kind, lr=0.05, **options)
    run(optimizer, p, 3)
    copy = engine.parameter(p.numpy(), name="p")
    other = TapeOptimizer([copy], kind, lr=0.9, **options)
    other.load_state_dict(optimizer.state_dict())
    run(optimizer, p, 3)
    run(other, copy, 3)
    np.testing.assert_array_equal(p.numpy(), copy.numpy())


def test_a_state_of_other_parameters_is_refused_and_changes_nothing():
    a = TapeOptimizer([leaf(1.0, name="a")], "adam", lr=0.5)
    b = TapeOptimizer([leaf(1.0, name="b")], "adam")
    with pytest.raises(CheckpointError, match="other parameter groups"):
        a.load_state_dict(b.state_dict())
    wide = TapeOptimizer([leaf(1.0, 2.0, name="a")], "adam")
    wide.step({"a": np.ones(2)})
    with pytest.raises(CheckpointError, match="has shape"):
        a.load_state_dict(wide.state_dict())
    assert a.groups[0].lr == 0.5
    assert a.state_dict()["slots"] == {}


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_parameters_are_stepped_on_wide_copies(dtype):
    p = engine.tensor([1.0], dtype=dtype, requires_grad=True)
    optimizer = TapeOptimizer([p], "sgd", lr=1e-4)
    for _ in range(1000):
        optimizer.step({"parameter_0": np.ones(1, "float32")})
    assert p.dtype.name == dtype
    assert p.item() == pytest.approx(0.9, abs=2e-3)
    with engine.no_grad():
        p.fill_(5.0)
    optimizer.step({"parameter_0": np.ones(1, "float32")})
    assert p.item() == 5.0


def duplicate():
    a = leaf(1.0)
    TapeOptimizer([{"params": [a]}, {"params": [a]}])


def added_twice():
    optimizer = TapeOptimizer([a := leaf(1.0)])
    optimizer.add_param_group({"params": [a]})


def same_name():
    TapeOptimizer([leaf(1.0, name="w"), leaf(2.0, name="w")])


def wrong_shape():
    TapeOptimizer([leaf(1.0, name="w")]).step({"w": np.ones(3)})


def test_muon_refuses_what_is_no_matrix_before_any_step():
    with pytest.raises(ShapeError, match=r"muon steps matrices only, not a parameter of shape \[2\]"):
        TapeOptimizer([leaf(1.0, 2.0)], "muon")


@each_row("kind", OPTIMIZERS)
def test_a_parameter_without_a_gradient_keeps_its_bits_and_its_state(kind):
    moved, still = leaf([1.0], [-2.0], name="moved"), leaf([0.5], [3.0], name="still")
    optimizer = TapeOptimizer([moved, still], kind, **decayed(kind))
    optimizer.step({"moved": np.ones((2, 1)), "still": np.ones((2, 1))})
    before, state = still.numpy().copy(), optimizer.state_dict()["slots"].get("still", {})
    optimizer.step({"moved": np.ones((2, 1)), "still": None})
    np.testing.assert_array_equal(still.numpy(), before)
    for slot, array in optimizer.state_dict()["slots"].get("still", {}).items():
        np.testing.assert_array_equal(array, state[slot])
    assert not np.array_equal(moved.numpy(), [[1.0], [-2.0]])


@each_row("kind", OPTIMIZERS)
def test_maximising_is_minimising_the_negative(kind):
    up, down = leaf([1.0], [-2.0], name="p"), leaf([1.0], [-2.0], name="p")
    for p, maximize, gradient in ((up, True, [[0.3], [1.0]]), (down, False, [[-0.3], [-1.0]])):
        optimizer = TapeOptimizer([p], kind, maximize=maximize, **decayed(kind))
        for _ in range(3):
            optimizer.step({"p": np.array(gradient)})
    np.testing.assert_array_equal(up.numpy(), down.numpy())


REFUSED = {
    "no parameters": (lambda: TapeOptimizer([]), AttributeValueError, "empty parameter list"),
    "an empty group": (lambda: TapeOptimizer([{"params": []}]), AttributeValueError, "empty parameter list"),
    "a group without parameters": (lambda: TapeOptimizer([{"lr": 0.1}]), AttributeValueError, "'params'"),
    "a parameter twice": (duplicate, AttributeValueError, "more than one"),
    "a parameter added again": (added_twice, AttributeValueError, "more than one"),
    "a name twice": (same_name, AttributeValueError, "two parameters are called 'w'"),
    "what an op gave": (lambda: TapeOptimizer([leaf(1.0) * 2]), GradientError, "can't optimize a non-leaf value.*mul"),
    "an unknown kind": (lambda: TapeOptimizer([leaf(1.0)], "adan"), UnknownName, "did you mean 'adam'"),
    "an unknown option": (lambda: TapeOptimizer([leaf(1.0)], "sgd", momentun=1.0), AttributeValueError, "momentum"),
    "a gradient of another shape": (wrong_shape, ShapeError, "has shape"),
}


@each_row(("act", "error", "message"), REFUSED.values(), ids=REFUSED)
def test_a_faulty_optimizer_is_refused(act, error, message):
    with pytest.raises(error, match=message):
        act()


@each_row("kind", OPTIMIZERS)
def test_parameters_stepped_together_are_bitwise_those_stepped_alone(kind):
    def trained(shapes):
        generator = np.random.default_rng(3)
        leaves = {str(place): engine.parameter(generator.standard_normal(shape)) for place, shape in enumerate(shapes)}
        return leaves, [generator.standard_normal((3, *shape)) for shape in shapes]

    shapes = [(), (3,), (2, 5), (200, 100), (1,)]
    if kind == "muon":
        shapes = [(1, 1), (3, 1), (2, 5), (200, 100), (1, 2)]
    options = {**decayed(kind), **({"momentum": 0.9} if kind == "sgd" else {})}
    together, gradients = trained(shapes)
    alone, _ = trained(shapes)
    optimizer = TapeOptimizer(together, kind, **options)
    singles = {name: TapeOptimizer({name: leaf}, kind, **options) for name, leaf in alone.items()}
    for step in range(3):
        given = {name: gradients[int(name)][step] for name in together if (step, name) != (0, "2")}
        optimizer.step(given)
        for name, gradient in given.items():
            singles[name].step({name: gradient})
    for name, leaf in together.items():
        np.testing.assert_array_equal(leaf.numpy(), alone[name].numpy())
        for slot, array in singles[name].state_dict()["slots"].get(name, {}).items():
            np.testing.assert_array_equal(optimizer.state_dict()["slots"][name][slot], array)


def test_a_mapping_names_the_leaves_so_that_gradients_by_name_reach_them():
    """Section 9 of ggmlR's vignette: parameters of one's own, given to the optimizer by name."""
    w1, b1 = engine.parameter(np.ones((2, 2))), engine.parameter(np.zeros((2, 1)))
    kept = engine.parameter(np.ones(1), name="kept")
    optimizer = TapeOptimizer({"W1": w1, "b1": b1, "other": kept}, "adam", lr=1e-3)
    with engine.tape.tape():
        loss = ((w1 @ np.ones((2, 1)) + b1) ** 2).mean() + kept.sum()
    gradients = engine.gradients_by_name(loss)
    assert set(gradients) == {"W1", "b1", "kept"}
    optimizer.step(gradients)
    assert (w1.numpy() < 1).all()
    assert (b1.numpy() < 0).all()
    assert (kept.numpy() < 1).all()


def test_a_step_without_any_gradient_is_an_error():
    w, frozen = leaf(1.0, name="w"), leaf(2.0, name="frozen")
    optimizer = TapeOptimizer([w, frozen], "sgd", lr=0.1)
    with pytest.raises(engine.GradientError, match=r"no parameter has a gradient \(w, frozen\): call backward\(\)"):
        optimizer.step()
    for gradients in ({}, {"w": None}):
        with pytest.raises(engine.GradientError, match="the gradients given are empty"):
            optimizer.step(gradients)
    (w * 2.0).sum().backward()
    optimizer.step()
    assert frozen.item() == 2.0
