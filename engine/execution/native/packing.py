"""The calls of a step: by the lowering of its op, on copies where it takes no operands of such strides or types.

Operands of half types are copied as float32 and results rounded back, as NumPy's kernels are called with them too.
Operands of elementwise kernels whose numbers are neighbours along another axis than those of the result are copied too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from engine.core.registry import OPS
from engine.core.shape_rules import normalize_axes
from engine.core.value import Array
from engine.execution.native.axes import ARRANGEMENTS
from engine.execution.native.kernel import FLOATS
from engine.execution.native.kernels.arrangement import copied, joined_calls
from engine.execution.native.kernels.elementwise import is_across
from engine.execution.native.kernels.every_second import reads_pairs
from engine.execution.native.kernels.repeated_rows import with_repeated_rows
from engine.execution.native.lowering import LOWERINGS, Call, Work, is_half, relocated, scratch_arrays

BY_IMAGES = ("amax", "amin", "max_pool", "max_unpool")
"""Ops that may go image by image: where operands are copied, they are in blocks of images that stay in a near cache."""
BLOCK, MOST_BLOCKS = 2**18, 8
"""Bytes of the largest copy of a block of images, and most blocks: a step has room for the status of 8 calls."""
MOST_COPIED = 2**23
"""Bytes of operands that a kernel could read as they lie, and that are copied all the same."""
MOST_PAIRS = 2**17
"""Of those of which every second number is read: copies of more would leave the nearest caches."""


def calls_of(op: str, work: Work) -> list[Call] | None:
    """Return the calls that compute a step; None where no kernel takes its operands, contiguous copies neither."""
    lowering = LOWERINGS.get(op)
    if lowering is None:
        return None
    calls = lowering(work)
    if calls is None and op in ARRANGEMENTS:
        if any(is_half(x.dtype) for x in work.inputs) and (calls := _on_copies(op, work)) is not None:
            return calls
        work = ARRANGEMENTS[op](work)
        calls = lowering(work)
    if calls is not None and op != "copy" and _gain_by_copies(op, work, calls):
        calls = None
    if calls is None and any(_is_copied(op, array) for array in (*work.inputs, *work.outputs)):
        return _by_images(op, work) if op in BY_IMAGES and _has_images(work) else _on_copies(op, work)
    return None if calls is None else [with_repeated_rows(call) for call in calls]


def _gain_by_copies(op: str, work: Work, calls: Sequence[Call]) -> bool:
    """Tell whether kernels that could read operands as they lie take longer than copies of these do."""
    most = MOST_COPIED if any(map(is_across, calls)) else MOST_PAIRS if any(map(reads_pairs, calls)) else 0
    return most > 0 and _copied_bytes(op, work) <= most


def _copied_bytes(op: str, work: Work) -> int:
    """Return the bytes of the operands that are copied first."""
    return sum(array.nbytes for array in (*work.inputs, *work.outputs) if _is_copied(op, array))


def _is_copied(op: str, array: Array) -> bool:
    """Tell whether an operand is copied first; a cast rounds once, and numbers are drawn in the type they have."""
    return not array.flags.c_contiguous or (is_half(array.dtype) and op != "cast" and not OPS[op].random)


def _copied(source: Array, target: Array) -> list[Call] | None:
    """Return the calls that copy an array to one of its shape, and of its type or the wider or narrower one."""
    if source.dtype == target.dtype:
        return copied(source, target)
    calls = LOWERINGS["cast"](Work([source], [target], {}))
    return None if calls is None else list(calls)


def _has_images(work: Work) -> bool:
    """Tell whether the first axis of a step is none that it goes along."""
    axis = work.attrs.get("axis", 1)
    return axis is not None and 0 not in normalize_axes(axis, work.inputs[0].ndim)


def _by_images(op: str, work: Work) -> list[Call] | None:
    """Return the calls for blocks of images, the first axis of all operands, each on copies of its own."""
    operands = (*work.inputs, *work.outputs)
    images = operands[0].shape[0]
    count = min(MOST_BLOCKS, max(-(-array.size * FLOATS[0].itemsize // BLOCK) for array in operands), max(images, 1))
    bounds = [images * block // count for block in range(count + 1)]
    blocks = (
        replace(work, inputs=[x[start:stop] for x in work.inputs], outputs=[y[start:stop] for y in work.outputs])
        for start, stop in pairwise(bounds)
    )
    return joined_calls(*(_on_copies(op, block) for block in blocks))


def _on_copies(op: str, work: Work) -> list[Call] | None:
    """Return calls that go by contiguous copies of operands, which lie in scratch memory."""
    scattered = list({id(a): a for a in (*work.inputs, *work.outputs) if _is_copied(op, a)}.values())
    dtypes = [FLOATS[0] if is_half(array.dtype) else array.dtype for array in scattered]
    block, made = scratch_arrays(*((array.shape, dtype) for array, dtype in zip(scattered, dtypes, strict=True)))
    copies = {id(array): copy for array, copy in zip(scattered, made, strict=True)}
    inputs = [copies.get(id(array), array) for array in work.inputs]
    outputs = [copies.get(id(array), array) for array in work.outputs]
    computed = LOWERINGS[op](replace(work, inputs=inputs, outputs=outputs))
    calls = joined_calls(
        *(
            _copied(array, copies[id(array)])
            for array in {id(a): a for a in work.inputs}.values()
            if id(array) in copies
        ),
        None if computed is None else list(computed),
        *(_copied(copies[id(array)], array) for array in work.outputs if id(array) in copies),
    )
    return None if calls is None else [relocated(call, block) for call in calls]
