"""Fits that ran last, begun again: which fits are, what of their data is used, and that nothing is written."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
from app.domain.errors import BadMessage
from app.domain.messages import Assignment, Started, encode
from app.worker.last_fit import ENCODED_MAX, MEMORY_MAX, ZeroColumns, begin_fit, describe_fit, is_alike
from engine.training.step import plan_cache

Assign = Callable[..., Assignment]


def described(assignment: Assignment) -> bytes:
    description = describe_fit(assignment)
    assert description is not None
    return description


@pytest.fixture
def assignment(assign: Assign) -> Assignment:
    return replace(assign(), memory_bytes=MEMORY_MAX)


def test_a_fit_that_was_begun_makes_its_plans_and_writes_nothing(
    assignment: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = plan_cache.PlanCache()
    monkeypatch.setattr(plan_cache, "_CACHE", cache)
    begin_fit(described(assignment))
    plans = len(cache)
    assert plans > 0
    columns = {"x": np.ones((64, 2), np.float32)}
    recipe = engine.read_recipe({**assignment.request, "seed": 7})
    fit = engine.Fit(engine.parse_graph(assignment.definition), recipe, columns)
    fit.advance()
    assert len(cache) == plans
    assert list(Path(assignment.staging).iterdir()) == []


def test_columns_are_zeros_of_the_types_and_shapes_of_files(tmp_path: Path) -> None:
    np.save(tmp_path / "0.npy", np.ones((3, 2), np.float16))
    np.save(tmp_path / "1.npy", np.ones((9, 2), np.float16))
    columns = ZeroColumns({"x": [str(tmp_path / "0.npy"), str(tmp_path / "1.npy")]}, {}, rows=4)
    first, second = columns.files("x")
    np.testing.assert_array_equal(first, np.zeros((3, 2)), strict=False)
    assert (first.dtype, second.shape, second.any()) == (np.float16, (4, 2), False)


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 2},
        {"sweep": {}},
        {"memory_bytes": None},
        {"memory_bytes": MEMORY_MAX + 1},
        {"definition": {"name": "x" * ENCODED_MAX}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_large_fits_and_those_of_several_processes_are_not_begun_again(
    assignment: Assignment, change: dict[str, object]
) -> None:
    assert describe_fit(replace(assignment, **change)) is None  # type: ignore[arg-type]


def test_fits_begin_alike_if_they_differ_in_seed_rate_or_length(assign: Assign, assignment: Assignment) -> None:
    description = described(assignment)

    def alike(**request: object) -> bool:
        return is_alike(description, described(replace(assign(**request), memory_bytes=MEMORY_MAX)))

    assert alike(seed=3, steps=9, optimizer={"kind": "sgd", "lr": 0.5})
    assert not alike(batch_size=8)
    assert not alike(optimizer={"kind": "adam", "lr": 0.1})
    other = replace(assignment, definition={**assignment.definition, "name": "another"})
    assert not is_alike(description, described(other))


def test_what_cannot_be_begun_is_an_error(assignment: Assignment, tmp_path: Path) -> None:
    with pytest.raises(BadMessage):
        begin_fit(encode(Started(1)))
    description = described(assignment)
    with pytest.raises(BadMessage):
        is_alike(description, b"{")
    (tmp_path / "x.npy").unlink()
    with pytest.raises(FileNotFoundError):
        begin_fit(description)
