"""A traced graph as a function of some of its leaves, for the transforms of `engine.autograd.differentiate`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from engine.core.dtypes import is_float
from engine.core.modes import tracing
from engine.core.value import Array, Operand, Value
from engine.graph.capture import graph_function
from engine.graph.trace import Trace
from engine.ops.elementwise.elementwise import mul
from engine.ops.random.random import fold_in
from engine.ops.reduce.reduce import sum
from engine.ops.shape.shape import reshape

Function = Callable[..., tuple[Value, ...]]
Scalar = Callable[..., Value]


def leaves_of(graph: Trace) -> dict[str, Value]:
    """Return the inputs and parameters by name."""
    return {**graph.inputs, **graph.parameters}


def default_targets(graph: Trace) -> list[str]:
    """Return the floating parameters that are not frozen."""
    specs = graph.definition.parameters
    return [n for n, value in graph.parameters.items() if is_float(value.dtype) and not specs[n].frozen]


def as_function(graph: Trace, of: Sequence[str], by: Sequence[str]) -> Function:
    """Return the values `of` as a function of the leaves `by`; every other leaf is that of `graph`.

    Each call draws the random numbers that `graph` draws. Call it while tracing `graph`.
    """
    function = graph_function(replace(graph.definition, outputs=tuple(of)), training=graph.training)
    leaves = {**leaves_of(graph), **graph.buffers}

    def values(*operands: Operand) -> tuple[Value, ...]:
        numbers = itertools.count()
        with tracing(lambda: fold_in(graph.key, next(numbers))):
            made = function(**{**leaves, **dict(zip(by, operands, strict=True))})
        return made if isinstance(made, tuple) else (made,)

    return values


def unwrap_single(function: Function) -> Scalar:
    """Return a function of one result as one that returns it alone."""
    return lambda *operands: function(*operands)[0]


def sum_results(function: Function) -> Scalar:
    """Return the sum of the results of a function, each of one element, as a scalar."""

    def total(*operands: Operand) -> Value:
        return _add_all([reshape(value, shape=()) for value in function(*operands)])

    return total


def weight_results(function: Function, of: Sequence[str], cotangents: Mapping[str, Array]) -> Scalar:
    """Return the sum of the products of results and cotangents; its gradient is the vector-Jacobian product.

    A result without a cotangent has one element and counts once.
    """

    def total(*operands: Operand) -> Value:
        named = dict(zip(of, function(*operands), strict=True))
        return _add_all(
            [
                sum(mul(value, cotangents[name])) if name in cotangents else reshape(value, shape=())
                for name, value in named.items()
            ]
        )

    return total


def _add_all(values: Sequence[Value]) -> Value:
    total = values[0]
    for value in values[1:]:
        total = total + value
    return total
