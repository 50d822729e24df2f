"""Handlers of a static session that create, build and inspect graphs, and how their options are read."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np

import engine
from app.domain.documents import escape
from app.domain.errors import Conflict, Finding, Invalid, NotFound
from app.service.resources.engine_documents import engine_faults, invalid
from app.worker.session.backend import Call, Durability, Handler, Result
from app.worker.session.rows import Array

MAIN = "main"

STATE_CONFLICTS = (engine.GraphError, engine.LimitError, engine.PoolPaused, engine.PoolBusy, engine.PoolMissing)
"""What a client can clear out of the way by another step: the request may be fine, the session is not ready for it."""

CODES = {engine.Status.FAILED: "compute_failed", engine.Status.ALLOC_FAILED: "alloc_failed"}


Run = Callable[[Call], dict[str, Any] | Array | str]


def mutating(run: Run, lasts: Durability = "log") -> Handler:
    """Wrap a function that changes the session as a verb."""
    return Handler(_translating(run), lasts)


def reading(run: Run) -> Handler:
    """Wrap a read-only function as a verb; an unknown name is NotFound."""

    def look(call: Call) -> dict[str, Any] | Array | str:
        try:
            return run(call)
        except engine.UnknownName as error:
            raise NotFound(str(error), code=error.code) from error

    return Handler(_translating(look))


def _translating(run: Run) -> Callable[[Call], Result]:
    def carried_out(call: Call) -> Result:
        with _translate_errors():
            return Result(run(call))

    return carried_out


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Convert errors of the state to Conflict, and an aborted computation to ggml's status."""
    try:
        yield
    except engine.ComputeError as error:
        status = engine.Status(error.status)
        extensions = {"compute_status": status.name, "compute_status_code": int(status)}
        raise Invalid(f"{error}; nothing was changed", code=CODES[status], extensions=extensions) from error
    except STATE_CONFLICTS as error:
        raise Conflict(str(error), code=error.code) from error


def graph_name(session: engine.StaticSession, call: Call) -> str:
    """Return the name of the graph that is meant; Invalid if there is none of that name."""
    name = str(call.options.get("graph", MAIN))
    with engine_faults("/graph"):
        session.graph(name)
    return name


def checked_names(session: engine.StaticSession, call: Call, field: str) -> list[str]:
    """Return the names in a field; Invalid with the places of those that nothing has."""
    names: Sequence[str] = call.options.get(field) or ()
    graph, faults = graph_name(session, call), []
    for place, name in enumerate(names):
        try:
            session.value(name, graph)
        except engine.UnknownName as error:
            faults.append(Finding(f"/{field}/{place}", error.code, str(error)))
    if faults:
        raise invalid(faults)
    return list(names)


def read_leaves(session: engine.StaticSession, call: Call, field: str) -> dict[str, Array]:
    """Return the tensors of a field, or of the body in its place, that leaves can take; Invalid with their places."""
    graph = graph_name(session, call)
    reading = read_tensors(session, graph, _given(call, field), f"/{field}")
    found = {**reading, **{_leaf_name(session, name): array for name, array in call.arrays.items()}}
    for name, array in found.items():
        with engine_faults(f"/{field}/{escape(name)}"), _translate_errors():
            session.check_set(name, array, graph)
    return found


def _given(call: Call, field: str) -> Mapping[str, Any]:
    given: Mapping[str, Any] = call.options.get(field) or {}
    return given


def read_tensors(session: engine.StaticSession, graph: str, given: Mapping[str, Any], pointer: str) -> dict[str, Array]:
    """Read tensors of a request by the names of values, each as one of its value's dtype; `given` stands at `pointer`.

    Unknown names are reported by the session.
    """
    found = {}
    for name, document in given.items():
        value = session.find(name, graph)
        found[name] = read_tensor(document, f"{pointer}/{escape(name)}", None if value is None else value.dtype)
    return found


def read_tensor(document: Any, pointer: str, dtype: np.dtype[Any] | None) -> Array:
    """Read a tensor of a request; `dtype` is that of what the numbers are for, where C's casts cut fractions."""
    with engine_faults():
        return engine.read_tensor_document(document, pointer, dtype, truncate=True)


def _leaf_name(session: engine.StaticSession, name: str) -> str:
    """Return whose array it is: one without a name is that of the only input."""
    inputs = list(session.definition.inputs)
    if name or len(inputs) == 1:
        return name or inputs[0]
    raise Invalid(f"an .npy body is for a graph with one input; this one has {len(inputs)}: send them by name")


class GraphBuilding:
    """Graphs in the making."""

    def __init__(self, session: engine.StaticSession) -> None:
        self._session = session
        self.handlers: Mapping[str, Handler] = {
            "new_graph": mutating(self._new_graph),
            "graph_dup": mutating(self._dup),
            "graph_view": mutating(self._view),
            "graph_cpy": mutating(self._cpy),
            "graph_clear": mutating(self._clear),
            "graph_free": mutating(self._free),
            "set_param": mutating(self._set_param),
            "set_loss": mutating(self._set_loss),
            "set_name": mutating(self._set_name),
            "build_forward_expand": mutating(self._expand),
            "build_forward_select": mutating(self._select),
            "build_backward_expand": mutating(self._backward),
            "opt_step_adamw": mutating(self._adamw),
            "opt_step_sgd": mutating(self._sgd),
        }

    def _new_graph(self, call: Call) -> dict[str, Any]:
        name = str(call.options["name"])
        self._session.new_graph(name, **_given_options(call, "size", "grads", "order"))
        return self._describe_graph(name)

    def _dup(self, call: Call) -> dict[str, Any]:
        name = str(call.options["name"])
        self._session.graph_dup(name, graph_name(self._session, call), **_given_options(call, "force_grads"))
        return self._describe_graph(name)

    def _view(self, call: Call) -> dict[str, Any]:
        name, options = str(call.options["name"]), call.options
        self._session.graph_view(name, graph_name(self._session, call), start=options["start"], stop=options["stop"])
        return self._describe_graph(name)

    def _cpy(self, call: Call) -> dict[str, Any]:
        name = str(call.options["name"])
        self._session.graph_cpy(name, graph_name(self._session, call))
        return self._describe_graph(name)

    def _clear(self, call: Call) -> dict[str, Any]:
        self._session.graph_clear(graph_name(self._session, call))
        return self._describe_graph(graph_name(self._session, call))

    def _free(self, call: Call) -> dict[str, Any]:
        self._session.graph_free(graph_name(self._session, call))
        return {}

    def _set_param(self, call: Call) -> dict[str, Any]:
        names = checked_names(self._session, call, "names")
        with engine_faults("/names"):
            self._session.set_param(names)
        return {}

    def _set_loss(self, call: Call) -> dict[str, Any]:
        names = checked_names(self._session, call, "names")
        with engine_faults("/names"):
            self._session.set_loss(names, graph_name(self._session, call))
        return {}

    def _set_name(self, call: Call) -> dict[str, Any]:
        self._session.set_name(call.options["tensor"], call.options["name"], graph_name(self._session, call))
        return {}

    def _expand(self, call: Call) -> dict[str, Any]:
        outputs = checked_names(self._session, call, "outputs")
        self._session.build_forward_expand(
            outputs, graph_name(self._session, call), **_given_options(call, "order", "compute")
        )
        return self._describe_graph(graph_name(self._session, call))

    def _select(self, call: Call) -> dict[str, Any]:
        branches = checked_names(self._session, call, "branches")
        self._session.build_forward_select(branches, call.options["index"], graph_name(self._session, call))
        return self._describe_graph(graph_name(self._session, call))

    def _backward(self, call: Call) -> dict[str, Any]:
        given = self._accumulators(call)
        self._session.build_backward_expand(
            given, graph_name(self._session, call), **_given_options(call, "accumulate")
        )
        graph = self._session.graph(graph_name(self._session, call))
        return {
            **self._describe_graph(graph_name(self._session, call)),
            "losses": [graph.name_of(loss) for loss in graph.losses],
            "implicit_loss": graph.implicit_loss,
        }

    def _accumulators(self, call: Call) -> dict[str, Array | None] | list[Array | None] | None:
        """Read gradient accumulators: by name, or one for each node or output; null for none."""
        given, graph = call.options.get("accumulators"), graph_name(self._session, call)
        if given is None:
            return None
        if isinstance(given, Mapping):
            present = {name: each for name, each in given.items() if each is not None}
            reading = read_tensors(self._session, graph, present, "/accumulators")
            return {name: reading.get(name) for name in given}
        with engine_faults("/accumulators"):
            values = self._session.accumulated(len(given), graph)
        pairs = enumerate(zip(given, values, strict=True))
        return [None if each is None else read_tensor(each, f"/accumulators/{n}", of.dtype) for n, (each, of) in pairs]

    def _adamw(self, call: Call) -> dict[str, Any]:
        return self._opt_step(call, "adamw")

    def _sgd(self, call: Call) -> dict[str, Any]:
        return self._opt_step(call, "sgd")

    def _opt_step(self, call: Call, kind: Literal["adamw", "sgd"]) -> dict[str, Any]:
        pars = [float(number) for number in call.options["pars"]]
        self._session.opt_step(kind, pars, call.options.get("parameters"), graph_name(self._session, call))
        return self._describe_graph(graph_name(self._session, call))

    def _describe_graph(self, name: str) -> dict[str, Any]:
        """Return the numbers of nodes and leafs of the graph."""
        graph = self._session.graph(name)
        return {"graph": name, "n_nodes": graph.n_nodes, "n_leafs": graph.n_leafs}


def _given_options(call: Call, *names: str) -> dict[str, Any]:
    return {name: call.options[name] for name in names if call.options.get(name) is not None}


class GraphInspection:
    """What can be seen of graphs."""

    def __init__(self, session: engine.StaticSession) -> None:
        self._session = session
        self.handlers: Mapping[str, Handler] = {
            "graph": reading(self._graph),
            "graph_nodes": reading(self._nodes),
            "graph_node": reading(self._node),
            "graph_tensor": reading(self._tensor),
            "graph_gradient": reading(self._gradient),
            "graph_print": reading(self._print),
            "graph_dump_dot": reading(self._dot),
            "graph_plan": reading(self._plan),
            "graph_overhead": reading(self._overhead),
            "threadpool": reading(self._pool),
        }

    def _graph(self, call: Call) -> dict[str, Any]:
        name = graph_name(self._session, call)
        fields = engine.describe_graph(self._session.graph(name))
        return {"graph": name, **fields, "graphs": list(self._session.graphs)}

    def _nodes(self, call: Call) -> dict[str, Any]:
        graph, options = self._session.graph(graph_name(self._session, call)), call.options
        if "index" in options:
            found = [graph.node(options["index"])]
        elif "name" in options:
            value = graph.find(options["name"])
            found = [] if value is None else [value]
        else:
            found = [*graph.nodes, *(graph.leafs if options.get("leafs", True) else ())]
        return {
            "object": "list",
            "data": [engine.describe_tensor(graph, value) for value in found if value in graph],
            "n_nodes": graph.n_nodes,
            "n_leafs": graph.n_leafs,
        }

    def _node(self, call: Call) -> dict[str, Any]:
        graph, node = self._session.graph(graph_name(self._session, call)), str(call.options["node"])
        value = graph.node(int(node)) if node.removeprefix("-").isdecimal() else graph.find(node)
        if value is None or value not in graph:
            raise NotFound(f"no node or leaf of the graph is called {node[:64]!r}", code="unknown_name")
        return engine.describe_tensor(graph, value)

    def _tensor(self, call: Call) -> dict[str, Any] | Array:
        graph, name = graph_name(self._session, call), str(call.options["name"])
        index = call.options.get("index")
        if index is None:
            return self._session.tensor(name, graph)
        with engine_faults("/index"):
            engine.check_index(self._session.value(name, graph), index)
        return {"name": name, "index": index, "value": self._session.element(name, index, graph)}

    def _gradient(self, call: Call) -> dict[str, Any]:
        graph, name = graph_name(self._session, call), str(call.options["name"])
        accumulator = bool(call.options.get("accumulator"))
        gradient = self._session.gradient(name, graph, accumulator=accumulator)
        return {"name": name, "accumulator": accumulator, "gradient": gradient}

    def _print(self, call: Call) -> str:
        return self._session.graph(graph_name(self._session, call)).to_text()

    def _dot(self, call: Call) -> str:
        graph, options = self._session.graph(graph_name(self._session, call)), call.options
        if "cgraph" in options:
            with engine_faults("/cgraph"):
                return graph.to_dot(self._session.graph(options["cgraph"]))
        return (graph.forward() if options.get("of") == "forward" else graph).to_dot()

    def _plan(self, call: Call) -> dict[str, Any]:
        graph = graph_name(self._session, call)
        plan = self._session.plan(graph, call.options.get("n_threads", 0))
        return {
            "work_size": plan.work_size,
            "n_threads": plan.n_threads,
            "threadpool": plan.threadpool is not None,
            "abort_callback": plan.abort_callback is not None,
            "use_ref": plan.use_ref,
            "nbytes": self._session.graph(graph).nbytes,
            "warnings": list(plan.warnings),
        }

    def _overhead(self, call: Call) -> dict[str, Any]:
        graph, context = self._session.graph(graph_name(self._session, call)), self._session.context
        size, grads = call.options.get("size", graph.size), call.options.get("grads", graph.has_grads)
        return {
            "size": size,
            "grads": grads,
            "graph_overhead": engine.graph_overhead(size, grads=grads),
            "tensor_overhead": engine.ggml.ggml_tensor_overhead(),
            "used_mem": context.used_mem,
            "mem_size": context.mem_size,
            "no_alloc": context.no_alloc,
        }

    def _pool(self, _: Call) -> dict[str, Any]:
        pool = self._session.threadpool.describe()
        if pool is None:
            raise Conflict("there is no thread pool; make one with :threadpool_new", code="pool_missing")
        return pool
