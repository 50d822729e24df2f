"""The page of compiled kernels: for every op and element type, whether the native executor has one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from engine.core.attributes import bind
from engine.core.dtypes import BFLOAT16, INT64, DType, computing_dtype, dtype_of, is_float
from engine.core.registry import OPS, Op
from engine.core.samples import Sample
from engine.core.value import Array
from engine.execution.native import why_missing
from tools.docs.inventory import DOCS
from tools.docs.markdown import page, table

FILE = "kernels.md"
FLOATS = ("float32", "float64", "float16", "bfloat16")
OTHER = "other"
HEADS: Mapping[str, str] = MappingProxyType({**{name: name for name in FLOATS}, OTHER: "whole numbers, keys"})
ABOUT = """The native executor runs the steps of a plan as calls of compiled kernels. This table says, for every op
that can be a step, whether the examples of the [catalogue](ops/index.md) have one: **compiled**, **some** of them, or
**NumPy**, whose function is then called in its place among the compiled steps, many steps to a call all the same. Ops
that are not listed are views, which cost nothing, or made of these. Operands that a kernel does not take as they lie in
memory are copied first. The rates that the ops of optimizers take beside vectors are float64 throughout."""


def kernels_page() -> str:
    """Return the text of the page; where kernels cannot be compiled, that which is kept."""
    if why_missing() or BFLOAT16 is None:
        return (DOCS / FILE).read_text("utf-8")
    families: dict[str, list[list[str]]] = defaultdict(list)
    for op in sorted(OPS.values(), key=lambda op: op.name):
        if op.composite or op.view or op.memory.packs or op.data_dependent:
            continue
        found = _found(op)
        families[_family(op)].append([f"`{op.name}`", *(_word(found[column]) for column in HEADS)])
    blocks: list[str] = []
    for family, rows in sorted(families.items()):
        blocks += [f"## {family.replace('_', ' ').capitalize()}", table(("op", *HEADS.values()), rows)]
    return page("Compiled kernels", ABOUT, *blocks)


def _family(op: Op[Any]) -> str:
    return op.body.__module__.split(".")[2]


def _word(found: Sequence[bool]) -> str:
    if not found:
        return "-"
    return "compiled" if all(found) else "some" if any(found) else "NumPy"


def _found(op: Op[Any]) -> dict[str, list[bool]]:
    """Return, for each column, whether each sample of an op that has such operands is compiled."""
    found: dict[str, list[bool]] = defaultdict(list)
    for number, each in enumerate(op.samples):
        for column in FLOATS:
            arrays, compiled = _compiled(op, number, each, dtype_of(column))
            if any(array.dtype == column for array in arrays):
                found[column].append(compiled)
            elif column == FLOATS[0] and not any(is_float(array.dtype) for array in arrays):
                found[OTHER].append(compiled)
    return found


def _compiled(op: Op[Any], number: int, each: Sample, dtype: DType) -> tuple[list[Array], bool]:
    """Return the operands and results of a sample with floats of a dtype, and whether kernels take them."""
    from engine.execution.native import kernels  # imports numba
    from engine.execution.native.lowering import Work
    from engine.execution.native.packing import calls_of

    assert kernels
    given = [np.asarray(array) for array in each.arrays(f"{op.name}-{number}")]
    wide = [_retyped(op, array, computing_dtype(dtype)) for array in given]
    attrs = bind(op.name, op.attributes, each.attrs)
    if is_float(attrs.get("dtype") or INT64) and not any(is_float(array.dtype) for array in given):
        attrs["dtype"] = dtype
    with np.errstate(all="ignore"):
        made = op.body(*wide, **attrs)
    inputs = [_retyped(op, array, dtype) for array in given]
    outputs = [np.asarray(array) for array in (made if op.multi_output else (made,))]
    if "dtype" not in op.attributes and inputs and is_float(inputs[0].dtype):
        outputs = [_retyped(op, array, dtype) for array in outputs]
    return [*inputs, *outputs], calls_of(op.name, Work(inputs, outputs, attrs)) is not None


def _retyped(op: Op[Any], array: Array, dtype: DType) -> Array:
    """Return an operand in a floating dtype, unless it is a rate of an optimizer, which has float64 in every plan."""
    rate = _family(op) == "optimizer" and array.ndim == 0
    return array.astype(dtype) if is_float(array.dtype) and not rate else array
