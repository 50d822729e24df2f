"""Ends of a fit before its last step: early stopping, budgets, and losses that are not finite."""

import math

import numpy as np
import pytest

import engine
from engine.core.errors import NumericalError
from engine.training.recipe.options import EarlyStopping, improves, mode_of
from tests.support.rows import each_row


def walk(value, columns=None, held_out=None, **recipe):
    """Start a fit whose parameter w goes from 0 to -1, -2, ... by one each step; its loss is `value`, an expression."""
    document = {
        "inputs": {"x": ["n"]},
        "parameters": {"w": []},
        "program": f"s = stop_gradient(w)\nloss = mean(x) * (w - s) + {value}",
    }
    recipe = {
        "epochs": 9,
        "batch_size": 2,
        "optimizer": {"kind": "sgd", "lr": 1.0},
        "validation": {"split": 0.5},
        **recipe,
    }
    recipe = engine.read_recipe(recipe)
    return engine.Fit(engine.parse_graph(document), recipe, columns or {"x": np.ones(4)}, held_out)


def weight(fit):
    return fit.model.parameters["w"].item()


def numbers(points, split, name="loss"):
    return [point.values[name] for point in points if point.split == split]


BOWL = "(s + 3.0) ** 2"
"""4, 1, 0, 1, 4, ... after the epochs."""


@pytest.mark.parametrize(("patience", "epochs"), [(0, 4), (1, 4), (2, 5), (3, 6), (6, 9), (7, 9)])
def test_a_fit_ends_after_so_many_evaluations_without_improvement(patience, epochs):
    fit = walk(BOWL, early_stopping={"patience": patience})
    losses = numbers(fit, "validation")
    assert losses == [(3.0 - epoch) ** 2 for epoch in range(1, epochs + 1)]
    assert fit.best == {"metric": "val_loss", "value": 0.0, "step": 3, "epoch": 3}
    assert (fit.stopped is None) == (patience == 7)
    assert patience == 7 or f"val_loss has not improved on 0.0 in {max(patience, 1)} evaluations" in fit.stopped
    assert weight(fit) == -3
    assert fit.snapshot().parameters["w"] == -3


def test_the_best_weights_come_back_at_the_end_only_if_asked():
    last = walk(BOWL, early_stopping={"patience": 9, "restore_best": False}, epochs=5)
    best = walk(BOWL, early_stopping={"patience": 9}, epochs=5)
    list(last), list(best)
    assert (weight(last), weight(best)) == (-5, -3)
    assert last.best == best.best
    plain = walk(BOWL, epochs=5)
    list(plain)
    assert weight(plain) == -5


def test_a_fit_that_is_stopped_by_its_caller_ends_on_its_best_weights():
    fit = walk(BOWL, early_stopping={"patience": 9})
    while fit.step < 5:
        fit.advance()
    fit.stop("the caller has enough")
    assert (fit.done, fit.stopped, weight(fit)) == (True, "the caller has enough", -3)


def test_the_best_weights_from_before_an_average_began_are_what_predicts():
    average = {"kind": "swa", "first_epoch": 5}
    fit = walk(BOWL, early_stopping={"patience": 9}, average=average, epochs=6)
    list(fit)
    averaged = fit.snapshot().averaged()
    assert (weight(fit), averaged.parameters["w"]) == (-3, -3)


@pytest.mark.parametrize(("min_delta", "epochs"), [(0.5, 9), (1.0, 9), (2.0, 3), (4.0, 3)])
def test_what_does_not_beat_the_best_by_more_than_min_delta_is_no_improvement(min_delta, epochs):
    """The loss falls by one each epoch, so two epochs beat the best by 2."""
    fit = walk("(s + 10.0)", early_stopping={"patience": 2, "min_delta": min_delta})
    assert numbers(fit, "validation") == [9, 8, 7, 6, 5, 4, 3, 2, 1][:epochs]
    assert fit.best["value"] == (1 if epochs == 9 else 9)


def test_evaluations_before_the_first_epoch_are_not_counted():
    rising = "0.0 - s"
    fit = walk(rising, early_stopping={"patience": 2, "first_epoch": 4})
    assert numbers(fit, "validation") == [1, 2, 3, 4, 5]
    assert weight(fit) == -1


def test_the_direction_of_improvement_can_be_set():
    fit = walk("0.0 - s", early_stopping={"patience": 1, "mode": "max"})
    assert len(numbers(fit, "validation")) == 9
    fit = walk("s", early_stopping={"patience": 1, "mode": "max"})
    assert len(numbers(fit, "validation")) == 2


def test_without_rows_to_validate_on_the_loss_of_the_epoch_is_watched():
    fit = walk(BOWL, validation={}, columns={"x": np.ones(2)}, early_stopping={"patience": 2})
    assert numbers(fit, "train") == [9, 4, 1, 0, 1, 4]
    assert fit.best["metric"] == "loss"
    assert weight(fit) == -4


def test_a_metric_may_be_watched_and_more_of_an_accuracy_is_better():
    """The score of a row is x + 2 + w, so that ever fewer of the held-out rows are taken for class 1, as they are."""
    document = {
        "inputs": {"x": ["n"], "y": ["n"]},
        "parameters": {"w": []},
        "program": (
            "s = stop_gradient(w)\nscore = x + 2.5 + s\nloss = binary_cross_entropy_with_logits(score, y)\n"
            "step = mean(x * 0.0 + 1.0) * (w - s)"
        ),
        "losses": ["loss", "step"],
    }
    recipe = {
        "epochs": 9,
        "batch_size": 4,
        "optimizer": {"kind": "sgd", "lr": 1.0},
        "metrics": ["accuracy"],
        "early_stopping": {"monitor": "val_accuracy", "patience": 2},
    }
    rows = {"x": np.arange(4.0), "y": np.ones(4)}
    fit = engine.Fit(engine.parse_graph(document), engine.read_recipe(recipe), rows, rows)
    assert numbers(fit, "validation", "accuracy") == [1.0, 1.0, 0.75][:3]
    assert fit.best["epoch"] == 1


def test_a_metric_that_is_not_known_is_refused():
    definition = walk(BOWL).definition
    columns = {"x": engine.ColumnInfo("float64", (), 4)}
    for monitor in ("val_los", "val_loss", "accuracy"):
        recipe = engine.read_recipe({"epochs": 1, "early_stopping": {"monitor": monitor}})
        with pytest.raises(engine.DocumentError, match=monitor) as caught:
            engine.check_fit(definition, recipe, columns)
        assert [finding.pointer for finding in caught.value.findings] == ["/early_stopping/monitor"]
    engine.check_fit(definition, engine.read_recipe({"epochs": 1, "early_stopping": {"monitor": "loss"}}), columns)


@each_row(
    ("value", "best", "mode", "min_delta", "better"),
    [
        (1.0, None, "min", 0.5, True),
        (math.nan, None, "min", 0.0, False),
        (-math.inf, 1.0, "min", 0.0, False),
        (0.5, 1.0, "min", 0.5, False),
        (0.4, 1.0, "min", 0.5, True),
        (1.5, 1.0, "max", 0.5, False),
        (1.6, 1.0, "max", 0.5, True),
        (1.0, 1.0, "min", 0.0, False),
        (1.0, 1.0, "max", 0.0, False),
    ],
)
def test_what_improves(value, best, mode, min_delta, better):
    assert improves(value, best, mode, min_delta) == better


def test_the_mode_goes_by_the_metric():
    known = {"accuracy": True, "rmse": False}
    names = ("loss", "val_loss", "accuracy", "val_accuracy", "val_rmse")
    assert [mode_of(name, known) for name in names] == ["min", "min", "max", "max", "min"]
    assert EarlyStopping().mode is None


ROOT = "sqrt(s + 1.5)"
"""Not a number from the third step on, or after it where steps are halved."""
FOUR = {"columns": {"x": np.ones(8)}, "validation": {}}


def test_a_fit_that_diverges_continues_on_request_and_shows_it():
    points = list(walk(ROOT, **FOUR, epochs=1, divergence={"action": "continue"}))
    assert [math.isnan(value) for value in numbers(points, "train")] == [False, False, True, True]
    assert "skipped" not in points[0].values


@pytest.mark.parametrize("divergence", [None, {"action": "stop"}])
@pytest.mark.parametrize("micro", [None, 1])
def test_a_fit_that_diverges_ends_as_failed_before_the_step(micro, divergence):
    fit = walk(ROOT, **FOUR, divergence=divergence, micro_batch_size=micro)
    points = []
    with pytest.raises(NumericalError, match="step 3 is nan"):
        points.extend(iter(fit))
    assert [point.step for point in points] == [1, 2, 3]
    assert (fit.step, fit.seq, weight(fit), fit.done, fit.stopped) == (3, 3, -2, True, None)
    assert fit.best is None


@pytest.mark.parametrize("micro", [None, 1])
def test_steps_that_are_not_finite_may_be_left_out_until_they_are_too_many(micro):
    fit = walk(ROOT, **FOUR, divergence={"action": "skip", "limit": 3}, micro_batch_size=micro)
    rows = []
    while not fit.done:
        rows += [(p.step, p.values["skipped"]) for p in fit.advance() if p.split == "train"]
    assert rows == [(1, 0), (2, 0), (3, 1), (4, 1), (5, 1), (6, 1)]
    assert "left out" in str(fit.failure)
    assert weight(fit) == -2


def test_the_count_of_steps_left_out_starts_again_after_a_good_one():
    """Every second batch holds an infinite row, whose gradient is infinite too."""
    rows = np.array([1.0, 1.0, np.inf, 1.0] * 3)
    fit = walk("0.0 * s", columns={"x": rows}, validation={}, shuffle=False, divergence={"action": "skip", "limit": 1})
    points = list(fit)
    assert [point.values["skipped"] for point in points] == [0, 1] * 27
    assert weight(fit) == -27
    summary = walk(
        "0.0 * s + 2.0",
        columns={"x": rows},
        validation={},
        shuffle=False,
        record={"epochs": True},
        epochs=1,
        divergence={"action": "skip"},
    )
    assert [p.values["epoch_loss"] for p in summary if "epoch_loss" in p.values] == [2.0]


def test_a_fit_whose_last_step_is_left_out_is_validated_all_the_same():
    rows = {"x": np.array([1.0, 1.0, 1.0, 1.0, np.inf, 1.0, 1.0, 1.0])}
    recipe = {"steps": 3, "epochs": None, "shuffle": False, "divergence": {"action": "skip"}, "validation": {}}
    fit = walk("0.0 * s", columns=rows, held_out={"x": np.ones(2)}, **recipe)
    points = list(fit)
    assert [(point.step, point.split) for point in points] == [
        (1, "train"),
        (2, "train"),
        (3, "train"),
        (3, "validation"),
    ]


@pytest.mark.parametrize("micro", [None, 1])
def test_a_step_left_out_in_parts_leaves_the_average_what_it_was(micro):
    rows = {"x": np.array([np.inf, 1.0, 1.0, 1.0])}
    recipe = {"divergence": {"action": "skip"}, "average": "ema", "shuffle": False, "validation": {}, "epochs": 1}
    fit = walk("0.0 * s", columns=rows, micro_batch_size=micro, **recipe)
    fit.model.parameters["w"][...] = 5
    fit.advance()
    assert fit.snapshot().averaged().parameters["w"] == 5


def test_a_fit_may_go_back_to_the_last_good_epoch_and_on_at_a_lower_rate():
    def create():
        return walk(ROOT, **FOUR, epochs=1, divergence={"action": "roll_back", "factor": 0.5})

    fit = create()
    points = list(fit)
    assert [(point.seq, point.step) for point in points] == [(1, 1), (2, 2), (3, 3), (4, 1), (5, 2), (6, 3), (7, 4)]
    assert numbers(points, "train", "lr") == [1, 1, 1, 0.5, 0.5, 0.5, 0.5]
    assert numbers(points, "train", "skipped") == [0, 0, 1, 0, 0, 0, 0]
    assert weight(fit) == -2
    assert [point.to_json() for point in create()] == [point.to_json() for point in points]


def test_a_fit_that_goes_back_too_often_fails():
    """After the first epoch w is -2, where the root is of no number at any rate."""
    fit = walk(ROOT, columns={"x": np.ones(4)}, validation={}, divergence={"action": "roll_back", "limit": 3})
    points = []
    while not fit.done:
        points += fit.advance()
    assert [point.step for point in points] == [1, 2, 3, 3, 3, 3]
    assert numbers(points, "train", "lr") == [1, 1, 1, 0.5, 0.25, 0.125]
    assert "gone back 3 times" in str(fit.failure)
    assert weight(fit) == -2


def test_the_count_of_returns_starts_again_with_an_epoch():
    fit = walk(ROOT, **FOUR, divergence={"action": "roll_back", "limit": 1})
    counts = []
    while fit.step < 4:
        fit.advance()
        counts.append(fit.snapshot().cursor["returns"])
    assert counts == [0, 0, 1, 1, 1, 1, 0]


def test_the_best_weights_of_a_fit_that_went_back_are_kept():
    """The best loss is met within an epoch that diverges later on."""
    fit = walk(
        "abs(s + 2.0) + 0.0 * sqrt(s + 3.5)",
        columns={"x": np.ones(12)},
        held_out={"x": np.ones(2)},
        epochs=1,
        validation={"every_steps": 1},
        divergence={"action": "roll_back", "factor": 0.3},
        early_stopping={"patience": 99},
    )
    points = list(fit)
    assert [point.seq for point in points] == list(range(1, len(points) + 1))
    assert fit.best["value"] == pytest.approx(min(v for v in numbers(points, "validation") if math.isfinite(v)))
    assert abs(weight(fit) + 2) == pytest.approx(fit.best["value"], abs=1e-6)


def test_a_budget_of_steps_ends_a_fit_with_success():
    fit = walk(BOWL, budget={"steps": 4}, columns={"x": np.ones(12)})
    points = list(fit)
    assert (fit.steps_per_epoch, fit.step, fit.failure) == (3, 4, None)
    assert "budget of 4 steps" in fit.stopped
    assert [(point.step, point.split) for point in points][-2:] == [(4, "train"), (4, "validation")]
    assert fit.checkpoint_due
    whole = walk(BOWL, budget={"steps": 9})
    list(whole)
    assert (whole.step, whole.stopped) == (9, None)


def test_a_budget_of_seconds_is_spent_over_all_processes(tmp_path):
    fit = walk(BOWL, budget={"seconds": 1e-9})
    list(fit)
    assert (fit.step, fit.failure) == (1, None)
    assert "budget of 1e-09 seconds" in fit.stopped
    half = walk(BOWL, budget={"seconds": 1e6})
    half.advance()
    half.snapshot().save(tmp_path / "c.safetensors")
    resumed = walk(BOWL, budget={"seconds": 1e6})
    checkpoint = engine.Checkpoint.load(tmp_path / "c.safetensors")
    assert 0 < float.fromhex(checkpoint.cursor["seconds"]) < 1e6
    checkpoint.cursor["seconds"] = (1e6).hex()
    resumed.restore(checkpoint)
    resumed.advance()
    assert (resumed.step, resumed.done) == (2, True)


def test_a_fit_that_was_stopped_is_still_stopped_when_it_is_restored():
    fit = walk(BOWL, early_stopping={"patience": 1})
    list(fit)
    again = walk(BOWL, early_stopping={"patience": 1})
    again.restore(fit.snapshot())
    assert (again.done, again.stopped) == (True, fit.stopped)
