"""Numbers that JSON has no number for: null in their place, and their names beside."""

from collections.abc import Mapping
from math import isfinite, isnan
from typing import Any


def nonfinite_name(value: float) -> str:
    """Name a float that JSON has no number for."""
    return "nan" if isnan(value) else "inf" if value > 0 else "-inf"


def finite_part(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split values into what JSON can hold (null in place of a non-finite number), and the names of what it cannot."""
    bad = {key: value for key, value in values.items() if isinstance(value, float) and not isfinite(value)}
    finite = {key: None if key in bad else value for key, value in values.items()}
    return finite, {key: nonfinite_name(value) for key, value in bad.items()}
