"""The page of compiled kernels: for every op and element type, whether the native executor has one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from engine.core.attributes import bind
from engine.core.dtypes import is_float
from engine.core.registry import OPS, Op
from engine.core.samples import Sample
from engine.execution.native import why_missing
from tools.docs.inventory import DOCS
from tools.docs.markdown import page, table

FILE = "kernels.md"
FLOATS = ("float32", "float64", "float16")
OTHER = "other"
HEADS: Mapping[str, str] = MappingProxyType(
    {"float32": "float32", "float64": "float64", "float16": "half types", OTHER: "whole numbers, keys"}
)
ABOUT = """The native executor runs the steps of a plan as calls of compiled kernels. This table says, for every op
that can be a step, whether the examples of the [catalogue](ops/index.md) have one: **compiled**, **some** of them, or
**NumPy**, whose function is then called in its place among the compiled steps, many steps to a call all the same. Ops
that are not listed are views, which cost nothing, or made of these. Operands that a kernel does not take as they lie in
memory are copied first."""


def kernels_page() -> str:
    """Return the text of the page; where kernels cannot be compiled, that which is kept."""
    if why_missing():
        return (DOCS / FILE).read_text("utf-8")
    families: dict[str, list[list[str]]] = defaultdict(list)
    for op in sorted(OPS.values(), key=lambda op: op.name):
        if op.composite or op.view or op.memory.packs or op.data_dependent:
            continue
        found = _found(op)
        family = op.body.__module__.split(".")[2]
        families[family].append([f"`{op.name}`", *(_word(found[column]) for column in HEADS)])
    blocks: list[str] = []
    for family, rows in sorted(families.items()):
        blocks += [f"## {family.replace('_', ' ').capitalize()}", table(("op", *HEADS.values()), rows)]
    return page("Compiled kernels", ABOUT, *blocks)


def _word(found: Sequence[bool]) -> str:
    if not found:
        return "-"
    return "compiled" if all(found) else "some" if any(found) else "NumPy"


def _found(op: Op[Any]) -> dict[str, list[bool]]:
    """Return, for each column, whether each sample of an op that has such operands is compiled."""
    found: dict[str, list[bool]] = defaultdict(list)
    for number, each in enumerate(op.samples):
        for column in FLOATS:
            arrays, compiled = _compiled(op, number, each, column)
            if any(is_float(array.dtype) for array in arrays):
                found[column].append(compiled)
            elif column == FLOATS[0]:
                found[OTHER].append(compiled)
    return found


def _compiled(op: Op[Any], number: int, each: Sample, dtype: str) -> tuple[list[np.ndarray[Any, Any]], bool]:
    """Return the operands and results of a sample with floats of a dtype, and whether kernels take them."""
    from engine.execution.native import kernels  # imports numba
    from engine.execution.native.lowering import Work
    from engine.execution.native.packing import calls_of

    assert kernels
    inputs = [np.asarray(array) for array in each.arrays(f"{op.name}-{number}")]
    inputs = [array.astype(dtype) if array.dtype.kind == "f" else array for array in inputs]
    attrs = dict(each.attrs)
    if "dtype" in op.attributes and not inputs:
        attrs["dtype"] = dtype
    attrs = bind(op.name, op.attributes, attrs)
    with np.errstate(all="ignore"):
        made = op.body(*inputs, **attrs)
    results = [np.asarray(array) for array in (made if op.multi_output else (made,))]
    outputs = [
        array.astype(dtype) if inputs and array.dtype.kind == "f" and inputs[0].dtype.kind == "f" else array
        for array in results
    ]
    return [*inputs, *outputs], calls_of(op.name, Work(inputs, outputs, attrs)) is not None
