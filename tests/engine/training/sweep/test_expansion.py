"""From a sweep to its variants: in a fixed order, each with its values in their places."""

import math
from typing import Any

import pytest

import engine
from engine.training.sweep.options import PathError, remove_at, replace_at
from tests.support.rows import each_row

RECIPE: dict[str, Any] = {
    "epochs": 2,
    "optimizer": {"kind": "sgd", "lr": 1.0, "groups": [{"match": "a"}, {"match": "b"}]},
}


def variants(**sweep: Any) -> tuple[engine.sweep.Variant, ...]:
    return engine.sweep.expand(RECIPE, engine.sweep.read_sweep(sweep))


def drawn(samples: int, parameters: dict[str, Any], seed: int = 0) -> list[dict[str, Any]]:
    found = variants(kind="random", samples=samples, seed=seed, parameters=parameters)
    return [dict(variant.parameters) for variant in found]


def test_the_last_parameter_of_a_grid_varies_fastest() -> None:
    found = variants(kind="grid", parameters={"seed": [1, 2], "optimizer.lr": [0.1, 0.2, 0.3]})
    assert [(v.recipe["seed"], v.recipe["optimizer"]["lr"]) for v in found] == [
        (1, 0.1), (1, 0.2), (1, 0.3), (2, 0.1), (2, 0.2), (2, 0.3),
    ]  # fmt: skip
    assert [variant.index for variant in found] == [*range(6)]
    assert found[4].pointers == {"seed": "/sweep/parameters/seed/1", "optimizer.lr": "/sweep/parameters/optimizer.lr/1"}


def test_the_recipe_itself_is_left_as_it_was() -> None:
    variants(kind="grid", parameters={"optimizer.groups.1.lr": [5.0], "schedule.kind": ["linear"]})
    assert RECIPE["optimizer"]["groups"] == [{"match": "a"}, {"match": "b"}]
    assert "schedule" not in RECIPE


def test_a_whole_object_is_put_in_before_a_part_of_it() -> None:
    sweep = {"optimizer.lr": [0.5], "optimizer": [{"kind": "adam"}, {"kind": "sgd"}]}
    found = variants(kind="grid", parameters=sweep)
    assert [variant.recipe["optimizer"] for variant in found] == [
        {"kind": "adam", "lr": 0.5},
        {"kind": "sgd", "lr": 0.5},
    ]


@each_row(
    ("recipe", "expected"),
    [
        ({}, {"kind": "adam", "lr": 0.5}),
        ({"optimizer": None}, {"kind": "adam", "lr": 0.5}),
        ({"optimizer": "sgd"}, {"kind": "sgd", "lr": 0.5}),
        ({"preset": "ggml_opt_fit"}, {"kind": "adamw", "weight_decay": 0.0, "lr": 0.5}),
    ],
)
def test_an_option_of_the_optimizer_varies_whether_or_not_that_is_spelled_out(
    recipe: dict[str, Any], expected: dict[str, Any]
) -> None:
    options = engine.sweep.read_sweep({"kind": "grid", "parameters": {"optimizer.lr": [0.5]}})
    (variant,) = engine.sweep.expand({"epochs": 1, **recipe}, options)
    assert variant.recipe["optimizer"] == expected


def test_draws_depend_on_the_seed_alone() -> None:
    ranges = {"optimizer.lr": {"min": 1e-4, "max": 1.0, "log": True}, "seed": [1, 2, 3]}
    assert drawn(5, ranges) == drawn(5, ranges)
    assert drawn(5, ranges) == drawn(9, ranges)[:5]
    assert drawn(5, ranges) != drawn(5, ranges, seed=1)


def test_no_two_samples_are_equal_and_all_combinations_can_be_drawn() -> None:
    found = drawn(12, {"optimizer.lr": [1, 2, 3, 4], "batch_size": [8, 9, 10]})
    assert len({tuple(sample.values()) for sample in found}) == 12


def test_logarithmic_draws_are_as_often_below_the_geometric_mean_as_above() -> None:
    rates = [sample["optimizer.lr"] for sample in drawn(1000, {"optimizer.lr": {"min": 1e-6, "max": 1.0, "log": True}})]
    assert all(1e-6 <= rate <= 1.0 for rate in rates)
    below = sum(rate < 1e-3 for rate in rates)
    assert abs(below - 500) < 5 * math.sqrt(250)


def test_whole_numbers_include_both_ends() -> None:
    sizes = [s["batch_size"] for s in drawn(9, {"batch_size": {"min": 1, "max": 9, "integer": True}})]
    assert sorted(sizes) == [*range(1, 10)]
    assert all(type(size) is int for size in sizes)


@pytest.mark.parametrize(
    ("path", "message"),
    [("epochs.x", "'epochs' is a number"), ("optimizer.groups.2.lr", "list of 2"), ("optimizer.groups.x", "no place")],
)
def test_a_path_that_leads_nowhere_is_refused(path: str, message: str) -> None:
    with pytest.raises(PathError, match=message):
        replace_at(RECIPE, path, 1)
    with pytest.raises(engine.DocumentError) as caught:
        variants(kind="grid", parameters={path: [1, 2]})
    assert [finding.pointer for finding in caught.value.findings] == [
        f"/sweep/parameters/{path}/0",
        f"/sweep/parameters/{path}/1",
    ]


def test_a_field_is_taken_out_again() -> None:
    assert remove_at(RECIPE, "optimizer.lr")["optimizer"] == {"kind": "sgd", "groups": [{"match": "a"}, {"match": "b"}]}
    assert remove_at(RECIPE, "epochs") == {"optimizer": RECIPE["optimizer"]}
    assert remove_at(RECIPE, "optimizer.groups.0.match")["optimizer"]["groups"] == [{}, {"match": "b"}]


def test_what_is_not_finite_or_not_known_ranks_last_and_equals_keep_their_order() -> None:
    values = [3.0, math.nan, 1.0, None, math.inf, 1.0, -math.inf]
    assert engine.sweep.rank_values(values, "min") == [2, 5, 0, 1, 3, 4, 6]
    assert engine.sweep.rank_values(values, "max") == [0, 2, 5, 1, 3, 4, 6]


def test_a_fit_stands_where_its_best_value_is_if_it_keeps_that() -> None:
    best = {"metric": "val_loss", "value": 0.25, "step": 3}
    latest = {"val_loss": 0.5, "loss": 0.75}
    assert engine.sweep.ranking_value("val_loss", best, latest) == 0.25
    assert engine.sweep.ranking_value("loss", best, latest) == 0.75
    assert engine.sweep.ranking_value("val_loss", None, {}) is None
