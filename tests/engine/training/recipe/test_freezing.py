"""Epochs in which parameters keep their values."""

import pytest

import engine
from engine.training.recipe.options import Freeze
from tests.support.rows import each_row


@each_row(
    ("options", "epochs"),
    [
        ({}, [1, 2, 3, 4]),
        ({"first_epoch": 3}, [3, 4]),
        ({"last_epoch": 2}, [1, 2]),
        ({"first_epoch": 2, "last_epoch": 2}, [2]),
    ],
)
def test_a_rule_holds_in_its_epochs(options, epochs):
    rule = Freeze(match="*", **options)
    assert [epoch for epoch in range(1, 5) if rule.holds(epoch)] == epochs


def test_one_pattern_or_several_are_read():
    (one, several) = engine.read_recipe(
        {"epochs": 1, "freeze": [{"match": "encoder.*"}, {"match": ["a", "b?"], "last_epoch": 3}]}
    ).freeze
    assert (one.patterns, several.patterns, several.last_epoch) == (("encoder.*",), ("a", "b?"), 3)


FAULTS = {
    "no pattern": ([{}], [("/freeze/0", "missing_field")]),
    "an end before the start": (
        [{"match": "a"}, {"match": "*", "first_epoch": 3, "last_epoch": 2}],
        [("/freeze/1/last_epoch", "attribute_invalid")],
    ),
    "an epoch 0": ([{"match": "*", "first_epoch": 0}], [("/freeze/0/first_epoch", "out_of_range")]),
    "an object": ({"match": "*"}, [("/freeze", "type_mismatch")]),
    "a number": ([{"match": 3}], [("/freeze/0/match", "attribute_invalid")]),
}


@each_row(("given", "expected"), FAULTS.values(), ids=FAULTS)
def test_faults_are_found(given, expected):
    with pytest.raises(engine.DocumentError) as caught:
        engine.read_recipe({"epochs": 1, "freeze": given})
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == expected


def test_a_pattern_that_fits_no_parameter_is_refused():
    document = {"inputs": {"x": ["n"]}, "parameters": {"w": []}, "program": "loss = mean((x * w) ** 2)"}
    recipe = engine.read_recipe({"epochs": 1, "freeze": [{"match": "w"}, {"match": ["v", "u*"]}]})
    with pytest.raises(engine.DocumentError, match="parameters are w") as caught:
        engine.check_fit(engine.parse_graph(document), recipe, {"x": engine.ColumnInfo("float64", (), 4)})
    assert [(f.pointer, f.code) for f in caught.value.findings] == [("/freeze/1/match", "unknown_name")]
