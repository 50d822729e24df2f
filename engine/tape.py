"""The dynamic tape: backward from values to leaves, gradients on request, hooks; the semantics are PyTorch's."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np

from engine.backward import pull_back, reachable, seed_of
from engine.dtypes import is_float
from engine.errors import DTypeError, GradientError, ShapeError
from engine.modes import enable_grad, no_grad
from engine.ops.elementwise import add
from engine.value import Hook, Node, Operand, Value, as_value

ImplicitSeed = Literal["scalar", "ones"]
_accumulating = threading.Lock()  # two passes in two threads may end in one leaf


def backward(
    outputs: Value | Sequence[Value],
    gradients: Operand | Sequence[Operand | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Value] | None = None,
    implicit_seed: ImplicitSeed = "scalar",
) -> None:
    """Add the gradient of the sum of `outputs` to the `.grad` of the leaves they depend on.

    Args:
        outputs: one value or several; scalars unless gradients are given.
        gradients: cotangent of each output, of exactly its shape; None for 1.
        retain_graph: keep what the rules saved for another pass; by default as `create_graph`.
        create_graph: record the pass, so that the gradients can be differentiated again.
        inputs: the leaves to accumulate into, in place of all that require a gradient.
        implicit_seed: "ones" lets a missing gradient stand for ones of any shape, as in Lamp++.

    Raises:
        GradientError: nothing to differentiate, a missing seed, or a part of the tape that was freed or overwritten.
    """
    roots, seeds = _seeded(outputs, gradients, implicit_seed)
    nodes = reachable(roots)
    if inputs is not None and not inputs:
        raise GradientError("inputs= must not be empty; leave it out to reach every leaf")
    leaves = _leaves(roots, nodes) if inputs is None else list(inputs)
    with enable_grad() if create_graph else no_grad():
        for leaf, found in zip(leaves, pull_back(roots, seeds, leaves), strict=True):
            if found is not None:
                accumulate(leaf, found, in_place=not create_graph)
    if not (create_graph if retain_graph is None else retain_graph):
        for node in nodes:
            node.release()


def grad(
    outputs: Value | Sequence[Value],
    inputs: Value | Sequence[Value],
    grad_outputs: Operand | Sequence[Operand | None] | None = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> tuple[Value | None, ...]:
    """Return the gradients of the sum of `outputs` by `inputs`, leaves or not; no `.grad` is touched.

    An input that the outputs do not depend on is an error, unless `allow_unused` (None in its place) or
    `materialize_grads` (zeros in its place).
    """
    if materialize_grads and allow_unused is False:
        raise GradientError("materialize_grads needs allow_unused: leave allow_unused out, or set it to True")
    wrt = [inputs] if isinstance(inputs, Value) else list(inputs)
    roots, seeds = _seeded(outputs, grad_outputs, "scalar")
    with enable_grad() if create_graph else no_grad():
        found = pull_back(roots, seeds, wrt)
    if not (create_graph if retain_graph is None else retain_graph):
        for node in reachable(roots):
            node.release()
    if any(f is None for f in found) and not (allow_unused or materialize_grads):
        raise GradientError(
            "one of the inputs appears to not have been used in the graph; set allow_unused=True if this is meant"
        )
    if materialize_grads:
        found = [_zeros(value) if f is None else f for f, value in zip(found, wrt, strict=True)]
    return tuple(found)


def accumulate(leaf: Value, found: Value, *, in_place: bool = True) -> None:
    """Add a gradient to `leaf.grad`; the first is copied, later ones are added in place unless they have a history."""
    with _accumulating:
        if leaf.grad is None:
            leaf.grad = (
                found if not in_place or found.data is None else Value(found.shape, found.dtype, found.data.copy())
            )
        elif in_place and leaf.grad.data is not None and found.data is not None and leaf.grad.node is None:
            np.add(leaf.grad.data, found.data, out=leaf.grad.data)
        else:
            leaf.grad = add(leaf.grad, found)
    for hook in leaf.after or ():
        hook(leaf)


def zero_grad(leaves: Sequence[Value], *, set_to_none: bool = True) -> None:
    """Drop the gradients of `leaves`, or set them to zeros; an optimizer skips None but steps on zeros."""
    for leaf in leaves:
        if set_to_none or leaf.grad is None:
            leaf.grad = None
        else:
            leaf.grad = Value(leaf.shape, leaf.dtype, np.zeros(leaf.shape, leaf.dtype))


def assign_grad(leaf: Value, gradient: Operand | None) -> None:
    """Set `leaf.grad`; shape and dtype must be the leaf's."""
    if gradient is None:
        leaf.grad = None
        return
    value = as_value(gradient)
    if value.shape != leaf.shape or value.dtype != leaf.dtype:
        raise ShapeError(
            f"a gradient of {value.dtype.name}{list(value.shape)} does not fit a leaf of "
            f"{leaf.dtype.name}{list(leaf.shape)}"
        )
    leaf.grad = value


def incr_grad(leaf: Value, gradient: Operand) -> None:
    """Add a gradient of exactly the leaf's shape to `leaf.grad`."""
    value = as_value(gradient)
    if value.shape != leaf.shape:
        raise ShapeError(f"a gradient of shape {list(value.shape)} does not fit a leaf of shape {list(leaf.shape)}")
    accumulate(leaf, value)


def requires_grad_(value: Value, flag: bool = True) -> Value:
    """Make a floating leaf require a gradient, or not."""
    if flag and not is_float(value.dtype):
        raise DTypeError(f"only floating values can require gradients; this one is {value.dtype.name}")
    if not flag and not value.is_leaf:
        raise GradientError("you can only change requires_grad flags of leaf values; detach() this one instead")
    value.requires_grad = flag or not value.is_leaf
    return value


def retain_grad(value: Value) -> None:
    """Let a value that is no leaf keep its cotangent in `.grad`."""
    if value.is_leaf:
        return
    reference = weakref.ref(value)

    def keep(cotangent: Value) -> None:
        kept = reference()
        if kept is not None:
            accumulate(kept, cotangent)

    register_hook(value, keep)


def register_hook(value: Value, hook: Hook) -> Callable[[], None]:
    """Call `hook` with the cotangent of `value` in every pass; what it returns replaces the cotangent.

    Returns a function that removes the hook.
    """
    if not value.requires_grad:
        raise GradientError("a value that does not require a gradient has no cotangent to hook")
    if value.node is None:
        value.hooks = hooks = value.hooks or []
    else:
        value.node.hooks = value.node.hooks or {}
        hooks = value.node.hooks.setdefault(value.index, [])
    hooks.append(hook)
    return lambda: hooks.remove(hook)


def register_post_accumulate_hook(leaf: Value, hook: Callable[[Value], object]) -> Callable[[], None]:
    """Call `hook` with the leaf after each accumulation into its `.grad`; returns a function that removes the hook."""
    if leaf.node is not None:
        raise GradientError("only leaves accumulate gradients")
    leaf.after = hooks = leaf.after or []
    hooks.append(hook)
    return lambda: hooks.remove(hook)


@contextmanager
def tape() -> Iterator[None]:
    """Record inside, and nothing outside of a tape that surrounds it: ggmlR's with_grad_tape. Tapes do not nest."""
    if _open.tape:
        raise GradientError("a tape is already open in this thread; tapes do not nest")
    _open.tape = True
    try:
        with enable_grad():
            yield
    finally:
        _open.tape = False


class _Open(threading.local):
    tape = False


_open = _Open()


def _seeded(
    outputs: Value | Sequence[Value], gradients: Operand | Sequence[Operand | None] | None, implicit: ImplicitSeed
) -> tuple[list[Value], list[Value]]:
    """Return the roots and a cotangent for each."""
    roots = [outputs] if isinstance(outputs, Value) else list(outputs)
    given = [gradients] if isinstance(outputs, Value) else list(gradients or [None] * len(roots))  # type: ignore[arg-type]
    if len(given) != len(roots):
        raise GradientError(f"{len(roots)} outputs need as many gradients, got {len(given)}")
    for number, root in enumerate(roots):
        if not root.requires_grad:
            raise GradientError(
                f"element {number} of the outputs does not require a gradient and has no history: "
                "nothing to differentiate"
            )
    if implicit == "ones":
        given = [np.ones(root.shape, root.dtype) if g is None else g for root, g in zip(roots, given, strict=True)]
    return roots, [seed_of(root, gradient) for root, gradient in zip(roots, given, strict=True)]  # type: ignore[arg-type]


def _leaves(roots: Sequence[Value], nodes: Sequence[Node]) -> list[Value]:
    leaves = {v.key: v for node in nodes for v in node.inputs if v.node is None and v.requires_grad}
    leaves.update({root.key: root for root in roots if root.node is None})
    return list(leaves.values())


def _zeros(value: Value) -> Value:
    return Value(value.shape, value.dtype, np.zeros(value.shape, value.dtype))


for _method in (backward, requires_grad_, retain_grad, register_hook, incr_grad):
    setattr(Value, _method.__name__, _method)
