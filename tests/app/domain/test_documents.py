from math import inf, nan

import pytest

from app.domain.documents import finite_part, nonfinite_name


@pytest.mark.parametrize(("value", "name"), [(nan, "nan"), (inf, "inf"), (-inf, "-inf")])
def test_what_json_has_no_number_for_is_null_and_named(value: float, name: str) -> None:
    assert nonfinite_name(value) == name
    assert finite_part({"a": value, "b": 0.5, "c": 3, "d": "text"}) == (
        {"a": None, "b": 0.5, "c": 3, "d": "text"},
        {"a": name},
    )


def test_what_is_finite_stays_as_it_is() -> None:
    values = {"loss": -0.0, "step": 10**30, "metric": None}
    assert finite_part(values) == (values, {})
