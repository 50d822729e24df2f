"""The dynamic tape: backward from values to leaves, gradients on request, hooks; the semantics are PyTorch's."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Literal

import numpy as np

from engine.autograd.backward import initial_cotangent, pull_back, reachable
from engine.core.dtypes import is_float
from engine.core.errors import DTypeError, GradientError, ShapeError
from engine.core.modes import MODES, no_grad, recording_on
from engine.core.value import RETAINED, Cotangents, Hook, Hooks, Node, Operand, Value, as_value
from engine.ops.elementwise.casting import cast, copy
from engine.ops.elementwise.elementwise import add

ImplicitSeed = Literal["scalar", "ones"]
_accumulating = threading.Lock()  # two passes in two threads may end in one leaf


def backward(
    outputs: Value | Sequence[Value],
    gradients: Operand | Sequence[Operand | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    inputs: Value | Sequence[Value] | None = None,
    implicit_seed: ImplicitSeed = "scalar",
) -> None:
    """Add the gradient of the sum of `outputs` to the `.grad` of the leaves they depend on.

    Args:
        outputs: one value or several; scalars unless gradients are given.
        gradients: cotangent of each output, of exactly its shape; None for 1; None or an empty list for 1 everywhere.
        retain_graph: keep what the rules saved for another pass; by default as `create_graph`.
        create_graph: record the pass, so that the gradients can be differentiated again.
        inputs: the values to accumulate into, in place of all leaves that require a gradient.
        implicit_seed: "ones" lets a missing gradient stand for ones of any shape, as in Lamp++.

    Raises:
        GradientError: nothing to differentiate, a missing seed, or a part of the tape that was freed or overwritten.
    """
    roots, seeds = _start_cotangents(outputs, gradients, implicit_seed)
    nodes = reachable(roots)
    if inputs is not None and not isinstance(inputs, Value) and not inputs:
        raise GradientError("inputs= must not be empty; leave it out to reach every leaf")
    leaves = leaves_of(roots, nodes) if inputs is None else _check_inputs(inputs)
    with _recording_again(roots) if create_graph else no_grad():
        for leaf, found in zip(leaves, pull_back(roots, seeds, leaves, nodes), strict=True):
            if found is not None:
                accumulate(leaf, found, in_place=not create_graph)
    if not (create_graph if retain_graph is None else retain_graph):
        for node in nodes:
            node.release()


def grad(
    outputs: Value | Sequence[Value],
    inputs: Value | Sequence[Value],
    grad_outputs: Operand | Sequence[Operand | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    *,
    allow_unused: bool | None = None,
    materialize_grads: bool = False,
) -> Cotangents:
    """Return the gradients of the sum of `outputs` by `inputs`, leaves or not; no `.grad` is touched.

    An input that the outputs do not depend on is an error, unless `allow_unused` (None in its place) or
    `materialize_grads` (zeros in its place).
    """
    if materialize_grads and allow_unused is False:
        raise GradientError("materialize_grads needs allow_unused: leave allow_unused out, or set it to True")
    wrt = _check_inputs(inputs)
    roots, seeds = _start_cotangents(outputs, grad_outputs, "scalar")
    nodes = reachable(roots)
    with _recording_again(roots) if create_graph else no_grad():
        found = pull_back(roots, seeds, wrt, nodes)
    if not (create_graph if retain_graph is None else retain_graph):
        for node in nodes:
            node.release()
    if any(f is None for f in found) and not (allow_unused or materialize_grads):
        raise GradientError(
            "one of the inputs appears to not have been used in the graph; set allow_unused=True if this is meant"
        )
    if materialize_grads:
        found = [_zeros(value) if f is None else f for f, value in zip(found, wrt, strict=True)]
    return tuple(found)


def accumulate(leaf: Value, found: Value, *, in_place: bool = True) -> None:
    """Add a gradient to `leaf.grad`: the first is copied, later ones are added in place unless they have a history."""
    with _accumulating:
        known = leaf.grad
        if known is None:
            leaf.grad = _copy_first(found, in_place)
        elif in_place and known.node is None and _writable(known) and found.data is not None:
            assert known.data is not None
            np.add(known.data, found.data, out=known.data)
            known.shared_counter().version += 1
        else:
            leaf.grad = add(known, found)
    for hook in tuple((leaf.after or {}).values()):
        hook(leaf)


def zero_grad(leaves: Value | Sequence[Value], *, set_to_none: bool = True) -> None:
    """Drop the gradients of `leaves`, or set them to zeros in place; an optimizer skips None but steps on zeros."""
    for leaf in [leaves] if isinstance(leaves, Value) else leaves:
        known = leaf.grad
        if set_to_none or known is None:
            leaf.grad = None
        elif known.node is None and _writable(known):
            assert known.data is not None
            known.data.fill(0)
            known.shared_counter().version += 1
        else:
            leaf.grad = _zeros(leaf)


def grad_or_zeros(leaf: Value) -> Value:
    """Return `leaf.grad`, or zeros before the first backward pass, as a variable of Lamp++ has it.

    Raises:
        GradientError: the value does not require a gradient, so it never has one.
    """
    if not leaf.requires_grad:
        raise GradientError("a value that does not require a gradient has none; make it with requires_grad=True")
    return _zeros(leaf) if leaf.grad is None else leaf.grad


def incr_grad(leaf: Value, gradient: Operand) -> None:
    """Add a gradient of exactly the leaf's shape to `leaf.grad`."""
    value = as_value(gradient)
    if value.shape != leaf.shape:
        raise ShapeError(f"a gradient of shape {list(value.shape)} does not fit a leaf of shape {list(leaf.shape)}")
    accumulate(leaf, cast(value, dtype=leaf.dtype))


def requires_grad_(value: Value, flag: bool = True) -> Value:
    """Set whether a floating leaf requires a gradient."""
    if flag and not is_float(value.dtype):
        raise DTypeError(f"only floating values can require gradients; this one is {value.dtype.name}")
    if not flag and value.tracked and not value.is_leaf:
        raise GradientError("you can only change requires_grad flags of leaf values; detach() this one instead")
    if flag and value.inference and not MODES.inference:
        raise GradientError("a value made in inference mode cannot require a gradient outside it; copy() it first")
    value.tracked = flag or not value.is_leaf
    return value


def retain_grad(value: Value) -> None:
    """Store the cotangent of a value that is not a leaf in `.grad`, after the other hooks."""
    if not value.requires_grad:
        raise GradientError("a value that does not require a gradient has none to retain")
    if value.node is None:
        return
    reference = weakref.ref(value)

    def keep(cotangent: Value) -> None:
        kept = reference()
        if kept is not None:
            accumulate(kept, cotangent, in_place=not MODES.recording)

    _get_hooks(value)[RETAINED] = keep


def register_hook(value: Value, hook: Hook) -> Callable[[], None]:
    """Call `hook` with the cotangent of `value` in every pass, before it is accumulated.

    What the hook returns replaces the cotangent; None leaves it. Hooks run in the order of registration. A function
    that removes the hook is returned; calling it again does nothing.
    """
    if not value.requires_grad:
        raise GradientError("a value that does not require a gradient has no cotangent to hook")
    return _add_hook(_get_hooks(value), hook)


def register_post_accumulate_hook(leaf: Value, hook: Callable[[Value], object]) -> Callable[[], None]:
    """Call `hook` with the leaf after each accumulation into its `.grad`; returns a function that removes the hook."""
    if leaf.node is not None or not leaf.requires_grad:
        raise GradientError("only leaves that require a gradient accumulate one")
    leaf.after = leaf.after or {}
    return _add_hook(leaf.after, hook)


def _get_hooks(value: Value) -> Hooks:
    if value.node is None:
        value.hooks = value.hooks or {}
        return value.hooks
    value.node.hooks = value.node.hooks or {}
    return value.node.hooks.setdefault(value.index, {})


def _add_hook(hooks: dict[object, Any], hook: object) -> Callable[[], None]:
    key = object()
    hooks[key] = hook

    def remove() -> None:
        hooks.pop(key, None)

    return remove


@contextmanager
def tape() -> Iterator[None]:
    """Record operations on a tape of its own, as ggmlR's with_grad_tape; tapes do not nest.

    The tape records from its start to its end: what was computed before is a constant inside, whether or not it
    was computed from, and what is computed afterwards from values of the tape leads to no gradient.

    Raises:
        GradientError: a tape is open in this thread already.
    """
    if MODES.tape:
        raise GradientError("a tape is already open in this thread; tapes do not nest")
    with recording_on(next(_tape_numbers)):
        yield


_tape_numbers = itertools.count(1)


def _recording_again(roots: Sequence[Value]) -> AbstractContextManager[None]:
    """Record a backward pass on the tape of what it differentiates, so that it can be differentiated in turn."""
    tapes = {root.node.tape for root in roots if root.node is not None}
    if len(tapes) > 1:
        raise GradientError(
            "create_graph=True needs outputs of one tape; these were computed on several, or some outside of any"
        )
    return recording_on(tapes.pop() if tapes else MODES.tape)


def _start_cotangents(
    outputs: Value | Sequence[Value], gradients: Operand | Sequence[Operand | None] | None, implicit: ImplicitSeed
) -> tuple[list[Value], list[Value]]:
    roots = [outputs] if isinstance(outputs, Value) else list(outputs)
    if not roots:
        raise GradientError("there is no output to differentiate")
    if gradients is None or (isinstance(gradients, list | tuple) and not gradients):
        given: list[Any] = [None] * len(roots)
    else:
        one = isinstance(outputs, Value) or isinstance(gradients, Value | np.ndarray | int | float)
        given = [gradients] if one else list(gradients)  # type: ignore[arg-type]
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
    return roots, [initial_cotangent(root, gradient) for root, gradient in zip(roots, given, strict=True)]


def _check_inputs(inputs: Value | Sequence[Value]) -> list[Value]:
    given = [inputs] if isinstance(inputs, Value) else list(inputs)
    for number, value in enumerate(given):
        if not value.requires_grad:
            raise GradientError(
                f"input {number} ({value.name or 'without a name'}) does not require a gradient: there is none by it"
            )
    return given


def leaves_of(roots: Sequence[Value], nodes: Sequence[Node]) -> list[Value]:
    """Return the leaves that require a gradient among `roots` and the inputs of `nodes`, each once."""
    leaves = {v.key: v for node in nodes for v in node.inputs if v.node is None and v.requires_grad}
    leaves.update({root.key: root for root in roots if root.node is None})
    return list(leaves.values())


def _copy_first(found: Value, in_place: bool) -> Value:
    """Return a first gradient that is not shared: it may be the seed, or the gradient of another leaf."""
    if found.data is None:
        return found
    return Value(found.shape, found.dtype, found.data.copy()) if in_place else copy(found)


def _writable(gradient: Value) -> bool:
    return gradient.data is not None and gradient.data.flags.writeable


def _zeros(value: Value) -> Value:
    return Value(value.shape, value.dtype, np.zeros(value.shape, value.dtype))


def _backward_from(
    self: Value,
    gradient: Operand | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Value | Sequence[Value] | None = None,
    *,
    implicit_seed: ImplicitSeed = "scalar",
) -> None:
    """Add the gradient of this value to the `.grad` of the leaves it depends on, as `backward` for one output.

    Args:
        gradient: the cotangent of this value, of exactly its shape; None for 1.
        retain_graph: as `backward` takes it, as the others.
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs, implicit_seed=implicit_seed)


Value.backward = _backward_from  # type: ignore[method-assign]
for _method in (requires_grad_, retain_grad, register_hook, incr_grad, zero_grad, grad_or_zeros):
    setattr(Value, _method.__name__, _method)
