"""Training steps: whole, in parts and on several ranks; clipped, noisy, at half precision, and computed again."""

import math
import threading
import time

import numpy as np
import pytest

import engine
from engine.core.errors import NonfiniteError, NumericalError
from engine.training.distributed.collective import in_memory
from tests.extent import paired

pytestmark = pytest.mark.law

ROWS = np.random.default_rng(8)
X = ROWS.standard_normal((14, 3))
Y = ROWS.standard_normal((14, 2))
LABELS = np.array([0, 1, 2, 1, 0, 0, -1, -1, -1, 2, 1, 0, 2, -1])
PAIRS = {"x": ["n", 3], "y": ["n", 2]}
CLASSES = {"x": ["n", 3], "y": {"shape": ["n"], "dtype": "int64"}}
PARAMETERS = {"v": {"shape": [3, 4], "init": "normal"}, "b": [4], "w": {"shape": [4, 3], "init": "normal"}}
TO_TWO = {**PARAMETERS, "w": {"shape": [4, 2], "init": "normal"}}
BY_CLASS = "cross_entropy(tanh(x @ v + b) @ w, y"
GRAPHS = {
    "a mean": (PAIRS, TO_TWO, "loss = mse_loss(tanh(x @ v + b) @ w, y)"),
    "a sum": (PAIRS, TO_TWO, "loss = mse_loss(tanh(x @ v + b) @ w, y, reduction='sum')"),
    "a mean of one's own": (PAIRS, TO_TWO, "loss = mean(abs(tanh(x @ v + b) @ w - y))"),
    "a mean by classes": (CLASSES, PARAMETERS, f"loss = {BY_CLASS}, ignore_index=-1)"),
    "smoothed classes": (CLASSES, PARAMETERS, f"loss = {BY_CLASS}, ignore_index=-1, label_smoothing=0.2)"),
    "a sum by classes": (CLASSES, PARAMETERS, f"loss = {BY_CLASS}, ignore_index=-1, reduction='sum')"),
    "two terms": (
        PAIRS,
        TO_TWO,
        "h = tanh(x @ v + b)\nfirst = mse_loss(h @ w, y)\nsecond = mean(h ** 2) * 0.5\nthird = sum(w ** 2) * 0.01",
    ),
}
WEIGHTS = {"class_weights": [0.5, 2.0, 3.0]}


def start(name, collective=None, rows=14, **recipe):
    """Start a fit in float64 of one of the graphs."""
    inputs, parameters, program = GRAPHS[name]
    losses = {"losses": ["first", "second", "third"]} if "third" in program else {}
    document = {"inputs": inputs, "parameters": parameters, "program": program, **losses}
    recipe = {"epochs": 3, "batch_size": 7, "precision": "float64", "optimizer": "adam", **recipe}
    columns = {"x": X[:rows], "y": (Y if inputs is PAIRS else LABELS)[:rows]}
    return engine.Fit(
        engine.parse_graph(document),
        engine.read_recipe(recipe),
        columns,
        execution=engine.Execution(collective=collective or engine.Alone()),
    )


def ended(fit):
    """Run to the end; return the rows, and copies of the parameters."""
    points = list(fit)
    return points, {name: array.copy() for name, array in fit.model.parameters.items()}


def near(found, wanted, tolerance=1e-12):
    """Compare the losses and norms of rows, and parameters."""
    (points, parameters), (others, targets) = found, wanted
    assert [(p.step, p.split) for p in points] == [(p.step, p.split) for p in others]
    for point, other in zip(points, others, strict=True):
        assert set(point.values) == set(other.values)
        for name, value in point.values.items():
            assert value == pytest.approx(other.values[name], rel=tolerance, abs=tolerance), name
    for name, array in parameters.items():
        np.testing.assert_allclose(array, targets[name], rtol=tolerance, atol=tolerance, err_msg=name)


SUMMED = [*GRAPHS, "a mean by classes, weighted", "smoothed classes, weighted"]


@pytest.mark.parametrize(("name", "micro"), paired(SUMMED, [1, 3, 5, 6]))
def test_a_batch_in_uneven_parts_gives_the_step_of_the_whole(name, micro):
    recipe = {"shuffle": False, "clip": {"norm": 1.0}, **(WEIGHTS if "weighted" in name else {})}
    name = name.partition(",")[0]
    near(ended(start(name, micro_batch_size=micro, **recipe)), ended(start(name, **recipe)))


def test_a_part_all_of_whose_targets_are_ignored_adds_nothing():
    """Rows 6 to 8 have no class: in parts of 3, one of them has none at all."""
    recipe = {"batch_size": 14, "shuffle": False}
    points, parameters = ended(start("a mean by classes", micro_batch_size=1, **recipe))
    assert all(math.isfinite(point.values["loss"]) for point in points)
    near((points, parameters), ended(start("a mean by classes", **recipe)))


def test_every_part_and_rank_draws_its_own_numbers():
    """The gradient of an element is 2 for each row that keeps it: with one mask for all parts it were 0 or 8."""
    document = {"inputs": {"x": ["n", 50]}, "parameters": {"w": [50]}, "program": "loss = sum(dropout(x * w, p=0.5))"}
    recipe = engine.read_recipe(
        {"epochs": 1, "batch_size": 4, "micro_batch_size": 1, "optimizer": {"kind": "sgd", "lr": 1.0}}
    )

    def drawn(collective=None):
        fit = engine.Fit(
            engine.parse_graph(document),
            recipe,
            {"x": np.ones((4, 50))},
            execution=engine.Execution(collective=collective or engine.Alone()),
        )
        fit.advance()
        return -fit.model.parameters["w"]

    alone = drawn()
    assert set(alone) >= {2.0, 4.0, 6.0}
    for shared in on_ranks(2, drawn):
        np.testing.assert_array_equal(shared, alone)


@pytest.mark.parametrize("micro", [None, 5])
def test_lbfgs_minimises_a_mean_by_classes_whatever_they_weigh(micro):
    """Twice half of the loss is no loss of classes to the engine, but a mean like any other."""
    inputs, parameters, _ = GRAPHS["a mean by classes"]
    found = []
    for program in ("{}", "2.0 * (0.5 * {})"):
        document = {
            "inputs": inputs,
            "parameters": parameters,
            "constants": {"k": WEIGHTS["class_weights"]},
            "program": "loss = " + program.format(f"{BY_CLASS}, k, ignore_index=-1)"),
        }
        optimizer = {"kind": "lbfgs", "lr": 0.5, "max_iter": 4}
        recipe = {"epochs": 3, "batch_size": 14, "precision": "float64", "optimizer": optimizer}
        recipe |= {"micro_batch_size": micro} if program == "{}" else {}
        recipe = engine.read_recipe(recipe)
        found.append(ended(engine.Fit(engine.parse_graph(document), recipe, {"x": X, "y": LABELS})))
    near(*found, tolerance=1e-9)


def test_validation_batches_without_a_target_count_for_nothing():
    recipe = {"shuffle": False, "validation": {"split": 8 / 14, "order": "last"}, "batch_size": 3}
    fit, whole = start("a mean by classes", **recipe), start("a mean by classes", **{**recipe, "batch_size": 14})
    for name, array in fit.model.parameters.items():
        array[...] = whole.model.parameters[name]
    both = [each._evaluator.evaluate(averaged=False)["loss"] for each in (fit, whole)]
    assert both[0] == pytest.approx(both[1], rel=1e-12)


def test_parts_are_refused_where_rows_are_compared():
    document = {
        "inputs": {"x": ["n", 3], "z": ["n", 3]},
        "parameters": {"w": {"shape": [3, 2], "init": "normal"}},
        "program": "a = x @ w\nb = z @ w\ns = a @ transpose(b)\nloss = sum(s) - mean(log_softmax(s))",
    }
    rows = engine.ColumnInfo("float64", (3,), 14)
    definition = engine.parse_graph(document)
    for recipe, replicas, place in (
        ({"micro_batch_size": 2}, 1, "/micro_batch_size"),
        ({}, 2, "/resources/replicas"),
    ):
        with pytest.raises(engine.DocumentError, match="compares the rows") as caught:
            engine.check_fit(
                definition,
                engine.read_recipe({"epochs": 1, "batch_size": 4, **recipe}),
                {"x": rows, "z": rows},
                replicas=replicas,
            )
        assert [(finding.pointer, finding.code) for finding in caught.value.findings] == [(place, "conflict")]
    assert engine.check_fit(definition, engine.read_recipe({"epochs": 1, "batch_size": 4}), {"x": rows, "z": rows})


def on_ranks(size, work):
    """Run `work(collective)` in as many threads; return what each gave."""
    found, failures = {}, []

    def run(collective):
        try:
            found[collective.rank] = work(collective)
        except Exception as error:  # noqa: BLE001  # any, so that the others do not wait
            failures.append(error)
            collective.abort(b"failed")

    threads = [threading.Thread(target=run, args=(collective,)) for collective in in_memory(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return [found[rank] for rank in range(size)]


@pytest.mark.parametrize(("name", "size"), paired(["a mean", "a sum", "a mean by classes", "two terms"], [2, 3]))
def test_ranks_give_the_step_of_one_process(name, size):
    recipe = {"metrics": ["accuracy"] if "classes" in name else [], "validation": {"split": 0.3}}
    alone = ended(start(name, **recipe))
    shared = on_ranks(size, lambda collective: ended(start(name, collective, **recipe)))
    for found in shared:
        near(found, alone)
        assert [point.to_json() for point in found[0]] == [point.to_json() for point in shared[0][0]]
        assert all(found[1][name].tobytes() == array.tobytes() for name, array in shared[0][1].items())


def test_a_last_batch_smaller_than_the_number_of_ranks_is_shared_by_some():
    recipe = {"rows": 10, "batch_size": 4, "shuffle": False, "clip": {"norm": 1.0}}
    near(
        on_ranks(3, lambda collective: ended(start("a mean", collective, **recipe)))[2],
        ended(start("a mean", **recipe)),
    )


def test_running_means_are_averaged_over_the_ranks_that_had_rows():
    """Five rows in batches of three: one of the ranks has no row of the second batch."""
    document = {
        "inputs": {"x": ["n", 2, 3]},
        "parameters": {"w": {"shape": [2], "init": "ones"}, "b": [2]},
        "buffers": {"mean": [2], "var": {"shape": [2], "init": "ones"}, "seen": {"shape": [], "dtype": "int64"}},
        "program": "loss = mean(tracked_batch_norm(x, w, b, mean, var, seen) ** 2)",
    }
    recipe = engine.read_recipe({"epochs": 2, "batch_size": 3, "precision": "float64"})
    rows = np.sin(np.arange(30.0)).reshape(5, 2, 3)

    def buffers(collective=None):
        fit = engine.Fit(
            engine.parse_graph(document),
            recipe,
            {"x": rows},
            execution=engine.Execution(collective=collective or engine.Alone()),
        )
        list(fit)
        return fit.model.buffers

    alone = buffers()
    first, *others = on_ranks(3, buffers)
    np.testing.assert_allclose(first["mean"], alone["mean"], rtol=1e-12)
    assert first["seen"] == alone["seen"] == 4
    for other in others:
        assert all(other[name].tobytes() == array.tobytes() for name, array in first.items())


def test_what_ranks_compute_does_not_depend_on_who_is_late():
    def late(sleeper):
        def work(collective):
            fit = start("a mean", collective, micro_batch_size=2, precision="float32")
            while not fit.done:
                time.sleep(0.01 if collective.rank == sleeper else 0)
                fit.advance()
            return {name: array.tobytes() for name, array in fit.model.parameters.items()}

        return on_ranks(2, work)

    assert late(0) == late(1)


def scaled(gradients, length, limit):
    return {name: gradient * min(1.0, limit / (length + 1e-6)) for name, gradient in gradients.items()}


def by_all(gradients, _):
    return scaled(gradients, math.sqrt(sum((g**2).sum() for g in gradients.values())), 0.1)


def by_largest(gradients, _):
    return scaled(gradients, max(abs(g).max() for g in gradients.values()), 0.1)


def by_each(gradients, _):
    return {n: scaled({n: g}, np.linalg.norm(g), 0.05)[n] for n, g in gradients.items()}


def by_value(gradients, _):
    return {name: np.clip(gradient, -0.01, 0.01) for name, gradient in gradients.items()}


def by_units(gradients, parameters):
    """A unit is a column of a matrix, or a whole vector; its gradient is at most 0.02 times as long as it."""
    found = {}
    for name, gradient in gradients.items():
        most = 0.02 * np.maximum(np.linalg.norm(parameters[name], axis=0), 1e-3)
        found[name] = gradient * np.minimum(1.0, most / np.maximum(np.linalg.norm(gradient, axis=0), 1e-6))
    return found


CLIPS = {
    by_all: {"norm": 0.1},
    by_largest: {"norm": 0.1, "p": "inf"},
    by_each: {"per_parameter": 0.05},
    by_value: {"value": 0.01},
    by_units: {"adaptive": {"clipping": 0.02}},
}


@pytest.mark.parametrize("micro", [None, 3])
@pytest.mark.parametrize(("limit", "clip"), CLIPS.items(), ids=lambda given: getattr(given, "__name__", ""))
def test_gradients_are_clipped(limit, clip, micro):
    """Plain descent at rate 1 moves by minus the gradient; what rows say is the norm before."""
    options = {"optimizer": {"kind": "sgd", "lr": 1.0}, "shuffle": False, "micro_batch_size": micro}
    free, limited = start("a mean", **options), start("a mean", clip=clip, **options)
    before = {name: array.copy() for name, array in free.model.parameters.items()}
    (row,), (other,) = free.advance(), limited.advance()
    assert row.values == other.values
    wanted = limit({name: before[name] - array for name, array in free.model.parameters.items()}, before)
    for name, array in limited.model.parameters.items():
        np.testing.assert_allclose(before[name] - array, wanted[name], rtol=1e-10, atol=1e-14, err_msg=name)


def test_a_gradient_that_is_not_finite_ends_the_fit_or_is_left_out():
    """The root has an infinite slope at 0, where w starts."""
    graph = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean(sqrt(w) + x * 0.0)"}

    def create(divergence=None, **clip):
        document = {"epochs": 1, "batch_size": 2, "clip": clip, "optimizer": "sgd", "divergence": divergence}
        recipe = engine.read_recipe(document)
        return engine.Fit(engine.parse_graph(graph), recipe, {"x": np.ones(4)})

    failed = create(nonfinite="error")
    with pytest.raises(NumericalError, match="not finite"):
        list(failed)
    assert (failed.step, failed.model.parameters["w"].item()) == (1, 0.0)
    left_out = create(nonfinite="skip")
    assert [point.values["skipped"] for point in left_out] == [1.0, 1.0]
    assert left_out.model.parameters["w"].item() == 0.0
    watched = create()
    with pytest.raises(NonfiniteError, match=r"norm of the gradients of step 1 is (inf|nan): .*in the backward node"):
        list(watched)
    assert (watched.step, watched.model.parameters["w"].item()) == (1, 0.0)
    applied = create(divergence={"action": "continue"})
    assert "skipped" not in next(iter(applied)).values
    assert not math.isfinite(applied.model.parameters["w"].item())


def moves(**recipe):
    """The moves of a parameter without any gradient of its own, by steps, at rate 1."""
    document = {"inputs": {"x": ["n"]}, "parameters": {"w": [400]}, "program": "loss = mean(x) + 0.0 * sum(w)"}
    recipe = {"steps": 40, "batch_size": 4, "optimizer": {"kind": "sgd", "lr": 1.0}, "precision": "float64", **recipe}
    fit = engine.Fit(engine.parse_graph(document), engine.read_recipe(recipe), {"x": np.ones(4)})
    found, before = [], fit.model.parameters["w"].copy()
    while not fit.done:
        fit.advance()
        found.append(before - fit.model.parameters["w"])
        before = fit.model.parameters["w"].copy()
    return np.array(found)


def test_noise_is_reproducible_and_dies_away():
    noise = {"eta": 0.3, "gamma": 0.55}
    drawn = moves(noise=noise)
    np.testing.assert_array_equal(drawn, moves(noise=noise))
    assert not np.array_equal(drawn, moves(noise=noise, seed=1))
    assert not moves().any()
    wanted = 0.3 / np.arange(1, 41) ** 0.55
    np.testing.assert_allclose(drawn.var(axis=1), wanted, rtol=0.35)
    assert abs(drawn.mean()) < 0.02
    assert abs(np.corrcoef(drawn[0], drawn[1])[0, 1]) < 0.2
    np.testing.assert_array_equal(drawn, moves(noise=noise, micro_batch_size=2))


@pytest.mark.parametrize("precision", ["float32", "float64", "mixed_float16", "mixed_bfloat16"])
def test_every_precision_trains_and_keeps_its_master_weights(precision):
    if precision == "mixed_bfloat16":
        pytest.importorskip("ml_dtypes")
    fit = start("a mean", precision=precision, epochs=30, optimizer={"kind": "adam", "lr": 0.05}, average="ema")
    points, parameters = ended(fit)
    assert points[-1].values["loss"] < 0.5 * points[0].values["loss"]
    wanted = {"float64" if precision == "float64" else "float32"}
    snapshot = fit.snapshot()
    slots = {a.dtype.name for n, a in snapshot.optimizer.items() if n.startswith("moment")}
    assert {array.dtype.name for array in parameters.values()} == slots == wanted
    assert {array.dtype.name for array in snapshot.under("average/").values()} == wanted


def test_half_precision_is_near_single_and_not_equal():
    exact, half = (start("a mean", precision=p).advance()[0].values["loss"] for p in ("float32", "mixed_float16"))
    assert half != exact
    assert half == pytest.approx(exact, rel=1e-2)


def test_the_scale_of_the_loss_grows_and_backs_off_as_grad_scalers_does():
    scaling = {"initial": 2.0**40, "growth_factor": 4.0, "backoff_factor": 0.25, "growth_interval": 3}
    fit = start("a mean", precision="mixed_float16", epochs=15, loss_scaling=scaling, record={"gradient_norms": False})
    scale, good, skipped = 2.0**40, 0, []
    while not fit.done:
        before = {name: array.copy() for name, array in fit.model.parameters.items()}
        slots = {name: array.copy() for name, array in fit.snapshot().optimizer.items()}
        (point,) = fit.advance()
        skipped.append(point.values["skipped"] == 1.0)
        if skipped[-1]:
            scale, good = scale * 0.25, 0
            assert all(np.array_equal(before[name], array) for name, array in fit.model.parameters.items())
            assert all(np.array_equal(slots[name], array) for name, array in fit.snapshot().optimizer.items())
        else:
            good += 1
            scale, good = (scale * 4.0, 0) if good == 3 else (scale, good)
        assert point.values["loss_scale"] == scale
        assert math.isfinite(point.values["loss"])
    assert skipped[0]
    assert skipped != sorted(skipped, reverse=True)
    assert 0 < sum(skipped) < len(skipped)


def test_what_the_loss_is_scaled_by_does_not_show_in_a_step():
    options = {"precision": "mixed_float16", "optimizer": {"kind": "sgd", "lr": 0.1}, "shuffle": False, "epochs": 1}
    small, large = (start("a mean", loss_scaling={"initial": scale}, **options) for scale in (2.0**4, 2.0**12))
    first, second = small.advance()[0].values, large.advance()[0].values
    assert first["loss"] == second["loss"]
    assert first["grad_norm"] == pytest.approx(second["grad_norm"], rel=1e-3)


def test_pieces_that_are_computed_again_leave_every_bit_as_it_is():
    document = {
        "inputs": {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}},
        "layers": [
            {"layer": "linear", "units": 8, "activation": "tanh"},
            {"layer": "dropout", "p": 0.4},
            "batch_norm",
            {"layer": "linear", "units": 8, "activation": "tanh"},
            {"layer": "linear", "units": 3},
        ],
        "loss": "cross_entropy",
    }

    def create(**recipe):
        recipe = engine.read_recipe({"epochs": 3, "batch_size": 5, "validation": {"split": 0.3}, **recipe})
        columns = {"x": X, "label": np.abs(LABELS)}
        fit = engine.Fit(engine.parse_graph(document), recipe, columns)
        rows = [point.to_json() for point in fit]
        snapshot = fit.snapshot()
        arrays = {**snapshot.parameters, **snapshot.buffers, **snapshot.optimizer}
        return rows, {name: array.tobytes() for name, array in arrays.items()}

    for precision in ("float32", "mixed_float16"):
        plain = create(precision=precision)
        assert create(precision=precision, recompute={"segments": 2}) == plain


@pytest.mark.parametrize(
    "options",
    [{}, {"micro_batch_size": 3}, {"average": "ema", "clip": {"norm": 1.0}}, {"precision": "mixed_float16"}],
    ids=str,
)
def test_everything_may_be_frozen_for_an_epoch(options):
    fit = start("a mean", freeze=[{"match": "*", "first_epoch": 2, "last_epoch": 2}], **options)
    ends = []
    for point in fit:
        assert ("grad_norm" in point.values) == (fit.epoch != 2)
        if fit.step % fit.steps_per_epoch == 0:
            ends.append({name: array.copy() for name, array in fit.model.parameters.items()})
    for name in ends[0]:
        np.testing.assert_array_equal(ends[0][name], ends[1][name])
        assert not np.array_equal(ends[1][name], ends[2][name])


def test_callbacks_see_each_step_and_may_end_the_fit():
    seen = []

    def watch(fit, points):
        seen.append((fit.step, [point.seq for point in points]))
        if fit.step == 3:
            fit.stop("enough")

    inputs, parameters, program = GRAPHS["a mean"]
    definition = engine.parse_graph({"inputs": inputs, "parameters": parameters, "program": program})
    recipe = engine.read_recipe({"epochs": 3, "batch_size": 7})
    fit = engine.Fit(definition, recipe, {"x": X, "y": Y}, callbacks=[watch])
    assert [point.seq for point in fit] == [1, 2, 3]
    assert (fit.step, fit.stopped, fit.failure, fit.done) == (3, "enough", None, True)
    assert seen == [(1, [1]), (2, [2]), (3, [3])]
