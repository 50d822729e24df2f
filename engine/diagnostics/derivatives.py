"""Derivatives of a traced graph as Values that join it, made by the transforms of `engine.autograd.differentiate`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from engine.autograd.differentiate import grad, hessian, hvp, jacobian, jvp, vhp
from engine.core.errors import REFUSALS, EngineError
from engine.core.options import Reader
from engine.core.value import Shape, Value
from engine.diagnostics.requests import DerivativeRequest
from engine.diagnostics.transforms import Scalar, as_function, leaves_of, sum_results, unwrap_single, weight_results
from engine.execution.interpreter.node_runner import DERIVATIVES, NODES, PRODUCTS, RESULT_BYTES, check_leaves, refuse
from engine.graph.trace import Trace

MATRICES = ("jacobian", "hessian", "derivative")


NOUNS = {"jacobian": "a Jacobian", "hessian": "a Hessian", "derivative": "a derivative"}
GROWTH = 4
"""Approximate growth of the number of nodes by one more differentiation."""


def check_sizes(graph: Trace, wanted: Sequence[DerivativeRequest]) -> None:
    """Refuse too many derivatives, and Jacobians and Hessians that are too large, before anything is traced.

    Raises:
        DocumentError: with a pointer to what is too much.
    """
    if len(wanted) > DERIVATIVES:
        raise refuse("/want", f"{len(wanted)} derivatives are more than the limit of {DERIVATIVES} in one request")
    if wanted:
        check_leaves(graph)
    total = products = grown = 0
    for want in wanted:
        if want.kind not in MATRICES:
            continue
        shape, lines, itemsize = _matrix(graph, want)
        pointer = f"{want.pointer}/{want.kind}"
        total += math.prod(shape) * itemsize
        if total > RESULT_BYTES:
            detail = f"{NOUNS[want.kind]} of shape {list(shape)} needs {math.prod(shape) * itemsize} bytes"
            raise refuse(pointer, f"{detail}; the limit for all of a request is {RESULT_BYTES}: ask for products of it")
        nodes = len(graph.definition.nodes) + 1
        products += lines * nodes
        grown += nodes * GROWTH ** (len(want.by) - 1) if want.kind == "derivative" else 0
        if products > PRODUCTS or lines * lines * itemsize > RESULT_BYTES:
            detail = f"{NOUNS[want.kind]} of shape {list(shape)} takes {lines} products through the graph"
            advice = "leave out 'mode', or ask for products of it" if want.kind == "jacobian" else "ask for products"
            raise refuse(pointer, f"{detail}, which is too much: {advice}")
        if grown > NODES:
            detail = f"{len(want.by)} differentiations of {nodes - 1} nodes make about {grown} of them with all before"
            raise refuse(pointer, f"{detail}; the limit is {NODES}: ask for a lower order")


def derive(graph: Trace, wanted: Sequence[DerivativeRequest]) -> list[dict[str, Value]]:
    """Append each derivative to the graph and return its results: by output for a JVP, else by leaf.

    Where no path leads from a leaf to a value there are zeros, as the transforms have it.

    Raises:
        DocumentError: an op on the way that cannot be differentiated so, with a pointer to what was wanted.
    """
    reader = Reader()
    made = []
    for want in wanted:
        try:
            with graph.trace():
                made.append(_derive(graph, want))
        except EngineError as error:
            reader.fault(want.pointer, error.code, str(error))
        except REFUSALS as error:
            detail = f"an op on the way cannot be differentiated so ({type(error).__name__}: {str(error)[:200]})"
            reader.fault(want.pointer, EngineError.code, detail)
    reader.finish()
    return made


def _derive(graph: Trace, want: DerivativeRequest) -> dict[str, Value]:
    leaves = leaves_of(graph)
    primals = [leaves[name] for name in want.by]
    directions = [want.vectors[name] for name in want.by if name in want.vectors]
    if want.kind == "jvp":
        return {
            name: jvp(unwrap_single(as_function(graph, (name,), want.by)), primals, directions)[1] for name in want.of
        }
    function = as_function(graph, want.of, want.by)
    if want.kind == "jacobian":
        return {want.by[0]: jacobian(unwrap_single(function), forward=want.forward, vectorize=True)(*primals)}
    if want.kind == "hessian":
        return {want.by[0]: hessian(sum_results(function), vectorize=True)(*primals)}
    if want.kind == "derivative":
        return {",".join(want.by): _derive_of_order(graph, want)}
    if want.kind == "gradient_of":
        found = gradients(weight_results(function, want.of, want.vectors), primals)
    else:
        found = PRODUCTS_OF[want.kind](sum_results(function), primals, directions)
    return dict(zip(want.by, found, strict=True))


def _derive_of_order(graph: Trace, want: DerivativeRequest) -> Value:
    """Differentiate by one leaf after the other, each time in the mode of fewer products."""
    by = tuple(dict.fromkeys(want.by))
    function = as_function(graph, want.of, by)
    derived = unwrap_single(function) if len(want.of) == 1 else sum_results(function)
    leaves = leaves_of(graph)
    size = graph.value(want.of[0]).size
    for name in want.by:
        derived = jacobian(derived, by.index(name), forward=leaves[name].size < size, vectorize=True)
        size *= leaves[name].size
    return derived(*(leaves[name] for name in by))


PRODUCTS_OF: Mapping[str, Any] = {"hvp": hvp, "vhp": vhp}


def gradients(function: Scalar, primals: Sequence[Value]) -> tuple[Value, ...]:
    """Return the gradient of a scalar function by each of its arguments."""
    return grad(function, tuple(range(len(primals))))(*primals)  # type: ignore[no-any-return]


def _matrix(graph: Trace, want: DerivativeRequest) -> tuple[Shape, int, int]:
    """Return the shape of a matrix of derivatives, the products it takes, and the bytes of an element."""
    leaves = [leaves_of(graph)[name] for name in want.by]
    leaf = leaves[0]
    if want.kind == "hessian":
        return (*leaf.shape, *leaf.shape), leaf.size, leaf.dtype.itemsize
    value = graph.value(want.of[0])
    itemsize = max(value.dtype.itemsize, leaf.dtype.itemsize)
    if want.kind == "jacobian":
        return (*value.shape, *leaf.shape), leaf.size if want.forward else value.size, itemsize
    shape, lines, size = value.shape if len(want.of) == 1 else (), 1, value.size
    for leaf in leaves:
        lines *= min(leaf.size, size)
        shape, size = (*shape, *leaf.shape), size * leaf.size
    return shape, lines, itemsize
