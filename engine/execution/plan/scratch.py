"""What kernels hold beside inputs and outputs while they run: memory that a plan does not place, but a process takes.

Only what grows with the operands counts; blocks of the size of a cache do not. The sums follow the NumPy kernels.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from engine.core.dtypes import computing_dtype
from engine.core.registry import Op
from engine.core.value import Shape, Spec
from engine.ops.attention_kernel import SCORES
from engine.ops.columns import COLUMN_BYTES, IMAGE_BYTES

Attrs = Mapping[str, Any]
Rule = Callable[[Attrs, Sequence[Spec], Sequence[Spec]], int]


def scratch_bytes(op: Op[Any], attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    """Return about how many bytes the kernel of an op allocates beside its outputs."""
    rule = RULES.get(op.name)
    if rule is not None:
        return _widened(inputs) + rule(attrs, inputs, outputs)
    if op.native or op.name == "pack":
        return 0
    # A kernel that writes nowhere else than it wants has its results copied to where they belong.
    return 0 if op.takes_out else sum(map(_bytes, outputs))


def _bytes(spec: Spec) -> int:
    return math.prod(spec.shape) * spec.dtype.itemsize


def _wide(spec: Spec) -> int:
    """Return the bytes of an element in the type that is computed in."""
    return computing_dtype(spec.dtype).itemsize


def _widened(inputs: Sequence[Spec]) -> int:
    """Return the bytes of copies, in the type that is computed in, of what is not in it."""
    return sum(math.prod(spec.shape) * _wide(spec) for spec in inputs if computing_dtype(spec.dtype) != spec.dtype)


def _padded(spec: Spec, padding: Sequence[tuple[int, int]]) -> int:
    """Return the bytes of a copy with its borders; none where there are none."""
    if not any(low or high for low, high in padding):
        return 0
    extents = (extent + low + high for extent, (low, high) in zip(spec.shape[2:], padding, strict=True))
    return math.prod(spec.shape[:2]) * math.prod(extents) * _wide(spec)


def _columns(images: int, line: int, positions: Shape, itemsize: int, limit: int = COLUMN_BYTES) -> int:
    """Return the bytes of the columns of a block of images; `line` elements for each position."""
    image = line * math.prod(positions) * itemsize
    if 2 * image <= limit:
        return min(images, limit // max(image, 1)) * image
    row = max(image // max(positions[0], 1), 1)
    return min(image, max(IMAGE_BYTES // row, 1) * row)


def _convolution(attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    x, weight = inputs[:2]
    line = attrs["groups"] * math.prod(weight.shape[1:])
    return _padded(x, attrs["padding"]) + _columns(x.shape[0], line, outputs[0].shape[2:], _wide(x))


def _convolution_input(attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    groups: int = attrs["groups"]
    (g, weight), (x,) = inputs[:2], outputs
    made, taken = weight.shape[0] // groups, weight.shape[1]
    if max(attrs["stride"]) == 1 and (made <= 2 * taken or math.prod(weight.shape[2:]) == 1):
        spans = [(k - 1) * d for k, d in zip(weight.shape[2:], attrs["dilation"], strict=True)]
        around = [(span - low, span - high) for span, (low, high) in zip(spans, attrs["padding"], strict=True)]
        line = weight.shape[0] * math.prod(weight.shape[2:])
        narrow = _bytes(x) * _wide(x) // x.dtype.itemsize if computing_dtype(x.dtype) != x.dtype else 0
        return _padded(g, around) + _columns(g.shape[0], line, x.shape[2:], _wide(g)) + narrow + _bytes(weight)
    line = groups * math.prod(weight.shape[1:])
    extents = (extent + low + high for extent, (low, high) in zip(x.shape[2:], attrs["padding"], strict=True))
    spread: int = math.prod(x.shape[:2]) * math.prod(extents) * _wide(x)
    cut = math.prod(x.shape) * _wide(x) if any(map(any, attrs["padding"])) else 0
    return spread + max(cut, 2 * _columns(g.shape[0], line, g.shape[2:], _wide(g)))


def _convolution_weight(attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    (x, g), (weight,) = inputs[:2], outputs
    line: int = attrs["groups"] * math.prod(weight.shape[1:])
    total = math.prod(weight.shape) * _wide(x)
    columns = _columns(x.shape[0], line, g.shape[2:], _wide(x), max(COLUMN_BYTES, total))
    return _padded(x, attrs["padding"]) + columns + 2 * total


def _max_pool(attrs: Attrs, inputs: Sequence[Spec], outputs: Sequence[Spec]) -> int:
    x, y = inputs[0], outputs[0]
    folded = (*x.shape[:2], y.shape[2], *x.shape[3:])  # along one axis after the other
    between = math.prod(folded) * _wide(x) if len(x.shape) > 3 else 0
    return _padded(x, [(p, p) for p in attrs["padding"]]) + between + math.prod(y.shape)


def _attention(_: Attrs, inputs: Sequence[Spec], __: Sequence[Spec]) -> int:
    q, k, v = map(_bytes, inputs[:3])
    return q + 2 * k + v + 2 * _scores(inputs[0], inputs[1])


def _attention_backward(_: Attrs, inputs: Sequence[Spec], __: Sequence[Spec]) -> int:
    g, _logs, y, _sums, q, k, v = map(_bytes, inputs[:7])
    return g + y + 2 * (q + k + v) + 4 * _scores(inputs[4], inputs[5])


def _scores(q: Spec, k: Spec) -> int:
    """Return the bytes of a block of scores."""
    return min(SCORES, math.prod(q.shape[:-1]) * k.shape[-2]) * _wide(q)


def _recurrent(states: int, gates: int) -> Rule:
    """Return the rule of a backward pass that keeps slopes of all states, or all gates, of a layer at once."""

    def rule(_: Attrs, inputs: Sequence[Spec], __: Sequence[Spec]) -> int:
        return states * _bytes(inputs[0]) + gates * _bytes(inputs[3])

    return rule


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "convolution": _convolution,
        "convolution_input": _convolution_input,
        "convolution_weight": _convolution_weight,
        "max_pool": _max_pool,
        "max_unpool": lambda _, inputs, __: _bytes(inputs[1]),
        "attention": _attention,
        "attention_backward": _attention_backward,
        "lstm_steps_backward": _recurrent(3, 0),
    }
)
"""By op; the others' kernels work by blocks."""

KEEPING = frozenset({"convolution", "convolution_input", "convolution_weight", "attention", "attention_backward"})
"""Ops whose kernels use the thread's workspace, which keeps its memory from call to call."""
