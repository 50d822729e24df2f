"""Arrays that a caller puts in the place of a session's own, checked by name, type and shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from engine.core.errors import DocumentError, Finding, escape, nearest
from engine.core.value import Array
from engine.graph.definition import StateSpec
from engine.graph.feeds import as_numbers


def checked_numbers(specs: Mapping[str, StateSpec], given: Mapping[str, Any], pointer: str) -> dict[str, Array]:
    """Return arrays of the dtypes and shapes that `specs` declare for their names.

    Raises:
        DocumentError: every unknown name and every array that does not suit, with pointers below `pointer`.
    """
    findings, found = [], {}
    for name, value in given.items():
        place, spec, array = f"{pointer}/{escape(name)}", specs.get(name), as_numbers(value)
        if spec is None:
            findings.append(unknown(pointer, name, specs))
        elif array is None:
            findings.append(Finding(place, "dtype_mismatch", f"{name!r} takes numbers of {spec.dtype.name}"))
        elif array.shape != spec.shape:
            detail = f"{name!r} has shape {list(spec.shape)} in the graph, the array given {list(array.shape)}"
            findings.append(Finding(place, "shape_mismatch", detail))
        else:
            with np.errstate(all="ignore"):
                found[name] = array.astype(spec.dtype)
    if findings:
        raise DocumentError(findings)
    return found


def unknown(pointer: str, name: object, known: Iterable[str]) -> Finding:
    """Return the fault that nothing at `pointer` has this name."""
    names = tuple(known)
    detail = f"there is none called {str(name)[:64]!r} here{nearest(str(name), names)}"
    return Finding(f"{pointer}/{escape(name)}", "unknown_name", detail)
