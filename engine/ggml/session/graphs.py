"""SessionGraphs: the graphs of a session by name, and the log of changes that rebuilds them.

A snapshot stores the log in place of the graphs: replaying it gives the same nodes at the same positions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from engine.core.dtypes import FLOAT64
from engine.core.errors import GradientError, GraphError, LimitError, UnknownName, nearest
from engine.core.value import Value
from engine.ggml.context import NAME_BYTES, Context, check_name, set_param
from engine.ggml.ggml import ggml_opt_step_adamw, ggml_opt_step_sgd
from engine.ggml.graph import Graph
from engine.ggml.session.named_values import NamedValues

StepKind = Literal["adamw", "sgd"]
NUMBERS = {"adamw": ("alpha", "beta1", "beta2", "eps", "wd", "beta1h", "beta2h"), "sgd": ("alpha", "wd")}
"""Names of the numbers of a step, in order (ggml_opt_optimizer_params; beta1h is 1 / (1 - beta1^t))."""
PARS = "opt pars"
"""Name of the leaf that holds them."""


def append_step(graph: Graph, context: Context, *, kind: StepKind, names: Sequence[str] | None) -> None:
    """Append a step for the named parameters, by default for all with a gradient.

    Moments start at 0 and are named `m for w` and `v for w`. The caller sets the leaf `PARS`.

    Raises:
        GradientError: a parameter has no gradient.
        GraphFull: the steps do not fit; the graph is as before.
    """
    with graph.unchanged_on_error():
        pars = context.hold(Value((len(NUMBERS[kind]),), FLOAT64, None, name=PARS))
        for parameter, gradient in _trained_parameters(graph, names):
            if kind == "sgd":
                ggml_opt_step_sgd(graph, parameter, gradient, pars)
                continue
            m, v = (_moment(graph, context, parameter, letter) for letter in "mv")
            ggml_opt_step_adamw(graph, parameter, gradient, m, v, pars)


def _trained_parameters(graph: Graph, names: Sequence[str] | None) -> list[tuple[Value, Value]]:
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


MOST_GRAPHS = 16
MOST_CHANGES = 10_000


@dataclass(frozen=True)
class Change:
    """One logged change, as plain data.

    `graph` is the number of the graph that was changed or created, None for a change of leaves; `source` is the number
    of the graph it was copied from.
    """

    verb: str
    graph: int | None
    options: Mapping[str, Any]
    source: int | None = None


def prune_changes(changes: Sequence[Change], graphs: Iterable[int]) -> list[Change]:
    """Return the changes needed to rebuild `graphs`."""
    needed, kept = set(graphs), []
    for change in reversed(changes):
        if change.graph is None or change.graph in needed:
            kept.append(change)
            if change.source is not None:
                needed.add(change.source)
    return kept[::-1]


class SessionGraphs:
    """Graphs by name over the values of one definition; every change is logged.

    Attributes:
        values: the values that graphs are expanded from.
        numbers: the number of each graph, by name; a cleared or overwritten graph gets a new one.
    """

    def __init__(self, values: NamedValues, context: Context) -> None:
        """Start without graphs."""
        self.values = values
        self.numbers: dict[str, int] = {}
        self._context = context
        self._used_by_leaves = context.used_mem
        self._graphs: dict[int, Graph] = {}
        self._losses: dict[int, list[str]] = {}
        self._changes: list[Change] = []
        self._next = 0
        self._verbs: Mapping[str, Callable[..., None]] = {
            "new_graph": self._new_graph,
            "graph_dup": self._dup,
            "graph_view": self._view,
            "graph_cpy": self._cpy,
            "graph_clear": self._clear,
            "set_param": self._set_param,
            "set_loss": self._set_loss,
            "set_name": self._set_name,
            "build_forward_expand": self._expand,
            "build_forward_select": self._select,
            "build_backward_expand": self._backward,
            "opt_step": self._opt_step,
        }

    @property
    def graphs(self) -> dict[str, Graph]:
        """The graphs by name, in the order of their names."""
        return {name: self._graphs[number] for name, number in sorted(self.numbers.items())}

    def graph(self, name: str) -> Graph:
        """Return a graph by name; UnknownName if there is none."""
        if name not in self.numbers:
            raise UnknownName(f"no graph is called {name[:64]!r}{nearest(name, self.numbers)}")
        return self._graphs[self.numbers[name]]

    def find(self, graph: str, name: str) -> Value | None:
        """Return the value called `name` in the definition, or else in the graph; None if there is none."""
        found = self.values.find(name)
        return self.graph(graph).find(name) if found is None else found

    def value(self, graph: str, name: str) -> Value:
        """Return the value called `name` in the definition, or else in the graph; UnknownName if there is none."""
        found = self.find(graph, name)
        return self.values.value(name) if found is None else found

    def change(self, verb: str, graph: str | None = None, **options: Any) -> None:
        """Apply a change to a graph (or to leaves) and log it; a change that raises is not logged."""
        self._check_limit()
        if graph is not None:
            self.graph(graph)
        self._apply(Change(verb, None if graph is None else self.numbers[graph], options))

    def create(self, verb: str, name: str, source: str | None = None, **options: Any) -> None:
        """Create a graph called `name`, empty or from another one; it replaces a graph of the same name."""
        check_name(name)
        self._check_limit()
        if name not in self.numbers and len(self.numbers) == MOST_GRAPHS:
            raise LimitError(f"there are {MOST_GRAPHS} graphs already; free one (graph_free) before making another")
        if source is not None:
            self.graph(source)
        number = self._next
        self._apply(Change(verb, number, options, None if source is None else self.numbers[source]))
        self._next += 1
        if name in self.numbers:
            self._drop_results(self.graph(name))
        self.numbers[name] = number
        self._prune()

    def clear(self, name: str) -> None:
        """Remove everything from a graph; losses stay marked."""
        self._replace_content(
            name, "graph_clear", losses=self._losses[self.numbers[name]] if name in self.numbers else []
        )

    def copy(self, source: str, name: str) -> None:
        """Replace the content of the graph `name` by that of `source`."""
        self.graph(source)
        self._replace_content(name, "graph_cpy", self.numbers[source])

    def _replace_content(self, name: str, verb: str, source: int | None = None, **options: Any) -> None:
        """Replace the content of a graph under a new number: copies and views may depend on the old content."""
        graph, before = self.graph(name), self.numbers[name]
        if graph.is_view:
            raise GraphError("this is a view of a graph: clear or copy into the graph it is of")
        made = {"size": graph.size, "grads": graph.has_grads, "order": graph.order}
        self._apply(Change(verb, self._next, {"before": before, "made": made, **options}, source))
        self.numbers[name] = self._next
        self._next += 1
        self._prune()

    def free(self, name: str) -> None:
        """Delete a graph; the leaves keep their data."""
        self._drop_results(self.graph(name))
        del self.numbers[name]
        self._prune()

    def _drop_results(self, graph: Graph) -> None:
        """Drop the results of a graph; those of a view belong to another graph."""
        if not graph.is_view:
            graph.forget_results()

    def to_json(self) -> dict[str, Any]:
        """Return the log as plain data, for `replay`."""
        return {"changes": [asdict(change) for change in self._changes], "numbers": self.numbers, "next": self._next}

    def replay(self, log: Mapping[str, Any]) -> None:
        """Rebuild the graphs of a log in place of the current ones; marked parameters stay marked."""
        self._context.used_mem = self._used_by_leaves
        self._graphs, self._losses, self._changes = {}, {}, []
        for change in log["changes"]:
            self._apply(Change(**change))
        self.numbers, self._next = dict(log["numbers"]), log["next"]
        self._prune()

    def _apply(self, change: Change) -> None:
        self._verbs[change.verb](change)
        self._changes.append(change)

    def _prune(self) -> None:
        self._changes = prune_changes(self._changes, self.numbers.values())
        for number in self._graphs.keys() - set(self.numbers.values()):
            del self._graphs[number], self._losses[number]

    def _check_limit(self) -> None:
        if len(self._changes) >= MOST_CHANGES:
            raise LimitError(
                f"the graphs have been changed {MOST_CHANGES} times; graph_clear or graph_free one of them"
            )

    # Changes by verb

    def _new_graph(self, change: Change) -> None:
        self._hold(change, Graph(**change.options, context=self._context), self.values.losses)

    def _hold(self, change: Change, graph: Graph, losses: Iterable[str]) -> None:
        assert change.graph is not None
        self._graphs[change.graph], self._losses[change.graph] = graph, list(losses)
        for name in self._losses[change.graph]:
            graph.set_loss(self.values.value(name))

    def _dup(self, change: Change) -> None:
        self._hold_alike(change, self._source(change).dup(**change.options), change.source)

    def _view(self, change: Change) -> None:
        self._hold_alike(change, self._source(change).view(**change.options), change.source)

    def _hold_alike(self, change: Change, graph: Graph, source: int | None) -> None:
        assert change.graph is not None
        assert source is not None
        self._graphs[change.graph], self._losses[change.graph] = graph, list(self._losses[source])

    def _cpy(self, change: Change) -> None:
        graph = self._graph_to_refill(change)
        self._source(change).copy_to(graph)
        self._hold_alike(change, graph, change.source)

    def _clear(self, change: Change) -> None:
        graph = self._graph_to_refill(change)
        graph.clear()
        self._hold(change, graph, change.options["losses"])

    def _graph_to_refill(self, change: Change) -> Graph:
        """Return the graph to refill; in a replay the old one may have been pruned, and is created empty."""
        graph = self._graphs.get(change.options["before"])
        return Graph(**change.options["made"], context=self._context) if graph is None else graph

    def _set_param(self, change: Change) -> None:
        leaves = [self.values.value(name) for name in change.options["names"]]
        before = [leaf.requires_grad for leaf in leaves]
        try:
            for leaf in leaves:
                set_param(leaf)
        except BaseException:
            for leaf, was in zip(leaves, before, strict=True):
                leaf.requires_grad = was
            raise

    def _set_loss(self, change: Change) -> None:
        names = [name for name in change.options["names"] if name not in self._losses_of(change)]
        graph = self._of(change)
        with graph.unchanged_on_error():
            for name in names:
                graph.set_loss(self.values.value(name))
        self._losses_of(change).extend(names)

    def _set_name(self, change: Change) -> None:
        graph = self._of(change)
        graph.set_name(self._find_value(graph, change.options["tensor"]), change.options["name"])

    def _expand(self, change: Change) -> None:
        options = dict(change.options)
        self._of(change).expand(*(self.values.value(name) for name in options.pop("outputs")), **options)

    def _select(self, change: Change) -> None:
        branches = [self.values.value(name) for name in change.options["branches"]]
        self._of(change).select(branches, change.options["index"])

    def _backward(self, change: Change) -> None:
        """Differentiate; `given` names the values that get an accumulator of their own."""
        graph, given = self._of(change), change.options["given"]
        values = [self._find_value(graph, name) for name in given]
        leaves = {graph.name_of(value): _leaf_like(value) for value in values}
        graph.build_backward(leaves or None, accumulate=change.options["accumulate"])

    def _find_value(self, graph: Graph, name: str) -> Value:
        found = graph.find(name)
        return self.values.value(name) if found is None else found

    def _opt_step(self, change: Change) -> None:
        graph = self._of(change)
        append_step(graph, self._context, kind=change.options["kind"], names=change.options["parameters"])

    def _of(self, change: Change) -> Graph:
        assert change.graph is not None
        return self._graphs[change.graph]

    def _losses_of(self, change: Change) -> list[str]:
        assert change.graph is not None
        return self._losses[change.graph]

    def _source(self, change: Change) -> Graph:
        assert change.source is not None
        return self._graphs[change.source]


def _leaf_like(value: Value) -> Value:
    return Value(value.shape, value.dtype, None)
