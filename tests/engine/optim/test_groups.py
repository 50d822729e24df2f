"""Parameter groups: who belongs where, what a group inherits, and what is refused."""

import numpy as np
import pytest

import engine
from engine.core.errors import DocumentError
from engine.core.options import Reader
from engine.optim.groups import MAX_GROUPS, one_group, read_groups
from engine.optim.optimizers import make_optimizer
from tests.support.rows import each_row

SHAPES = {"stem.w": (3, 4), "stem.b": (4,), "head.w": (4, 2), "head.b": (2,), "scale": ()}


def read(document):
    """Read a document; faults are raised."""
    reader = Reader()
    groups = read_groups(reader, document, "")
    reader.finish()
    return groups


def test_a_parameter_belongs_to_the_first_group_that_takes_it():
    groups = read({"kind": "adam", "groups": [{"match": "head.*"}, {"match": ["*.w", "scale"]}, {"ndim": [1, 2]}]})
    assert {name: groups.group_of(name, shape) for name, shape in SHAPES.items()} == {
        "stem.w": 1,
        "stem.b": 2,
        "head.w": 0,
        "head.b": 0,
        "scale": 1,
    }
    assert groups.idle(SHAPES) == []
    assert read({"kind": "adam", "groups": [{"match": "*"}, {"ndim": 3}]}).idle(SHAPES) == [1]


def test_a_group_takes_only_what_fits_both_pattern_and_axes():
    groups = read({"kind": "adam", "groups": [{"match": "stem.*", "ndim": 2}]})
    assert [groups.group_of(name, shape) for name, shape in SHAPES.items()] == [0, 1, 1, 1, 1]


def test_a_group_inherits_what_it_does_not_say_unless_its_kind_is_another():
    whole = {"kind": "adam", "lr": 0.5, "weight_decay": 0.1, "betas": [0.8, 0.9]}
    given = [
        {"match": "a", "lr": 0.1},
        {"match": "b", "kind": "sgd"},
        {"match": "c", "kind": "adam", "weight_decay": 0.0},
    ]
    groups = read({**whole, "groups": given})
    wanted = [{**whole, "lr": 0.1}, {"kind": "sgd"}, {**whole, "weight_decay": 0.0}, whole]
    assert [group.optimizer for group in groups.groups] == [make_optimizer(document) for document in wanted]
    assert groups.rest == make_optimizer(whole)


def test_a_kind_alone_is_one_group():
    assert read("adam") == read({"kind": "adam"}) == read({"kind": "adam", "groups": []})
    assert read("adam") == one_group(make_optimizer({"kind": "adam"}))


def test_a_momentum_is_given_to_all_that_move():
    groups = read({"kind": "sgd", "groups": [{"match": "a", "kind": "adagrad", "frozen": True}, {"match": "b"}]})
    frozen, *moving = groups.with_momentum(0.7).groups
    assert frozen == groups.groups[0]
    assert [group.optimizer.own_momentum for group in moving] == [0.7, 0.7]


A = {"kind": "adam"}
FAULTS = {
    "a number": (3, [("", "type_mismatch")]),
    "groups that are no list": ({**A, "groups": {"match": "*"}}, [("/groups", "type_mismatch")]),
    "a group that is no object": (
        {**A, "groups": ["*"]},
        [("/groups/0", "type_mismatch"), ("/groups/0", "missing_field")],
    ),
    "a group of all": ({**A, "groups": [{"lr": 0.1}]}, [("/groups/0", "missing_field")]),
    "a pattern of a number": ({**A, "groups": [{"match": 3}]}, [("/groups/0/match", "attribute_invalid")]),
    "a fraction of axes": ({**A, "groups": [{"ndim": 1.5}]}, [("/groups/0/ndim", "attribute_invalid")]),
    "frozen as text": ({**A, "groups": [{"match": "*", "frozen": "no"}]}, [("/groups/0/frozen", "attribute_invalid")]),
    "an unknown kind": ({**A, "groups": [{"match": "*", "kind": "adm"}]}, [("/groups/0", "unknown_name")]),
    "a rate below 0": ({**A, "groups": [{"match": "*", "lr": -1}]}, [("/groups/0/lr", "attribute_invalid")]),
    "faults of two groups and the whole": (
        {"kind": "adam", "lr": -1, "groups": [{"match": "a", "lr": 1}, {"match": "b", "lr": -2}]},
        [("/lr", "attribute_invalid"), ("/groups/1/lr", "attribute_invalid")],
    ),
    "groups that lbfgs would step": ({"kind": "lbfgs", "groups": [{"match": "b"}]}, [("/groups", "conflict")]),
    "too many": ({**A, "groups": [{"match": "*"}] * (MAX_GROUPS + 1)}, [("/groups", "too_many")]),
}


@each_row(("document", "expected"), FAULTS.values(), ids=FAULTS)
def test_faults_are_found(document, expected):
    with pytest.raises(DocumentError) as caught:
        read(document)
    assert [(finding.pointer, finding.code) for finding in caught.value.findings] == expected


def test_lbfgs_may_have_groups_that_are_frozen():
    groups = read({"kind": "lbfgs", "groups": [{"match": "b", "frozen": True}]})
    assert groups.frozen("b", (2,))
    assert not groups.frozen("w", (2,))


DOCUMENT = {
    "inputs": {"x": ["n", 2], "y": ["n"]},
    "parameters": {"w": {"shape": [2], "init": "ones"}, "b": [], "c": {"shape": [], "init": "ones"}},
    "program": "loss = mse_loss(x @ w + b * c, y)",
}
X = np.sin(np.arange(16.0)).reshape(8, 2)


def fit(optimizer, **recipe):
    """Start a fit."""
    recipe = engine.read_recipe({"epochs": 2, "batch_size": 4, "optimizer": optimizer, **recipe})
    return engine.Fit(engine.parse_graph(DOCUMENT), recipe, {"x": X, "y": X[:, 0]})


def test_a_row_shows_the_rate_of_each_group():
    groups = [{"match": "b", "lr": 0.25}, {"match": "c", "lr": 0.125}]
    schedule = {"kind": "exponential", "gamma": 0.5}
    points = list(fit({"kind": "sgd", "lr": 0.5, "groups": groups}, schedule=schedule))
    rates = [[point.values[name] for name in ("lr", "lr/0", "lr/1")] for point in points]
    assert rates == [[0.5, 0.25, 0.125]] * 2 + [[0.25, 0.125, 0.0625]] * 2


def test_a_frozen_group_keeps_its_bits_and_has_no_slots():
    created = fit({"kind": "adam", "weight_decay": 0.1, "groups": [{"match": ["b", "c"], "frozen": True}]})
    points = list(created)
    assert (created.model.parameters["b"], created.model.parameters["c"]) == (0, 1)
    assert not (created.model.parameters["w"] == 1).any()
    assert {name.partition("/")[2] for name in created.snapshot().optimizer} <= {"w", "vector:float32"}
    assert "grad_norm/b" not in points[0].values


def test_a_group_that_takes_no_parameter_is_refused():
    columns = {"x": engine.ColumnInfo("float64", (2,), 8), "y": engine.ColumnInfo("float64", (), 8)}
    optimizer = {"kind": "adam", "groups": [{"match": "w"}, {"match": ["ww", "w"]}]}
    recipe = engine.read_recipe({"epochs": 1, "optimizer": optimizer})
    with pytest.raises(DocumentError, match="takes no parameter") as caught:
        engine.check_fit(engine.parse_graph(DOCUMENT), recipe, columns)
    assert [(f.pointer, f.code) for f in caught.value.findings] == [("/optimizer/groups/1", "unknown_name")]


def test_all_frozen_leaves_nothing_to_train():
    columns = {"x": engine.ColumnInfo("float64", (2,), 8), "y": engine.ColumnInfo("float64", (), 8)}
    recipe = engine.read_recipe(
        {"epochs": 1, "optimizer": {"kind": "adam", "groups": [{"match": "*", "frozen": True}]}}
    )
    with pytest.raises(DocumentError) as caught:
        engine.check_fit(engine.parse_graph(DOCUMENT), recipe, columns)
    assert [finding.code for finding in caught.value.findings] == ["nothing_to_train"]
