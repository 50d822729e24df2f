"""What of a recipe may change once training has begun: what is allowed can be trained on with, the rest is refused."""

import math

import numpy as np
import pytest

import engine
from engine.core.options import options_of
from engine.optim.optimizers import OPTIMIZERS
from tests.support.rows import each_row

pytestmark = pytest.mark.law

RANDOM = np.random.default_rng(4)
X = RANDOM.standard_normal((16, 3)).astype(np.float32)
COLUMNS = {"x": X, "label": (X[:, 0] > 0).astype(np.int64) + (X[:, 1] > 0.5)}
GRAPH = engine.parse_graph(
    {
        "inputs": {"x": ["n", 3], "label": {"shape": ["n"], "dtype": "int64"}},
        "layers": [{"layer": "linear", "units": 4, "activation": "tanh"}, {"layer": "linear", "units": 3}],
        "loss": "cross_entropy",
    }
)
STEP, STEPS_PER_EPOCH = 4, 3
BASE = {"epochs": 3, "batch_size": 4, "validation": {"split": 0.25}, "metrics": ["accuracy"]}
SGD, ADAM = {"kind": "sgd", "lr": 0.1}, {"kind": "adam", "lr": 0.01}
GROUPS = {**ADAM, "groups": [{"match": "*.bias", "lr": 0.1}, {"ndim": 2, "kind": "muon"}]}
ONE_CYCLE = {"kind": "one_cycle", "total_steps": 99, "max_lr": 0.05, "per": "step"}
PLATEAU = {"kind": "reduce_on_plateau"}
HALF = {"precision": "mixed_float16"}
FREEZE = [{"match": "linear_0.*", "first_epoch": 2}, {"match": ["*.bias"], "last_epoch": 2}]


def chain(*transforms):
    """An optimizer of transforms, each without options or with."""
    return {"kind": "chain", "transforms": [{"kind": one} if isinstance(one, str) else one for one in transforms]}


ALLOWED = {
    "nothing": ({}, {}),
    "more epochs": ({}, {"epochs": 5}),
    "steps for epochs": ({}, {"epochs": None, "steps": 7}),
    "epochs for steps": ({"epochs": None, "steps": 7}, {"epochs": 4, "steps": None}),
    "lr": ({"optimizer": SGD}, {"optimizer": {"kind": "sgd", "lr": 0.5}}),
    "options": ({"optimizer": ADAM}, {"optimizer": {"kind": "adam", "betas": [0.8, 0.99], "weight_decay": 0.1}}),
    "the way it is written": ({"optimizer": "adam"}, {"optimizer": {"kind": "adam"}}),
    "momentum": ({"optimizer": {**SGD, "momentum": 0.9}}, {"optimizer": {**SGD, "momentum": 0.5, "nesterov": True}}),
    "no momentum": ({"optimizer": {**SGD, "momentum": 0.9}}, {"optimizer": SGD}),
    "no amsgrad": ({"optimizer": {**ADAM, "amsgrad": True}}, {"optimizer": ADAM}),
    "groups": ({"optimizer": GROUPS}, {"optimizer": {**GROUPS, "lr": 0.5, "groups": [
        {"match": "*.bias", "lr": 0.2}, {"ndim": 2, "kind": "muon", "ns_steps": 3}]}}),
    "a chain": (
        {"optimizer": chain("scale_by_adam", {"kind": "add_decayed_weights", "weight_decay": 0.1})},
        {"optimizer": chain({"kind": "scale_by_adam", "b1": 0.8})},
    ),
    "lbfgs": ({"optimizer": "lbfgs"}, {"optimizer": {"kind": "lbfgs", "lr": 0.5, "line_search": "strong_wolfe"}}),
    "schedule": ({}, {"schedule": {"kind": "cosine", "t_max": 9}}),
    "a plateau": ({}, {"schedule": PLATEAU}),
    "no plateau": ({"schedule": PLATEAU}, {"schedule": "constant"}),
    "patience": ({"schedule": PLATEAU}, {"schedule": {**PLATEAU, "patience": 1}}),
    "cycled momentum": ({"optimizer": ADAM}, {"optimizer": ADAM, "schedule": ONE_CYCLE}),
    "momentum that was cycled": (
        {"optimizer": SGD, "schedule": ONE_CYCLE}, {"optimizer": {**SGD, "momentum": 0.9}, "schedule": "constant"}
    ),
    "no cycled momentum": ({"optimizer": SGD, "schedule": ONE_CYCLE}, {"optimizer": SGD, "schedule": "constant"}),
    "clip": ({}, {"clip": {"norm": 1.0, "adaptive": {}}}),
    "noise": ({}, {"noise": {"eta": 0.1}}),
    "loss scaling": (HALF, {**HALF, "loss_scaling": {"growth_interval": 5}}),
    "early stopping": ({}, {"early_stopping": {"patience": 3}}),
    "another metric watched": (
        {"early_stopping": {"monitor": "val_loss"}}, {"early_stopping": {"monitor": "val_accuracy"}}
    ),
    "no early stopping": ({"early_stopping": {"monitor": "val_loss"}}, {}),
    "returns": ({}, {"divergence": {"action": "roll_back"}}),
    "no returns": ({"divergence": {"action": "roll_back"}}, {"divergence": {"action": "skip"}}),
    "budget": ({"budget": {"steps": 4}}, {"budget": {"steps": 5, "seconds": 3600}}),
    "checkpoint": ({}, {"checkpoint": {"every_steps": 1, "keep_last": 1}}),
    "record": ({}, {"record": {"every_steps": 2, "gradient_norms": False, "gradients": {"every_steps": 2}}}),
    "rows of epochs": ({}, {"record": {"epochs": True}}),
    "metrics": ({"record": {"epochs": True}}, {"metrics": ["f1", "auc"], "record": {"epochs": True}}),
    "freeze": ({"freeze": FREEZE}, {"freeze": [
        {"match": ["linear_0.*"], "last_epoch": 1}, {"match": "*.bias", "first_epoch": 3}]}),
    "average": ({"average": "ema"}, {"average": {"kind": "ema", "decay": 0.5, "every_steps": 2}}),
    "an average begun": ({}, {"average": "swa"}),
    "an average ended": ({"average": "swa"}, {"average": None}),
    "an average under returns": (
        {"divergence": {"action": "roll_back"}, "early_stopping": {}},
        {"divergence": {"action": "roll_back"}, "early_stopping": {}, "average": "ema"},
    ),
}  # fmt: skip


def fit_of(recipe):
    """Start a fit."""
    return engine.Fit(GRAPH, engine.read_recipe(recipe), COLUMNS)


@pytest.mark.parametrize("name", ALLOWED)
def test_what_may_change_is_trained_on_with(name, tmp_path):
    before, after = ({**BASE, **changes} for changes in ALLOWED[name])
    engine.check_continuation(before, after, STEP, steps_per_epoch=STEPS_PER_EPOCH)
    fit, other = fit_of(before), fit_of(after)
    fit.advance(STEP)
    fit.snapshot().save(tmp_path / "c.safetensors")
    other.restore(engine.Checkpoint.load(tmp_path / "c.safetensors"), reopened=True)
    assert other.step == STEP
    points = list(other)
    assert points
    assert other.step == min(other.total_steps, other.recipe.budget.steps or other.total_steps)
    assert all(math.isfinite(value) for point in points for name, value in point.values.items() if name == "loss")


def test_every_adjustable_field_is_changed_in_these_tests():
    changed = {name for before, after in ALLOWED.values() for name in {**before, **after}}
    assert changed - {"precision"} == engine.ADJUSTABLE
    assert options_of(engine.Recipe).keys() > engine.ADJUSTABLE


FIXED = {
    "batch_size": 5,
    "micro_batch_size": 2,
    "shuffle": False,
    "sampling": {"weights": "balanced", "of": "label"},
    "windows": {"spans": {"x": [0, 4]}},
    "normalize": {"x": {"kind": "standard"}},
    "columns": {"x": ["age"]},
    "class_weights": "balanced",
    "classes": {"y": ["a", "b"]},
    "drop_last": True,
    "prefetch": 3,
    "seed": 8,
    "precision": "float64",
    "recompute": {"segments": 2},
    "memory_budget": 10**9,
    "activations": "float16",
    "validation": {"split": 0.5},
    "feeds": {"x": "y"},
    "images": {"x": {"size": None, "mode": "L", "dtype": "uint8"}},
    "preset": "ggml_opt_fit",
}


def refused(before, after, step=STEP, **options):
    """Return where a change is refused, with the codes."""
    with pytest.raises(engine.DocumentError) as caught:
        engine.check_continuation({**BASE, **before}, {**BASE, **after}, step, **options)
    assert all(finding.detail for finding in caught.value.findings)
    return [(finding.pointer, finding.code) for finding in caught.value.findings]


def test_every_other_field_stays_what_it_is():
    assert FIXED.keys() | engine.ADJUSTABLE == options_of(engine.Recipe).keys()
    for name, value in FIXED.items():
        found = refused({"optimizer": ADAM, "record": {"epochs": True}}, {
            "optimizer": ADAM, "record": {"epochs": True}, name: value,
        })  # fmt: skip
        assert found == [(f"/{name}", "conflict")], name
    several = {name: FIXED[name] for name in ("seed", "shuffle", "batch_size")}
    assert refused({}, several) == [(f"/{name}", "conflict") for name in ("batch_size", "shuffle", "seed")]


FROZEN = [{"match": "*.bias", "frozen": True}]
REFUSED = {
    "another optimizer": ({"optimizer": SGD}, {"optimizer": ADAM}, "/optimizer/kind"),
    "amsgrad": ({"optimizer": ADAM}, {"optimizer": {**ADAM, "amsgrad": True}}, "/optimizer/amsgrad"),
    "momentum": ({"optimizer": SGD}, {"optimizer": {**SGD, "momentum": 0.9}}, "/optimizer/momentum"),
    "momentum with what needs it": (
        {"optimizer": SGD}, {"optimizer": {**SGD, "momentum": 0.9, "nesterov": True}}, "/optimizer/momentum"
    ),
    "momentum of a group": (
        {"optimizer": {**ADAM, "groups": [{"match": "*", "kind": "sgd"}]}},
        {"optimizer": {**ADAM, "groups": [{"match": "*", "kind": "sgd", "momentum": 0.5}]}},
        "/optimizer/groups/0/momentum",
    ),
    "centered": ({"optimizer": "rmsprop"}, {"optimizer": {"kind": "rmsprop", "centered": True}}, "/optimizer/centered"),
    "history": (
        {"optimizer": "lbfgs"}, {"optimizer": {"kind": "lbfgs", "history_size": 5}}, "/optimizer/history_size"
    ),
    "another chain": (
        {"optimizer": chain("scale_by_adam")},
        {"optimizer": chain({"kind": "add_decayed_weights", "weight_decay": 0.1}, "scale_by_adam")},
        "/optimizer/transforms",
    ),
    "another transform": (
        {"optimizer": chain("scale_by_adam")}, {"optimizer": chain("scale_by_yogi")}, "/optimizer/transforms"
    ),
    "parameters on their own": (
        {"optimizer": chain("scale_by_adam")},
        {"optimizer": chain("scale_by_adam", "scale_by_trust_ratio")},
        "/optimizer/transforms",
    ),
    "more groups": ({"optimizer": ADAM}, {"optimizer": GROUPS}, "/optimizer/groups"),
    "another group": (
        {"optimizer": {**ADAM, "groups": [{"match": "*.bias"}]}},
        {"optimizer": {**ADAM, "groups": [{"match": "*.weight"}]}},
        "/optimizer/groups/0/match",
    ),
    "other axes": (
        {"optimizer": {**ADAM, "groups": [{"ndim": 1}]}},
        {"optimizer": {**ADAM, "groups": [{"ndim": [1, 2]}]}},
        "/optimizer/groups/0/ndim",
    ),
    "a frozen group": (
        {"optimizer": {**ADAM, "groups": [{"match": "*.bias"}]}},
        {"optimizer": {**ADAM, "groups": FROZEN}},
        "/optimizer/groups/0/frozen",
    ),
    "another kind of a group": (
        {"optimizer": {**ADAM, "groups": [{"match": "*.bias"}]}},
        {"optimizer": {**ADAM, "groups": [{"match": "*.bias", "kind": "lion"}]}},
        "/optimizer/groups/0/kind",
    ),
    "cycled momentum": ({"optimizer": SGD}, {"optimizer": SGD, "schedule": ONE_CYCLE}, "/schedule"),
    "freeze": ({}, {"freeze": [{"match": "linear_0.*"}]}, "/freeze"),
    "thaw": ({"freeze": FREEZE}, {"freeze": FREEZE[:1]}, "/freeze"),
    "what is frozen": ({"freeze": FREEZE}, {"freeze": [FREEZE[0], {"match": "x"}]}, "/freeze/1/match"),
    "average": ({"average": "ema"}, {"average": "swa"}, "/average/kind"),
}  # fmt: skip


@each_row("name", REFUSED)
def test_what_the_state_of_a_fit_does_not_serve_is_refused(name):
    before, after, pointer = REFUSED[name]
    assert refused(before, after) == [(pointer, "conflict")]


UNKEPT = (
    "amsgrad", "momentum", "momentum with what needs it", "momentum of a group", "centered", "history",
    "another chain", "parameters on their own", "cycled momentum", "freeze",
)  # fmt: skip


@pytest.mark.parametrize("name", UNKEPT)
def test_what_is_refused_for_the_want_of_state_would_not_be_restored(name):
    before, after, _ = REFUSED[name]
    fit, other = fit_of({**BASE, **before}), fit_of({**BASE, **after})
    fit.advance(STEP)
    with pytest.raises(engine.CheckpointError):
        other.restore(fit.snapshot(), reopened=True)


@each_row("kind", [kind for kind in OPTIMIZERS if kind not in ("chain", "muon")])
def test_every_optimizer_may_change_its_rate_and_never_its_kind(kind):
    engine.check_continuation(
        {**BASE, "optimizer": {"kind": kind}}, {**BASE, "optimizer": {"kind": kind, "lr": 0.5}}, 1
    )
    other = "adam" if kind != "adam" else "sgd"
    assert refused({"optimizer": kind}, {"optimizer": other}) == [("/optimizer/kind", "conflict")]


ENDS = {
    "epochs that are over": ({"epochs": 3}, 9, {"steps_per_epoch": 3}, "/epochs"),
    "epochs that end where the fit is": ({"epochs": 2}, 6, {"steps_per_epoch": 3}, "/epochs"),
    "steps that are over": ({"epochs": None, "steps": 9}, 9, {}, "/steps"),
    "a budget that is spent": ({"budget": {"steps": 9}}, 9, {}, "/budget/steps"),
}


@each_row("name", ENDS)
def test_a_fit_that_would_be_over_does_not_go_on(name):
    changes, step, options, pointer = ENDS[name]
    assert refused({"epochs": 9}, {"epochs": 9, **changes}, step, **options) == [(pointer, "out_of_range")]
    before = {**BASE, "epochs": 9}
    engine.check_continuation(
        before, {**before, **changes}, step - (3 if "steps_per_epoch" in options else 1), **options
    )


def test_a_recipe_that_cannot_be_read_is_refused_as_such():
    assert refused({}, {"optimizer": {"kind": "sgd", "lr": -1}}) == [("/optimizer/lr", "attribute_invalid")]
