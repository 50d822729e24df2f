"""Attributes: what each annotation takes and refuses, and how it is described."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pytest

from engine.core.attributes import Attribute, Range, attributes_of, bind, check, describe
from engine.core.errors import AttributeValueError
from engine.core.registry import OPS
from engine.nn.initializers import INITIALIZERS
from engine.nn.layers.table import LAYERS
from engine.optim.optimizers import OPTIMIZERS
from engine.optim.schedules.schedule import SCHEDULES
from tests.support.rows import each_row

Pairs = tuple[tuple[int, int], ...]

ACCEPTED: list[tuple[Any, Any, Any]] = [
    (bool, True, True),
    (bool, np.bool_(False), False),
    (int, 3, 3),
    (int, np.int32(3), 3),
    (int, -(2**63) + 1, -(2**63) + 1),
    (float, 2, 2.0),
    (float, np.float32(0.5), 0.5),
    (float, math.inf, math.inf),
    (str, "x", "x"),
    (int | None, None, None),
    (int | tuple[int, ...], [1, 2], (1, 2)),
    (int | tuple[int, ...], 5, 5),
    (tuple[int, ...], [], ()),
    (Pairs, [[1, 2], (3, 4)], ((1, 2), (3, 4))),
    (Literal["mean", "sum"], "sum", "sum"),
    (tuple[str | dict[str, Any], ...], ["a", {"b": [1]}], ("a", {"b": [1]})),
    (np.dtype, "float32", np.dtype("float32")),
    (np.dtype, np.float64, np.dtype("float64")),
]
REFUSED: list[tuple[Any, Any, str]] = [
    (bool, 1, "true or false, not 1"),
    (bool, "true", "true or false, not 'true'"),
    (int, True, "an integer, not True"),
    (int, 1.0, "an integer, not 1.0"),
    (int, 2**63, "an integer"),
    (int, None, "an integer, not None"),
    (float, math.nan, "a number, not nan"),
    (float, "1", "a number, not '1'"),
    (float, False, "a number, not False"),
    (float, 10**400, "a number"),
    (str, 1, "a string, not 1"),
    (int | None, "a", "an integer or null, not 'a'"),
    (tuple[int, ...], 3, "a list of an integer, not 3"),
    (tuple[str | dict[str, Any], ...], ["a", 3], "a list of a string or an object, not a list"),
    (tuple[int, ...], [1, 2.5], "a list of an integer, not a list"),
    (tuple[int, ...], {"a": 1}, "a list of an integer, not a dict"),
    (Pairs, [[1, 2, 3]], "a list of a list of 2"),
    (Literal["mean", "sum"], "avg", "one of 'mean', 'sum', not 'avg'"),
    (Literal["mean", "sum"], ["mean"], "one of 'mean', 'sum', not a list"),
    (np.dtype, "complex64", "a dtype name, not 'complex64'"),
    (np.dtype, 4, "a dtype name, not 4"),
]


@each_row(("annotation", "given", "wanted"), ACCEPTED)
def test_a_fitting_value_is_taken(annotation: Any, given: Any, wanted: Any) -> None:
    found = check("op.name", annotation, given)
    assert found == wanted
    assert type(found) is type(wanted)


@each_row(("annotation", "given", "message"), REFUSED)
def test_another_value_is_refused_with_the_place_and_the_type(annotation: Any, given: Any, message: str) -> None:
    with pytest.raises(AttributeValueError) as caught:
        check("op.name", annotation, given)
    assert str(caught.value).startswith(f"op.name must be {message}")


def test_a_refusal_shows_little_of_a_long_value() -> None:
    with pytest.raises(AttributeValueError) as caught:
        check("op.name", int, "x" * 10_000)
    assert len(str(caught.value)) < 200


@each_row("annotation", [annotation for annotation, _, _ in ACCEPTED])
def test_every_annotation_describes_itself(annotation: Any) -> None:
    assert describe(annotation)


INT64 = np.dtype("int64")


def _example(x: object, *, size: int, axis: int | None = None, dtype: np.dtype = INT64, out: int = 0) -> None:
    """Have attributes of several kinds."""


EXAMPLE = {attribute.name: attribute for attribute in attributes_of(_example)}


def test_attributes_are_the_keyword_only_parameters_without_out() -> None:
    assert list(EXAMPLE) == ["size", "axis", "dtype"]
    assert [attribute.required for attribute in EXAMPLE.values()] == [True, False, False]


def test_attributes_are_described_in_json() -> None:
    assert EXAMPLE["size"].to_json() == {"name": "size", "type": "an integer", "required": True}
    assert EXAMPLE["axis"].to_json() == {
        "name": "axis",
        "type": "an integer or null",
        "required": False,
        "default": None,
    }
    assert EXAMPLE["dtype"].to_json()["default"] == "int64"


def test_binding_fills_in_the_defaults() -> None:
    assert bind("op", EXAMPLE, {"size": 2}) == {"size": 2, "axis": None, "dtype": np.dtype("int64")}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, r"op needs the attribute 'size' \(an integer\)"),
        ({"size": 1, "axes": 1}, r"op has no attribute 'axes' \(it has: size, axis, dtype\); did you mean 'axis'\?"),
        ({"size": 1, "axis": "a"}, "op.axis must be an integer or null, not 'a'"),
    ],
)
def test_binding_refuses_what_is_missing_unknown_or_wrong(given: dict[str, Any], message: str) -> None:
    with pytest.raises(AttributeValueError, match=message):
        bind("op", EXAMPLE, given)


def _limited() -> list[tuple[str, Attribute]]:
    """Return every option that declares a range, with its name."""
    declared: list[tuple[str, Any]] = [(name, op.body) for name, op in OPS.items()]
    for table in (LAYERS, INITIALIZERS, OPTIMIZERS, SCHEDULES):
        declared += table.items()
    options = [(f"{owner}.{option.name}", option) for owner, each in declared for option in attributes_of(each)]
    return [(name, option) for name, option in options if option.range is not None]


LIMITED = _limited()


def _outside(limits: Range) -> list[float]:
    """Return numbers beyond each end of a range."""
    low = [limits.low if limits.above else limits.low - 1] if math.isfinite(limits.low) else []
    high = [limits.high if limits.below else limits.high + 1] if math.isfinite(limits.high) else []
    return low + high


def _inside(limits: Range) -> list[float]:
    """Return the ends of a range that belong to it, or a number near one that does not."""
    low = [limits.low + 1e-3 * limits.above] if math.isfinite(limits.low) else []
    high = [limits.high - 1e-3 * limits.below] if math.isfinite(limits.high) else []
    return low + high


def _given(option: Attribute, number: float) -> Any:
    """Return a value of the type of an option that holds the number."""
    whole = int(number) if float(number).is_integer() else number
    candidates = (whole, number, (whole,), (number,), (whole,) * 2, (number,) * 2)
    return next(value for value in candidates if option.accepts(value))


@each_row(("name", "option"), LIMITED, ids=[name for name, _ in LIMITED])
def test_a_number_outside_the_declared_range_is_refused_and_its_ends_are_taken(name: str, option: Attribute) -> None:
    assert option.range is not None
    for number in _outside(option.range):
        value = _given(option, number)
        assert not option.takes(value)
        with pytest.raises(AttributeValueError) as caught:
            option.read(name, value)
        assert f"{name} must be {option.range}, not " in str(caught.value)
    for number in _inside(option.range):
        option.read(name, _given(option, number))
    if not option.required:
        option.check_range(name, option.default)


def test_binding_refuses_what_is_out_of_range() -> None:
    with pytest.raises(AttributeValueError, match=r"dropout\.p must be at least 0 and at most 1, not 1\.5") as caught:
        OPS["dropout"].bind({"p": 1.5})
    assert caught.value.place == "/p"
