"""Conventions of documents: media types, JSON pointers, suggestions, numbers that JSON cannot hold."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from math import isfinite, isnan
from typing import Any

JSON = "application/json"
NPY = "application/x-npy"
NPZ = "application/x-npz"
SAFETENSORS = "application/vnd.safetensors"
TEXT = "text/plain"
DOT = "text/vnd.graphviz"


def escape(name: object) -> str:
    """Write a name as one token of a pointer, cut to 64 characters."""
    return str(name)[:64].replace("~", "~0").replace("/", "~1")


def nearest(name: Any, known: Iterable[str]) -> str:
    """Return, as the end of a sentence, which of the names that are known is meant, or what they are."""
    known = [*known]
    near = get_close_matches(str(name)[:64], known, n=1)
    if near:
        return f"; did you mean {near[0]!r}?"
    return f"; known are {', '.join(known)}" if known else ""


def nonfinite_name(value: float) -> str:
    """Name a float that JSON has no number for."""
    return "nan" if isnan(value) else "inf" if value > 0 else "-inf"


def finite_part(values: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split values into what JSON can hold (null in place of a non-finite number), and the names of what it cannot."""
    bad = {key: value for key, value in values.items() if isinstance(value, float) and not isfinite(value)}
    finite = {key: None if key in bad else value for key, value in values.items()}
    return finite, {key: nonfinite_name(value) for key, value in bad.items()}
