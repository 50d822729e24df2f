"""Recipes: their defaults, and every fault with its pointer."""

import pytest

import engine
from engine.optim.groups import one_group
from engine.optim.optimizers import make_optimizer
from engine.optim.transforms.clipping import Clip
from engine.training.metrics.scores import Accuracy
from engine.training.recipe.options import Budget
from tests.support.rows import each_row


def test_defaults_are_filled_in():
    recipe = engine.read_recipe({"epochs": 2})
    assert (recipe.epochs, recipe.steps, recipe.batch_size, recipe.seed) == (2, None, 32, 0)
    assert (recipe.drop_last, recipe.precision, recipe.metrics) == (False, "float32", ())
    assert recipe.optimizer == one_group(make_optimizer({"kind": "adam"}))
    assert (recipe.schedule.kind, recipe.clip) == ("constant", Clip())
    assert recipe.checkpoint == engine.CheckpointPolicy(None, 1, 3, True)
    assert recipe.record == engine.Record(None, True, False)
    assert (recipe.validation.split, dict(recipe.feeds)) == (0.0, {})
    assert (recipe.divergence, recipe.budget) == (None, Budget(seconds=None, steps=None))
    assert (recipe.average, recipe.early_stopping, recipe.noise, recipe.micro_batch_size) == (None,) * 4


def test_null_stands_for_the_default():
    fields = [name for name in engine.Recipe.__dataclass_fields__ if name != "epochs"]
    assert engine.read_recipe({"epochs": 2, **dict.fromkeys(fields)}) == engine.read_recipe({"epochs": 2})


def test_a_kind_may_be_written_alone():
    assert engine.read_recipe({"epochs": 1, "optimizer": "sgd"}).optimizer.rest.kind == "sgd"
    assert engine.read_recipe({"epochs": 1, "schedule": "constant"}).schedule.kind == "constant"


def test_every_field_is_read():
    recipe = engine.read_recipe(
        {
            "steps": 7,
            "optimizer": {"kind": "sgd", "lr": 1, "momentum": 0.5},
            "schedule": {"kind": "step", "step_size": 2, "per": "step"},
            "clip": {"norm": 1, "value": 0.5},
            "batch_size": 4,
            "shuffle": False,
            "drop_last": True,
            "seed": 2**63 - 1,
            "precision": "float64",
            "metrics": ["accuracy"],
            "validation": {"split": 0.5},
            "checkpoint": {"every_steps": 2, "every_epochs": None, "keep_last": 1, "keep_best": False},
            "record": {"every_steps": 3, "gradient_norms": False},
            "feeds": {"x": "features"},
        }
    )
    assert (recipe.optimizer.rest.lr, recipe.optimizer.rest.own_momentum) == (1.0, 0.5)
    assert [recipe.schedule.rate(1.0, epoch=0, step=step) for step in (1, 2)] == [1.0, 0.1]
    assert recipe.clip == Clip(norm=1.0, value=0.5)
    assert recipe.metrics == (Accuracy(),)
    assert recipe.checkpoint == engine.CheckpointPolicy(2, None, 1, False)


E = {"epochs": 1}
FAULTS = {
    "a list": ([], [("", "type_mismatch"), ("/epochs", "attribute_invalid")]),
    "neither epochs nor steps": ({}, [("/epochs", "attribute_invalid")]),
    "both epochs and steps": ({"epochs": 1, "steps": 1}, [("/epochs", "attribute_invalid")]),
    "epochs of text": ({"epochs": "3"}, [("/epochs", "attribute_invalid")]),
    "boolean epochs": ({"epochs": True}, [("/epochs", "attribute_invalid")]),
    "no epochs": ({"epochs": 0}, [("/epochs", "out_of_range")]),
    "too many epochs": ({"epochs": 10**6 + 1}, [("/epochs", "out_of_range")]),
    "negative steps": ({"steps": -1}, [("/steps", "out_of_range")]),
    "steps of text": ({"steps": "3"}, [("/steps", "attribute_invalid")]),
    "an unknown field": ({**E, "epoch": 1}, [("/epoch", "unknown_field")]),
    "an empty batch": ({**E, "batch_size": 0}, [("/batch_size", "out_of_range")]),
    "a fractional batch": ({**E, "batch_size": 2.0}, [("/batch_size", "attribute_invalid")]),
    "shuffle as a number": ({**E, "shuffle": 1}, [("/shuffle", "type_mismatch")]),
    "drop_last as text": ({**E, "drop_last": "no"}, [("/drop_last", "attribute_invalid")]),
    "a negative seed": ({**E, "seed": -1}, [("/seed", "out_of_range")]),
    "a huge seed": ({**E, "seed": 2**63}, [("/seed", "attribute_invalid")]),
    "half precision": ({**E, "precision": "float16"}, [("/precision", "attribute_invalid")]),
    "an unknown metric": ({**E, "metrics": ["accuracy", "acuracy"]}, [("/metrics/1/kind", "unknown_name")]),
    "metrics as text": ({**E, "metrics": "accuracy"}, [("/metrics", "type_mismatch")]),
    "an unknown optimizer": ({**E, "optimizer": {"kind": "sdg"}}, [("/optimizer", "unknown_name")]),
    "an optimizer without a kind": ({**E, "optimizer": {}}, [("/optimizer", "unknown_name")]),
    "an optimizer as a list": ({**E, "optimizer": []}, [("/optimizer", "type_mismatch")]),
    "an option out of range": ({**E, "optimizer": {"kind": "sgd", "lr": -1}}, [("/optimizer/lr", "attribute_invalid")]),
    "an unknown schedule": ({**E, "schedule": "cosin"}, [("/schedule", "unknown_name")]),
    "a schedule as a number": ({**E, "schedule": 0}, [("/schedule", "type_mismatch")]),
    "an empty schedule": ({**E, "schedule": ""}, [("/schedule", "unknown_name")]),
    "clip as a number": ({**E, "clip": 0}, [("/clip", "type_mismatch")]),
    "clip as a list": ({**E, "clip": []}, [("/clip", "type_mismatch")]),
    "an unknown clip": ({**E, "clip": {"nrom": 1}}, [("/clip/nrom", "unknown_field")]),
    "a clip at 0": ({**E, "clip": {"norm": 0}}, [("/clip/norm", "out_of_range")]),
    "a clip of text": ({**E, "clip": {"value": "1"}}, [("/clip/value", "attribute_invalid")]),
    "a split of all": ({**E, "validation": {"split": 1}}, [("/validation/split", "out_of_range")]),
    "a negative split": ({**E, "validation": {"split": -0.1}}, [("/validation/split", "out_of_range")]),
    "split and dataset": (
        {**E, "validation": {"split": 0.1, "dataset": "ds_1"}},
        [("/validation", "attribute_invalid")],
    ),
    "validation as a number": ({**E, "validation": 0.1}, [("/validation", "type_mismatch")]),
    "a checkpoint every 0 steps": (
        {**E, "checkpoint": {"every_steps": 0}},
        [("/checkpoint/every_steps", "out_of_range")],
    ),
    "keeping text": ({**E, "checkpoint": {"keep_last": "all"}}, [("/checkpoint/keep_last", "attribute_invalid")]),
    "keep_best as a number": ({**E, "checkpoint": {"keep_best": 1}}, [("/checkpoint/keep_best", "attribute_invalid")]),
    "an unknown field of checkpoint": ({**E, "checkpoint": {"every": 1}}, [("/checkpoint/every", "unknown_field")]),
    "a record every -1 steps": ({**E, "record": {"every_steps": -1}}, [("/record/every_steps", "out_of_range")]),
    "an unknown field of record": ({**E, "record": {"norms": 1}}, [("/record/norms", "unknown_field")]),
    "feeds as a list": ({**E, "feeds": []}, [("/feeds", "attribute_invalid")]),
    "parts larger than the batch": (
        {**E, "batch_size": 4, "micro_batch_size": 5},
        [("/micro_batch_size", "attribute_invalid")],
    ),
    "a part of nothing": ({**E, "micro_batch_size": 0}, [("/micro_batch_size", "out_of_range")]),
    "a growth of 1": ({**E, "loss_scaling": {"growth_factor": 1}}, [("/loss_scaling/growth_factor", "out_of_range")]),
    "a backoff of 1": (
        {**E, "loss_scaling": {"backoff_factor": 1}},
        [("/loss_scaling/backoff_factor", "out_of_range")],
    ),
    "both answers to what is not finite": (
        {**E, "clip": {"nonfinite": "skip"}, "divergence": {"action": "stop"}},
        [("/clip/nonfinite", "attribute_invalid")],
    ),
    "an unknown answer": ({**E, "divergence": {"action": "halt"}}, [("/divergence/action", "attribute_invalid")]),
    "no budget at all": ({**E, "budget": {"seconds": 0}}, [("/budget/seconds", "out_of_range")]),
    "negative patience": ({**E, "early_stopping": {"patience": -1}}, [("/early_stopping/patience", "out_of_range")]),
    "noise of nothing": ({**E, "noise": {"eta": 0}}, [("/noise/eta", "out_of_range")]),
    "one segment": ({**E, "recompute": {"segments": 1}}, [("/recompute/segments", "out_of_range")]),
    "a budget of no memory": ({**E, "memory_budget": 0}, [("/memory_budget", "out_of_range")]),
    "two answers to what is computed again": (
        {**E, "memory_budget": 10**9, "recompute": {"segments": 2}},
        [("/memory_budget", "attribute_invalid")],
    ),
    "activations of another type": ({**E, "activations": "float8"}, [("/activations", "attribute_invalid")]),
    "half types twice": (
        {**E, "activations": "float16", "precision": "mixed_bfloat16"},
        [("/activations", "attribute_invalid")],
    ),
    "activations of float64": (
        {**E, "activations": "float16", "precision": "float64"},
        [("/activations", "attribute_invalid")],
    ),
    "activations that lbfgs reads": (
        {**E, "activations": "float16", "optimizer": "lbfgs"},
        [("/activations", "attribute_invalid")],
    ),
    "momentum to cycle where there is none": (
        {**E, "optimizer": "adagrad", "schedule": {"kind": "one_cycle", "total_steps": 4}},
        [("/schedule", "attribute_invalid")],
    ),
    "momentum to cycle where one group has none": (
        {
            **E,
            "optimizer": {"kind": "sgd", "groups": [{"match": "a", "kind": "adagrad"}]},
            "schedule": {"kind": "one_cycle", "total_steps": 4},
        },
        [("/schedule", "attribute_invalid")],
    ),
    "what lbfgs does not go with": (
        {
            **E,
            "optimizer": "lbfgs",
            "precision": "mixed_float16",
            "clip": {"norm": 1},
            "noise": {},
            "average": "ema",
            "freeze": [{"match": "*", "last_epoch": 1}],
            "divergence": {"action": "roll_back"},
        },
        [(f"/{name}", "attribute_invalid") for name in ("precision", "clip", "noise", "average", "freeze")],
    ),
    "lbfgs that skips": (
        {**E, "optimizer": "lbfgs", "divergence": {"action": "skip"}},
        [("/divergence/action", "attribute_invalid")],
    ),
    "several faults": (
        {"epochs": 0, "batch_size": 0, "optimizer": "x", "clip": {"norm": -1}},
        [
            ("/optimizer", "unknown_name"),
            ("/epochs", "out_of_range"),
            ("/batch_size", "out_of_range"),
            ("/clip/norm", "out_of_range"),
        ],
    ),
}


@each_row(("document", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_recipe_is_refused_with_pointers(document, expected):
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe(document)
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == expected


def test_groups_without_momentum_may_stand_beside_a_cycle_if_they_are_frozen():
    groups = [{"match": "a", "kind": "adagrad", "frozen": True}]
    schedule = {"kind": "one_cycle", "total_steps": 4}
    recipe = engine.read_recipe({"epochs": 1, "optimizer": {"kind": "sgd", "groups": groups}, "schedule": schedule})
    assert recipe.groups.rest.own_momentum == 0.95
    assert recipe.optimizer.rest.own_momentum == 0.0


def test_what_happens_to_a_gradient_that_is_not_finite_is_set_once():
    def nonfinite(**recipe):
        return engine.read_recipe({"epochs": 1, **recipe}).nonfinite

    assert nonfinite() == "stop"
    assert nonfinite(divergence={}) == "stop"
    assert nonfinite(divergence={"action": "continue"}) == "continue"
    assert nonfinite(clip={"nonfinite": "error"}) == "stop"
    assert nonfinite(clip={"nonfinite": "skip"}) == "skip"
    assert nonfinite(divergence={"action": "roll_back"}) == "roll_back"


def test_a_misspelt_field_is_answered_with_the_nearest():
    with pytest.raises(engine.DocumentError, match="did you mean 'batch_size'"):
        engine.read_recipe({"epochs": 1, "batchsize": 4})
