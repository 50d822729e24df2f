"""Recipes: their defaults, and every fault with its pointer."""

import pytest

import engine
from engine.recipe import Clip


def test_defaults_are_filled_in():
    recipe = engine.read_recipe({"epochs": 2})
    assert (recipe.epochs, recipe.steps, recipe.batch_size, recipe.seed) == (2, None, 32, 0)
    assert (recipe.shuffle, recipe.drop_last, recipe.precision, recipe.metrics) == (True, False, "float32", ())
    assert (recipe.optimizer.kind, recipe.schedule.kind, recipe.clip) == ("adam", "constant", Clip())
    assert recipe.checkpoint == engine.CheckpointPolicy(None, 1, 3, True)
    assert recipe.record == engine.Record(1, True)
    assert (recipe.validation_split, dict(recipe.feeds)) == (0.0, {})


def test_null_stands_for_the_default():
    fields = ("steps", "optimizer", "schedule", "clip", "validation", "checkpoint", "record", "feeds", "metrics")
    assert engine.read_recipe({"epochs": 2, **dict.fromkeys(fields)}) == engine.read_recipe({"epochs": 2})


def test_a_kind_may_be_written_alone():
    assert engine.read_recipe({"epochs": 1, "optimizer": "sgd"}).optimizer.kind == "sgd"
    assert engine.read_recipe({"epochs": 1, "schedule": "constant"}).schedule.kind == "constant"


def test_everything_can_be_said():
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
            "metrics": ["accuracy", "accuracy"],
            "validation": {"split": 0.5},
            "checkpoint": {"every_steps": 2, "every_epochs": None, "keep_last": 1, "keep_best": False},
            "record": {"every_steps": 3, "gradient_norms": False},
            "feeds": {"x": "features"},
        }
    )
    assert (recipe.optimizer.lr, recipe.optimizer.momentum) == (1.0, 0.5)
    assert [recipe.schedule.rate(1.0, epoch=0, step=step) for step in (1, 2)] == [1.0, 0.1]
    assert recipe.clip == Clip(1.0, 0.5)
    assert recipe.metrics == ("accuracy",)
    assert recipe.checkpoint == engine.CheckpointPolicy(2, None, 1, False)


E = {"epochs": 1}
FAULTS = {
    "a list": ([], [("", "type_mismatch"), ("/epochs", "missing_field")]),
    "neither epochs nor steps": ({}, [("/epochs", "missing_field")]),
    "both epochs and steps": ({"epochs": 1, "steps": 1}, [("/epochs", "missing_field")]),
    "epochs of text": ({"epochs": "3"}, [("/epochs", "attribute_invalid")]),
    "boolean epochs": ({"epochs": True}, [("/epochs", "attribute_invalid")]),
    "no epochs": ({"epochs": 0}, [("/epochs", "out_of_range")]),
    "too many epochs": ({"epochs": 10**6 + 1}, [("/epochs", "out_of_range")]),
    "negative steps": ({"steps": -1}, [("/steps", "out_of_range")]),
    "steps of text": ({"steps": "3"}, [("/steps", "attribute_invalid")]),
    "an unknown field": ({**E, "epoch": 1}, [("/epoch", "unknown_field")]),
    "an empty batch": ({**E, "batch_size": 0}, [("/batch_size", "out_of_range")]),
    "a fractional batch": ({**E, "batch_size": 2.0}, [("/batch_size", "attribute_invalid")]),
    "a batch of null": ({**E, "batch_size": None}, [("/batch_size", "attribute_invalid")]),
    "shuffle as a number": ({**E, "shuffle": 1}, [("/shuffle", "attribute_invalid")]),
    "drop_last as text": ({**E, "drop_last": "no"}, [("/drop_last", "attribute_invalid")]),
    "a negative seed": ({**E, "seed": -1}, [("/seed", "out_of_range")]),
    "a huge seed": ({**E, "seed": 2**63}, [("/seed", "attribute_invalid")]),
    "half precision": ({**E, "precision": "float16"}, [("/precision", "attribute_invalid")]),
    "an unknown metric": ({**E, "metrics": ["accuracy", "acuracy"]}, [("/metrics/1", "unknown_name")]),
    "metrics as text": ({**E, "metrics": "accuracy"}, [("/metrics", "type_mismatch")]),
    "an unknown optimizer": ({**E, "optimizer": {"kind": "sdg"}}, [("/optimizer", "unknown_name")]),
    "an optimizer without a kind": ({**E, "optimizer": {}}, [("/optimizer", "unknown_name")]),
    "an optimizer as a list": ({**E, "optimizer": []}, [("/optimizer", "type_mismatch")]),
    "an option out of range": ({**E, "optimizer": {"kind": "sgd", "lr": -1}}, [("/optimizer", "attribute_invalid")]),
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
        [("/validation", "conflict")],
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
    "feeds as a list": ({**E, "feeds": []}, [("/feeds", "type_mismatch")]),
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


@pytest.mark.parametrize(("document", "expected"), FAULTS.values(), ids=FAULTS)
def test_a_faulty_recipe_is_refused_with_pointers(document, expected):
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe(document)
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == expected


def test_a_misspelt_field_is_answered_with_the_nearest():
    with pytest.raises(engine.DocumentError, match="did you mean 'batch_size'"):
        engine.read_recipe({"epochs": 1, "batchsize": 4})
