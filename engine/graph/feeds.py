"""Checks of the inputs of a graph, before anything is computed: names, types and shapes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from engine.core.dtypes import is_float
from engine.core.errors import DocumentError, Finding, escape, nearest
from engine.core.value import Array
from engine.graph.definition import Definition
from engine.graph.tensors import misfit

NUMBERS = "biuf"


def check_feeds(definition: Definition, needed: Collection[str], inputs: Mapping[str, Any]) -> dict[str, Array]:
    """Return an array for each input that is given, in the graph's order; their shapes are for `bind_dims` to check.

    Args:
        definition: the graph.
        needed: the inputs that must be given; others may be left out, and are checked where they are given.
        inputs: numbers by name.

    Raises:
        DocumentError: a missing or unknown name, or numbers that do not suit the input, each with its pointer.
    """
    findings = [
        Finding(
            f"/inputs/{escape(name)}",
            "unknown_name",
            f"the graph has no input of this name; it has {', '.join(definition.inputs) or 'none'}"
            f"{nearest(str(name), definition.inputs)}",
        )
        for name in inputs
        if name not in definition.inputs
    ]
    findings += [
        Finding("/inputs", "missing_field", f"the input {name!r} is required") for name in needed if name not in inputs
    ]
    arrays = {}
    for name in definition.inputs:
        if name not in inputs:
            continue
        array, dtype = as_numbers(inputs[name]), definition.inputs[name].dtype
        reason = "it must be a number, or an array or nested lists of numbers" if array is None else None
        if array is not None and not is_float(dtype):
            reason = misfit(array, dtype)
        if reason:
            findings.append(Finding(f"/inputs/{escape(name)}", "dtype_mismatch", f"input {name!r}: {reason}"))
        elif array is not None:
            arrays[name] = array
    if findings:
        raise DocumentError(findings)
    return arrays


def row_inputs(definition: Definition) -> tuple[str, ...]:
    """Return the inputs that hold one entry for each row: those that begin with the first named extent of all."""
    shapes = {name: spec.shape for name, spec in definition.inputs.items()}
    rows = next((shape[0] for shape in shapes.values() if shape and isinstance(shape[0], str)), None)
    return tuple(name for name, shape in shapes.items() if rows is not None and shape[:1] == (rows,))


def as_numbers(value: Any) -> Array | None:
    """Return numbers as an array; None if the value is not a tensor of numbers."""
    try:
        array = np.asarray(value)
    except (ValueError, TypeError, OverflowError):
        return None
    return array if array.dtype.kind in NUMBERS or is_float(array.dtype) else None
