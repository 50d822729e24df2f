"""L-BFGS step for step against PyTorch's (golden/ is written by make_lbfgs_golden.py), and where it goes beyond."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import engine
from engine import ops
from engine.core.errors import AttributeValueError, CheckpointError, EngineError
from engine.core.value import Spec
from engine.optim.closure_optimizer import ClosureOptimizer
from engine.optim.lbfgs import BLOCK, LBFGS, inner, largest
from engine.optim.optimizers import CLOSURE_OPTIMIZERS, make_optimizer
from engine.optim.scheduler import Scheduler
from engine.optim.tape_optimizer import TapeOptimizer
from tests.support.rows import each_row

pytestmark = pytest.mark.law

GOLDEN = json.loads((Path(__file__).parent / "golden" / "lbfgs.json").read_text())
RUNS, STARTS = GOLDEN["runs"], {name: np.array(start) for name, start in GOLDEN["problems"].items()}
HIDDEN = 4
BOTH = pytest.mark.parametrize("line_search", [None, "strong_wolfe"])


def waves(*shape, start=0.0):
    return np.round(np.sin(np.arange(np.prod(shape)) * 1.7 + start), 6).reshape(shape)


def rosenbrock(p):
    a, b = p[:-1], p[1:]
    return ops.sum(ops.square(b - a * a) * 100 + ops.square(1 - a))


def logistic(p):
    x = waves(30, 5)
    y = (x @ [3.0, -2.0, 1.0, 0.5, -1.0] + waves(30, start=0.4) > 0).astype(float)
    return ops.bce_with_logits_loss(ops.matmul(x, p), y) + ops.sum(p * p) * 1e-3


def perceptron(p):
    x, y = waves(20, 3), waves(20, start=1.3) ** 2
    w, b, v, c = ops.split(p, sizes=(3 * HIDDEN, HIDDEN, HIDDEN, 1))
    hidden = ops.tanh(ops.matmul(x, ops.reshape(w, shape=(3, HIDDEN))) + b)
    return ops.mean(ops.square(ops.matmul(hidden, v) + c - y)) + ops.sum(p * p) * 1e-2


LOSSES = {"rosenbrock": rosenbrock, "logistic": logistic, "perceptron": perceptron}


def evaluator(lossy):
    """Return evaluate(x): the loss and the gradient at a vector."""

    def evaluate(x):
        p = engine.parameter(x.copy())
        loss = lossy(p)
        loss.backward()
        return loss.item(), p.grad.numpy()

    return evaluate


def closure_of(optimizer, lossy):
    def closure():
        optimizer.zero_grad()
        loss = lossy()
        loss.backward()
        return loss

    return closure


def fresh(optimizer, x):
    return {name: np.zeros(s.shape, s.dtype) for name, s in optimizer.slots(Spec(x.shape, x.dtype)).items()}


def stepped(evaluate, start, steps=1, dtype=float, **options):
    """Step `steps` times from `start`; return where that leads, the state, and what each step did."""
    optimizer, x = LBFGS(**options), np.array(start, dtype)
    state = fresh(optimizer, x)
    return x, state, [optimizer.step(evaluate, x, state, optimizer.lr) for _ in range(steps)]


def named(run):
    return " ".join([run["problem"], *(f"{name}={value}" for name, value in run["options"].items())])


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_every_step_is_pytorchs(run):
    optimizer, x = make_optimizer({"kind": "lbfgs", **run["options"]}), STARTS[run["problem"]].copy()
    state, evaluate = fresh(optimizer, x), evaluator(LOSSES[run["problem"]])
    for expected in run["steps"]:
        done = optimizer.step(evaluate, x, state, optimizer.lr)
        assert done.loss == pytest.approx(expected["loss"], rel=1e-10, abs=1e-10)
        assert [state["iterations"], state["evaluations"]] == expected["n"]
        np.testing.assert_allclose(x, expected["p"], rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("run", RUNS, ids=named)
def test_every_step_on_the_tape_is_pytorchs(run):
    p = engine.parameter(STARTS[run["problem"]].copy())
    optimizer = ClosureOptimizer([p], "lbfgs", **run["options"])
    closure = closure_of(optimizer, lambda: LOSSES[run["problem"]](p))
    for expected in run["steps"]:
        loss = optimizer.step(closure)
        assert loss.item() == optimizer.last_step.loss == pytest.approx(expected["loss"], rel=1e-10, abs=1e-10)
        np.testing.assert_allclose(p.numpy(), expected["p"], rtol=1e-10, atol=1e-10)


def test_the_golden_runs_are_with_and_without_a_line_search_on_every_problem():
    searches = {(run["problem"], run["options"].get("line_search")) for run in RUNS}
    assert searches == {(name, search) for name in LOSSES for search in (None, "strong_wolfe")}
    assert GOLDEN["torch"].startswith("2.13")
    assert all(len(run["steps"]) == 20 for run in RUNS)


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("history_size", [2, 100])
def test_a_saved_state_goes_on_to_the_same_bits(line_search, dtype, history_size):
    options = {"lr": 0.3, "max_iter": 2, "history_size": history_size, "line_search": line_search}
    optimizer, evaluate = LBFGS(**options), evaluator(perceptron)
    x, state, _ = stepped(evaluate, STARTS["perceptron"], 5, dtype, **options)
    copy, kept = x.copy(), {name: array.copy() for name, array in state.items()}
    for _ in range(5):
        first, second = (optimizer.step(evaluate, *where, 0.3) for where in ((x, state), (copy, kept)))
        assert first == second
    assert x.tobytes() == copy.tobytes()
    assert {name: array.tobytes() for name, array in state.items()} == {n: a.tobytes() for n, a in kept.items()}


def test_only_what_lies_beside_the_parameters_has_their_shape():
    slots = LBFGS(history_size=7).slots(Spec((7,), np.dtype("float32")))
    assert {name for name, spec in slots.items() if spec.shape == (7,)} == {"gradient", "direction"}


def test_float32_stays_float32_and_near():
    x, state, _ = stepped(evaluator(logistic), STARTS["logistic"], 3, "float32", line_search="strong_wolfe")
    exact, _, _ = stepped(evaluator(logistic), STARTS["logistic"], 3, line_search="strong_wolfe")
    assert x.dtype == state["steps"].dtype == np.float32
    np.testing.assert_allclose(x, exact, rtol=1e-2)


def test_inner_products_of_float32_vectors_are_those_of_float64():
    a, b = (waves(3 * BLOCK + 5, start=s).astype("float32") for s in (0.0, 0.5))
    assert inner(a, b) == pytest.approx(math.fsum(a.astype(float) * b.astype(float)), rel=1e-13)
    assert inner(a[:0], b[:0]) == largest(a[:0]) == 0
    assert largest(np.array([1.0, -3.0])) == 3


@BOTH
def test_a_quadratic_is_minimised_in_one_step(line_search):
    matrix, target = np.diag([1.0, 10.0, 100.0]) + 0.5, np.array([1.0, -2.0, 3.0])
    x, _, (done,) = stepped(lambda x: (0.5 * x @ matrix @ x - target @ x, matrix @ x - target), [0.0] * 3,
                            max_iter=50, line_search=line_search)  # fmt: skip
    np.testing.assert_allclose(x, np.linalg.solve(matrix, target), rtol=1e-4)
    assert done.stopped in {"gradient", "slope", "loss", "step"}
    assert done.last_loss < done.loss


STOPS = {
    "the bound on iterations": ({"max_iter": 4, "lr": 0.1}, rosenbrock, "max_iter"),
    "the bound on evaluations": ({"max_eval": 3, "lr": 0.1}, rosenbrock, "max_eval"),
    "a small gradient": ({"tolerance_grad": 1e9}, rosenbrock, "gradient"),
    "a small slope": ({"tolerance_change": 1e9}, rosenbrock, "slope"),
    "small moves": ({"tolerance_change": 1e-4, "lr": 1e-7}, rosenbrock, "step"),
    "a loss that stays": ({"lr": 3.0}, lambda p: ops.sum(ops.square(p)), "loss"),
}


@each_row(("options", "lossy", "stopped_by"), STOPS.values(), ids=STOPS)
def test_a_step_shows_what_ended_it(options, lossy, stopped_by):
    _, _, (done,) = stepped(evaluator(lossy), [0.5, 0.6, 0.4], **options)
    assert done.stopped == stopped_by


def cliff(x):
    """A bowl around 3 that no one may leave: beyond 4 the loss is NaN."""
    return (math.nan, np.full_like(x, np.nan)) if x[0] > 4 else (float((x[0] - 3) ** 2), 2 * (x - 3))


def wall(x):
    """The same with losses that are infinite."""
    return (math.inf, np.zeros_like(x)) if x[0] > 4 else cliff(x)


def chasm(x):
    """The same with losses that are minus infinity."""
    return (-math.inf, np.zeros_like(x)) if x[0] > 4 else cliff(x)


@pytest.mark.parametrize("evaluate", [cliff, wall, chasm])
def test_a_line_search_turns_back_from_losses_that_are_not_finite(evaluate):
    x, _, done = stepped(evaluate, [-20.0], 3, lr=100.0, line_search="strong_wolfe")
    assert x[0] == pytest.approx(3, abs=1e-4)
    assert all(math.isfinite(one.loss) and one.evaluations <= 26 for one in done)


@pytest.mark.parametrize("evaluate", [cliff, wall, chasm])
def test_a_move_to_a_loss_that_is_not_finite_is_taken_back(evaluate):
    x, state, (done,) = stepped(evaluate, [-20.0], lr=100.0)
    assert (done.stopped, x[0], done.last_loss) == ("nonfinite", -20.0, 529.0)
    again = LBFGS(lr=0.5).step(evaluate, x, state, 0.5)
    assert math.isfinite(again.last_loss)
    assert again.last_loss < 529.0


@BOTH
def test_a_start_that_is_not_finite_is_left(line_search):
    x, _, (done,) = stepped(cliff, [5.0], line_search=line_search)
    assert (done.stopped, x[0], done.evaluations) == ("nonfinite", 5.0, 1)
    assert math.isnan(done.loss)


@BOTH
@pytest.mark.parametrize("wild", [lambda n: math.nan, lambda n: (-1) ** n * math.inf, lambda n: -(10.0 ** (n * 30))])
def test_no_loss_makes_a_step_endless(line_search, wild):
    count = iter(range(10**6))

    def evaluate(x):
        n = next(count)
        return (1.0 if n == 0 else wild(min(n, 10))), np.full_like(x, (-1.0) ** n * 10.0 ** min(20 * n, 300))

    x, _, done = stepped(evaluate, [1.0, 2.0], 3, line_search=line_search)
    assert all(one.evaluations <= 26 for one in done)
    assert np.isfinite(x).all()


@BOTH
def test_an_error_of_the_evaluation_leaves_the_parameters_at_a_point_that_was_reached(line_search):
    p = engine.parameter(STARTS["rosenbrock"].copy())
    optimizer = ClosureOptimizer([p], line_search=line_search, lr=0.3, max_iter=5)
    seen = []

    def closure():
        if len(seen) == 4:
            raise KeyboardInterrupt
        optimizer.zero_grad()
        loss = rosenbrock(p)
        loss.backward()
        seen.append(loss.item())
        return loss

    with pytest.raises(KeyboardInterrupt):
        optimizer.step(closure)
    assert rosenbrock(p).item() == min(seen)
    seen.clear()
    seen.append(0)
    before = rosenbrock(p).item()
    with pytest.raises(KeyboardInterrupt):
        optimizer.step(closure)
    assert rosenbrock(p).item() <= before


def test_parameters_are_one_vector_on_the_tape():
    """The same as PyTorch's, which joins them too: three leaves beside one that is cut in three."""
    shapes = {"w": (3, HIDDEN), "b": (HIDDEN,), "v": (HIDDEN,), "c": (1,)}
    cuts = np.split(STARTS["perceptron"], np.cumsum([math.prod(shape) for shape in shapes.values()])[:-1])
    leaves = {
        name: engine.parameter(cut.reshape(shape)) for (name, shape), cut in zip(shapes.items(), cuts, strict=True)
    }
    whole = engine.parameter(STARTS["perceptron"].copy())
    apart, together = (ClosureOptimizer(p, line_search="strong_wolfe", max_iter=3) for p in (leaves, [whole]))

    def joined():
        return perceptron(ops.concat(*(ops.reshape(leaf, shape=(-1,)) for leaf in leaves.values()), axis=0))

    for _ in range(5):
        apart.step(closure_of(apart, joined))
        together.step(closure_of(together, lambda: perceptron(whole)))
    found = np.concatenate([leaf.numpy().reshape(-1) for leaf in leaves.values()])
    assert found.tobytes() == whole.numpy().tobytes()


def test_a_parameter_without_a_gradient_stays():
    a, b = engine.parameter(np.array([2.0])), engine.parameter(np.array([5.0]))
    optimizer = ClosureOptimizer([a, b])
    optimizer.step(closure_of(optimizer, lambda: ops.sum(ops.square(a))))
    assert b.item() == 5
    assert abs(a.item()) < 1e-6


@each_row("dtypes", [["float32"], ["float64"], ["float16"], ["float64", "float32", "bfloat16"]])
def test_a_state_of_the_tape_goes_on_to_the_same_bits(dtypes):
    starts = [engine.tensor([1.0, -2.0], dtype=dtype) for dtype in dtypes]
    options = {"lr": 0.05, "max_iter": 2, "history_size": 3}

    def create(values):
        leaves = {str(n): engine.tensor(v.numpy().copy(), requires_grad=True) for n, v in enumerate(values)}
        return leaves, ClosureOptimizer(leaves, **options)

    def run(leaves, optimizer):
        def lossy():
            return sum(ops.cast(ops.sum(ops.square(ops.square(p) - 0.3)), dtype="float32") for p in leaves.values())

        for _ in range(4):
            optimizer.step(closure_of(optimizer, lossy))

    leaves, optimizer = create(starts)
    run(leaves, optimizer)
    copies, other = create(leaves.values())
    other.load_state_dict(optimizer.state_dict())
    run(leaves, optimizer)
    run(copies, other)
    for name, leaf in leaves.items():
        assert leaf.numpy().tobytes() == copies[name].numpy().tobytes()
        assert leaf.dtype == starts[int(name)].dtype
        assert not np.array_equal(leaf.numpy(), starts[int(name)].numpy())


def test_small_moves_of_narrow_parameters_add_up():
    p = engine.tensor([1.0], dtype="float16", requires_grad=True)
    optimizer = ClosureOptimizer([p], lr=1e-4, max_iter=1)
    for _ in range(20):
        optimizer.step(closure_of(optimizer, lambda: ops.sum(p) * 1.0))
    assert p.item() == pytest.approx(1 - 20e-4, abs=5e-4)
    with engine.no_grad():
        p.fill_(5.0)
    optimizer.step(closure_of(optimizer, lambda: ops.sum(p) * 1.0))
    assert p.item() == 5.0


def test_a_schedule_sets_its_rate():
    optimizer = ClosureOptimizer([engine.parameter(np.ones(1))], lr=0.5)
    scheduler = Scheduler(optimizer, "step", step_size=1, gamma=0.5)
    scheduler.step()
    assert scheduler.get_last_lr() == [0.25] == [optimizer.groups[0].lr]


def test_a_state_of_other_parameters_is_refused_and_changes_nothing():
    def create(size, name="a"):
        leaf = engine.parameter(np.ones(size), name=name)
        optimizer = ClosureOptimizer([leaf], lr=0.5)
        optimizer.step(closure_of(optimizer, lambda: ops.sum(ops.square(leaf))))
        return optimizer

    optimizer = create(2)
    before = optimizer.state_dict()
    with pytest.raises(CheckpointError, match="other parameters"):
        optimizer.load_state_dict(create(2, "b").state_dict())
    with pytest.raises(CheckpointError, match="has shape"):
        optimizer.load_state_dict(create(3).state_dict())
    with pytest.raises(CheckpointError, match="the state holds"):
        optimizer.load_state_dict({**before, "slots": {"steps": np.zeros(1)}})
    after = optimizer.state_dict()
    assert before["groups"] == after["groups"]
    assert all(np.array_equal(before["slots"][slot], array) for slot, array in after["slots"].items())


def leaf():
    return engine.parameter(np.ones(2))


REFUSED = {
    "a negative rate": (lambda: LBFGS(lr=-1.0), "lr must be at least 0, not -1.0"),
    "no iterations": (lambda: LBFGS(max_iter=0), "max_iter must be at least 1"),
    "no evaluations": (lambda: LBFGS(max_eval=0), "max_eval must be at least 1"),
    "no history": (lambda: LBFGS(history_size=0), "history_size must be at least 1"),
    "a tolerance below 0": (lambda: LBFGS(tolerance_grad=-1e-9), "tolerance_grad must be at least 0"),
    "a tolerance that is not a number": (lambda: LBFGS(tolerance_change=math.nan), "tolerance_change must be at least"),
    "an unknown search": (lambda: make_optimizer({"kind": "lbfgs", "line_search": "armijo"}), "strong_wolfe"),
    "an unknown option": (lambda: make_optimizer({"kind": "lbfgs", "line_serch": None}), "did you mean 'line_search'"),
    "what it has not": (lambda: make_optimizer({"kind": "lbfgs", "maximize": True}), "no attribute 'maximize'"),
    "an optimizer by gradients": (
        lambda: ClosureOptimizer([leaf()], "adam"),
        "adam steps by a gradient.*Tape",
    ),
    "no closure": (lambda: TapeOptimizer([leaf()], "lbfgs"), "lbfgs evaluates the loss.*ClosureOptimizer"),
    "groups": (lambda: ClosureOptimizer([{"params": [leaf()]}]), "without groups"),
    "no parameters": (lambda: ClosureOptimizer([]), "empty parameter list"),
    "what an op gave": (lambda: ClosureOptimizer([leaf() * 2]), "can't optimize a non-leaf value.*mul"),
}


@each_row(("act", "message"), REFUSED.values(), ids=REFUSED)
def test_what_it_cannot_take_is_refused(act, message):
    with pytest.raises(EngineError, match=message):
        act()


def test_the_catalogue_gives_its_ranges():
    (entry,) = (entry for entry in engine.optimizer_catalogue() if entry["kind"] == "lbfgs")
    assert set(CLOSURE_OPTIMIZERS) == {"lbfgs"}
    attributes = {attribute["name"]: attribute for attribute in entry["attrs"]}
    assert attributes["max_iter"]["range"] == "at least 1 and at most 1000000"
    assert (attributes["lr"]["default"], attributes["max_eval"]["default"]) == (1.0, None)
    assert isinstance(make_optimizer({"kind": "lbfgs", "line_search": None}), LBFGS)
    with pytest.raises(AttributeValueError):
        make_optimizer({"kind": "lbfgs", "max_iter": 0})
