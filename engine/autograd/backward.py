"""The chain rule, the only one: visit the nodes in reverse order, sum over broadcast axes, accumulate cotangents.

A value may be used by several nodes, and its cotangent is the sum over all of them. Nodes are numbered in order of
creation, and the reverse of that order is topological: when a node is visited, every node that reads its outputs has
been visited, so its cotangents are complete.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np

from engine.autograd.array_pass import ArrayPass, Path, place_of
from engine.autograd.array_rules import fit_cotangent
from engine.core.dtypes import FLOAT_KINDS, is_float
from engine.core.errors import GradientError, ShapeError
from engine.core.modes import MODES, differentiating
from engine.core.value import RETAINED, Array, Cotangents, Hooks, Node, Operand, Value, as_value
from engine.ops.elementwise.elementwise import add
from engine.ops.shape.shape import reshape

Key = object
SavedValues = Callable[[Node, Value], tuple[Sequence[Value], Sequence[Value]]]
"""Returns the inputs and outputs that the rule of a node reads; called with the first of the node's cotangents."""


class StaleValue(Value):
    """A saved value whose data was freed or overwritten: a rule that reads the data gets a GradientError."""

    __slots__ = ("reason", "source")

    def __init__(self, source: Value, reason: str) -> None:
        self.source = source
        self.reason = reason
        super().__init__(
            source.shape, source.dtype, None, node=source.node, index=source.index, requires_grad=source.requires_grad
        )

    @property
    def key(self) -> object:
        """The key of the saved value."""
        return self.source.key

    @property
    def data(self) -> Array | None:
        """Raise GradientError."""
        raise GradientError(self.reason)

    @data.setter
    def data(self, data: Array | None) -> None:
        """Ignore the assignment of the base class."""


def pull_back(
    outputs: Sequence[Value],
    cotangents: Sequence[Value],
    wrt: Sequence[Value],
    nodes: Sequence[Node] | None = None,
    saved_values: SavedValues | None = None,
) -> list[Value | None]:
    """Return the cotangent of each value in `wrt`, or None where no path leads from it to an output.

    Rules run under the current modes: the results are Values of the same kind as the inputs, and are recorded when
    operations are recorded, so derivatives of any order are possible. A missing cotangent stays None; it is not
    replaced by zeros.

    Args:
        outputs: what is differentiated.
        cotangents: one for each output.
        wrt: the values to differentiate by.
        nodes: what is `reachable` from the outputs, if the caller has it.
        saved_values: returns the values that rules read, in place of those of the forward pass (rematerialization).
    """
    targets = {value.key for value in wrt}
    path = cotangent_path(reachable(outputs) if nodes is None else nodes, targets)
    if saved_values is None and _fits_arrays([*outputs, *cotangents]):
        totals = _pull_arrays(outputs, cotangents, wrt, path)
    else:
        totals = {}
        for output, cotangent in zip(outputs, cotangents, strict=True):
            _accumulate(totals, output, cotangent)
        for node, needed in reversed(path):
            _pull_node(node, needed, totals, targets, saved_values)
    _hook_targets(wrt, {node for node, _ in path}, totals)
    return [totals.get(value.key) for value in wrt]


def _fits_arrays(values: Sequence[Value]) -> bool:
    """Return whether a pass from these values can run on arrays: nothing takes note of it, and all have data."""
    return MODES.plain and not MODES.recording and all(value.data is not None for value in values)


def _pull_arrays(
    outputs: Sequence[Value], cotangents: Sequence[Value], wrt: Sequence[Value], path: Path
) -> dict[Key, Value]:
    arrays = ArrayPass({place_of(value) for value in wrt}, _pull_on_values, _run_hooks_of)
    fitting = map(fit_cotangent, cotangents, outputs)
    arrays.run(zip(outputs, fitting, strict=True), path)
    return arrays.results(wrt)


def _pull_on_values(
    node: Node, needed: Sequence[int], cotangents: Sequence[Value | None]
) -> Iterator[tuple[int, Value]]:
    for index, part in pull_parts(node, needed, cotangents, *check_saved(node)):
        yield index, fit_cotangent(part, node.inputs[index])


def _run_hooks_of(node: Node, index: int, cotangent: Value) -> Value:
    return _run_hooks((node.hooks or {})[index], cotangent)


def reachable(outputs: Sequence[Value], *, after: int = -1) -> list[Node]:
    """Return the nodes that `outputs` depend on, in order of creation; only those with a number above `after`.

    The search does not enter another tape (see `engine.autograd.tape.tape`).
    """
    found: set[Node] = set()
    waiting = [output.node for output in outputs if output.node is not None]
    while waiting:
        node = waiting.pop()
        if node.seq <= after or node in found:
            continue
        found.add(node)
        for value in node.inputs:
            if value.counter is not None and value.counter.past:
                node.inputs = tuple(_input_at_call(node, index) for index in range(len(node.inputs)))
                break
        tape = node.tape
        for value in node.inputs:
            origin = value.node
            if origin is not None and origin.tape == tape:
                waiting.append(origin)
    return sorted(found, key=_number)


_number = attrgetter("seq")


def _input_at_call(node: Node, index: int) -> Value:
    """Return an input as it was when the node was recorded: an in-place write may have replaced its history since."""
    value = node.inputs[index]
    past = (value.counter and value.counter.past) or []
    expected = node.versions[index] if node.versions else 0
    for number, _, was in past[bisect_right(past, expected, key=lambda entry: entry[1]) :]:
        if number == id(value):
            return was
    return value


def initial_cotangent(output: Value, gradient: Operand | None) -> Value:
    """Return the initial cotangent: `gradient`, or 1 for an output of one element."""
    if gradient is None:
        if output.size != 1:
            raise GradientError(
                "a gradient can be created implicitly only for scalar outputs; this one has shape "
                f"{list(output.shape)}: pass gradient="
            )
        return Value(output.shape, output.dtype, np.ones(output.shape, output.dtype))
    seed = as_value(gradient)
    if seed.shape != output.shape:
        raise ShapeError(
            f"the gradient has shape {list(seed.shape)}, the output {list(output.shape)}: they must be equal"
        )
    return Value((), output.dtype, seed.numpy().astype(output.dtype)) if seed.weak else seed


def cotangent_path(nodes: Sequence[Node], targets: set[Key]) -> Path:
    """Return the nodes, in order, on paths from `targets`, each with the positions of the inputs on such a path.

    Only these nodes are visited and only these inputs get a cotangent: rules may return the others as functions, which
    are then never called.
    """
    active: set[Key] = set(targets)
    # Targets that are results of nodes have tuples as keys. Without any, a look at the node of an input is enough.
    inner = any(isinstance(key, tuple) for key in targets)
    path = []
    for node in nodes:
        if not node.op.differentiable:
            continue
        needed = []
        for index, value in enumerate(node.inputs):
            origin = value.node
            found = id(value) in active if origin is None else origin in active or (inner and value.key in active)
            if found and value.dtype.kind in FLOAT_KINDS:
                needed.append(index)
        if needed:
            path.append((node, tuple(needed)))
            active.add(node)
    return path


def _pull_node(
    node: Node, needed: Sequence[int], totals: dict[Key, Value], targets: set[Key], saved_values: SavedValues | None
) -> None:
    cotangents = [_take_cotangent(node, index, totals, targets) for index in range(len(node.outputs))]
    for cotangent in cotangents:
        if cotangent is not None:
            break
    else:
        return
    read = check_saved(node) if saved_values is None else saved_values(node, cotangent)
    for index, part in pull_parts(node, needed, cotangents, *read):
        if MODES.anomaly:
            _check_finite(node, index, part)
        _accumulate(totals, node.inputs[index], part)


def pull_parts(
    node: Node,
    needed: Sequence[int],
    cotangents: Sequence[Value | None],
    inputs: Sequence[Value],
    outputs: Sequence[Value],
) -> Iterator[tuple[int, Value]]:
    """Yield the positions of inputs and their cotangents, of those at `needed` that have one."""
    pulled = pull_node(node, tuple(cotangents), inputs, outputs)
    if len(pulled) != len(node.inputs):
        raise GradientError(
            f"the rule of {node.op.name} returned {len(pulled)} cotangents for {len(node.inputs)} inputs"
        )
    for index in needed:
        part = pulled[index]
        if part is not None and part.__class__ is not Value and callable(part):
            part = part()
        if part is not None:
            yield index, part


def _take_cotangent(node: Node, index: int, totals: dict[Key, Value], targets: set[Key]) -> Value | None:
    """Return the complete cotangent of an output, after its hooks; keep it in `totals` only if it is a target.

    Intermediate cotangents are dropped as soon as they are used, which bounds the memory of a backward pass.
    """
    key = (node, index)
    cotangent = totals.pop(key, None)
    if cotangent is None:
        return None
    if node.hooks and index in node.hooks:
        cotangent = _run_hooks(node.hooks[index], cotangent)
    if key in targets:
        totals[key] = cotangent
    return cotangent


def pull_node(node: Node, cotangents: Cotangents, inputs: Sequence[Value], outputs: Sequence[Value]) -> tuple[Any, ...]:
    """Run the rule of one node; return for each input a cotangent, None, or a function that returns a cotangent."""
    if node.op.composition is None:
        return node.op.pull(node, cotangents, inputs, outputs)
    return _pull_through(node, cotangents, inputs)


def _pull_through(node: Node, cotangents: Sequence[Value | None], inputs: Sequence[Value]) -> Cotangents:
    """Pull back through the composition of an op without a rule.

    The composition is called with fresh aliases of the inputs. Between these there are no paths: if one input depends
    on another, the caller follows that path, and following it here too would count it twice.
    """
    assert node.op.composition is not None
    with differentiating():
        ends = [reshape(value, shape=value.shape) if is_float(value.dtype) else value for value in inputs]
        made = node.op.composition(*ends, **node.attrs)
    outputs = made if isinstance(made, tuple) else (made,)
    pairs = [(y, g) for y, g in zip(outputs, cotangents, strict=True) if g is not None]
    return tuple(pull_back([y for y, _ in pairs], [g for _, g in pairs], ends))


def check_saved(node: Node) -> tuple[Sequence[Value], Sequence[Value]]:
    """Return inputs and outputs of a node, with a StaleValue for each whose data was freed or overwritten."""
    outputs = [node.output(index) for index in range(len(node.outputs))]
    if not node.freed and node.counters is None:
        for value in node.inputs:
            if value.counter is not None:
                break
        else:
            return node.inputs, outputs
    inputs = list(node.inputs)
    if node.freed:
        reason = (
            f"trying to backward through the graph a second time: what {node.op.name} saved was freed by the first "
            "backward; call backward(retain_graph=True) there"
        )
        return [StaleValue(value, reason) for value in inputs], [StaleValue(value, reason) for value in outputs]
    for index, value in enumerate(inputs):
        expected = node.versions[index] if node.versions else 0
        if value.version != expected:
            inputs[index] = StaleValue(value, _explain_overwrite(node, f"input {index}", value.version, expected))
    for index, (counter, expected) in (node.counters or {}).items():
        if counter.version != expected:
            reason = _explain_overwrite(node, f"output {index}", counter.version, expected)
            outputs[index] = StaleValue(outputs[index], reason)
    return inputs, outputs


def _explain_overwrite(node: Node, what: str, version: int, expected: int) -> str:
    return (
        f"{what} of {node.op.name}, which its gradient needs, was modified by an in-place operation: it is at version "
        f"{version}; expected version {expected}"
    )


def _hook_targets(wrt: Sequence[Value], visited: set[Node], totals: dict[Key, Value]) -> None:
    """Run the hooks of targets whose nodes were not visited: leaves, and values at which the paths begin."""
    done = set()
    for value in wrt:
        key = value.key
        if key in done or key not in totals or value.node in visited:
            continue
        done.add(key)
        hooks = value.hooks if value.node is None else (value.node.hooks or {}).get(value.index)
        if hooks:
            totals[key] = _run_hooks(hooks, totals[key])


def _run_hooks(hooks: Hooks, cotangent: Value) -> Value:
    last = hooks.get(RETAINED)  # retain_grad stores what the other hooks return
    for hook in (*(hook for key, hook in tuple(hooks.items()) if key != RETAINED), *([last] if last else [])):
        replaced = hook(cotangent)
        if replaced is None:
            continue
        if replaced.shape != cotangent.shape or replaced.dtype != cotangent.dtype:
            raise ShapeError(
                f"a hook replaced a gradient of {cotangent.dtype.name}{list(cotangent.shape)} by one of "
                f"{replaced.dtype.name}{list(replaced.shape)}: shape and dtype must stay"
            )
        cotangent = replaced
    return cotangent


def _check_finite(node: Node, index: int, part: Value) -> None:
    if part.data is not None and np.isnan(part.data).any():
        where = f"; it was recorded at:\n{node.origin}" if node.origin else ""
        raise GradientError(f"the backward rule of {node.op.name} returned nan values for its input {index}{where}")


def _accumulate(totals: dict[Key, Value], value: Value, cotangent: Value) -> None:
    cotangent = fit_cotangent(cotangent, value)
    key = value.key
    known = totals.get(key)
    totals[key] = cotangent if known is None else add(known, cotangent)
