"""Optimizer nodes at the end of a static graph: a step for each parameter, taken with each complete computation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engine.core.dtypes import FLOAT64
from engine.core.errors import GradientError, UnknownName
from engine.core.value import Value
from engine.ggml.context import Context
from engine.ggml.ggml import ggml_opt_step_adamw, ggml_opt_step_sgd
from engine.ggml.graph import Graph
from engine.ggml.leaves import NAME_BYTES

StepKind = Literal["adamw", "sgd"]
NUMBERS = {"adamw": ("alpha", "beta1", "beta2", "eps", "wd", "beta1h", "beta2h"), "sgd": ("alpha", "wd")}
"""What the numbers of a step are, in their order (ggml_opt_optimizer_params; beta1h is 1 / (1 - beta1^t))."""
PARS = "opt pars"
"""The name of the leaf that holds them."""


def append_step(graph: Graph, context: Context, *, kind: StepKind, names: Sequence[str] | None) -> None:
    """Append a step for parameters that have a gradient, all of them if none are named.

    Moments begin at 0 and are called `m for w` and `v for w`; the numbers are in the leaf `PARS`, which is to be set.

    Raises:
        GradientError: a parameter has no gradient.
        GraphFull: the steps do not fit; the graph is as before.
    """
    with graph.unchanged_on_error():
        pars = context.hold(Value((len(NUMBERS[kind]),), FLOAT64, None, name=PARS))
        for parameter, gradient in _trained(graph, names):
            if kind == "sgd":
                ggml_opt_step_sgd(graph, parameter, gradient, pars)
                continue
            m, v = (_moment(graph, context, parameter, letter) for letter in "mv")
            ggml_opt_step_adamw(graph, parameter, gradient, m, v, pars)


def _trained(graph: Graph, names: Sequence[str] | None) -> list[tuple[Value, Value]]:
    parameters = {graph.name_of(value): value for value in graph.nodes if value.node is None}
    for name in names or ():
        if name not in parameters:
            raise UnknownName(f"{name[:64]!r} is no parameter of the graph; it has {', '.join(parameters) or 'none'}")
    chosen = parameters if names is None else {name: parameters[name] for name in names}
    pairs = [(value, graph.grad(value)) for value in chosen.values()]
    missing = [name for name, (_, gradient) in zip(chosen, pairs, strict=True) if gradient is None and names]
    found = [(value, gradient) for value, gradient in pairs if gradient is not None]
    if missing or not found:
        raise GradientError(
            f"no gradient flows to {', '.join(missing) or 'any parameter'}; build_backward_expand first"
        )
    return found


def _moment(graph: Graph, context: Context, parameter: Value, letter: str) -> Value:
    name = f"{letter} for {graph.name_of(parameter)}"
    moment = context.hold(Value(parameter.shape, parameter.dtype, None, name=name[:NAME_BYTES]))
    context.set(moment, 0)
    return moment
