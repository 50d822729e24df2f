"""Mixed precision: in which type each op takes its floating inputs, semantics of torch.autocast.

Each op declares its policy (`Numerics.autocast`). The policies follow PyTorch 2.13 for CPU and CUDA; where they
differ, the wider type is taken, so that a graph trains alike everywhere. Parameters stay float32: they are cast where
they are used, and their gradients arrive in float32 by the rule of that cast. (Micikevicius et al. 2018, "Mixed
Precision Training")
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

from engine.core.dtypes import FLOAT32, FLOAT64, DType, is_float, promote
from engine.core.errors import DocumentError, DTypeError, Finding
from engine.core.registry import Op
from engine.core.value import Operand, Value
from engine.graph.definition import Definition
from engine.ops.elementwise.casting import cast


def at_autocast(op: Op[Any], operands: Sequence[Operand], half: DType) -> list[Operand]:
    """Cast the operands of an op as its policy says; integers, truth values and plain numbers stay as they are.

    An op with a float64 input, which the graph declares explicitly, is left unchanged.
    """
    floats = [v.dtype for v in operands if isinstance(v, Value) and is_float(v.dtype)]
    dtype = _autocast_dtype(op, floats, half)
    if dtype is None:
        return list(operands)
    made: dict[object, Value] = {}  # equal operands stay equal, as those of self-attention
    return [_cast_once(v, dtype, made) if isinstance(v, Value) and is_float(v.dtype) else v for v in operands]


def _cast_once(value: Value, dtype: DType, made: dict[object, Value]) -> Value:
    if value.key not in made:
        made[value.key] = cast(value, dtype=dtype) if value.dtype != dtype else value
    return made[value.key]


def _autocast_dtype(op: Op[Any], floats: Sequence[DType], half: DType) -> DType | None:
    policy = op.numerics.autocast
    if not floats or FLOAT64 in floats or policy == "unchanged":
        return None
    if policy == "widest":
        # Ops that promote do it themselves, by the rules for arrays beside numbers without axes.
        return reduce(promote, floats) if op.promotion == "none" else None
    return half if policy == "half" else FLOAT32


def check_autocast(definition: Definition, half: DType) -> None:
    """Refuse definitions that mixed precision is not for.

    Raises:
        DocumentError: with a finding for each input, parameter, buffer and constant of float64.
        DTypeError: `half` is not float16 or bfloat16.
    """
    if not is_float(half) or half.itemsize != 2:
        raise DTypeError(f"mixed precision computes in float16 or bfloat16, not in {half.name}")
    findings = [
        Finding(pointer, "dtype_mismatch", f"mixed precision is for float32 graphs, but {name!r} is float64")
        for pointer, name, dtype in _leaves(definition)
        if dtype == FLOAT64
    ]
    if findings:
        raise DocumentError(findings)


def _leaves(definition: Definition) -> Iterator[tuple[str, str, DType]]:
    for kind in ("inputs", "parameters", "buffers", "constants"):
        for name, spec in getattr(definition, kind).items():
            yield f"/{kind}/{name}/dtype", name, spec.dtype
