"""Verbs of a static session that only look: nodes, data, gradients, drawings, plans, bytes."""

from collections.abc import Mapping
from typing import Any

import engine
from app.domain.errors import Conflict, NotFound
from app.service.resources.engine_faults import engine_faults
from app.worker.session.bench import Array, Call, Verb
from app.worker.session.static_options import graph_of, read


class Reading:
    """What can be seen of graphs."""

    def __init__(self, session: engine.StaticSession) -> None:
        """Look at `session`."""
        self._session = session
        self.verbs: Mapping[str, Verb] = {
            "graph": read(self._graph),
            "graph_nodes": read(self._nodes),
            "graph_node": read(self._node),
            "graph_tensor": read(self._tensor),
            "graph_gradient": read(self._gradient),
            "graph_print": read(self._print),
            "graph_dump_dot": read(self._dot),
            "graph_plan": read(self._plan),
            "graph_overhead": read(self._overhead),
            "threadpool": read(self._pool),
        }

    def _graph(self, call: Call) -> dict[str, Any]:
        name = graph_of(self._session, call)
        told = engine.describe_graph(self._session.graph(name))
        return {"graph": name, **told, "graphs": list(self._session.graphs)}

    def _nodes(self, call: Call) -> dict[str, Any]:
        graph, options = self._session.graph(graph_of(self._session, call)), call.options
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
        graph, node = self._session.graph(graph_of(self._session, call)), str(call.options["node"])
        value = graph.node(int(node)) if node.removeprefix("-").isdecimal() else graph.find(node)
        if value is None or value not in graph:
            raise NotFound(f"no node or leaf of the graph is called {node[:64]!r}", code="unknown_name")
        return engine.describe_tensor(graph, value)

    def _tensor(self, call: Call) -> dict[str, Any] | Array:
        graph, name = graph_of(self._session, call), str(call.options["name"])
        index = call.options.get("index")
        if index is None:
            return self._session.tensor(name, graph)
        with engine_faults("/index"):
            engine.check_index(self._session.value(name, graph), index)
        return {"name": name, "index": index, "value": self._session.element(name, index, graph)}

    def _gradient(self, call: Call) -> dict[str, Any]:
        graph, name = graph_of(self._session, call), str(call.options["name"])
        accumulator = bool(call.options.get("accumulator"))
        gradient = self._session.gradient(name, graph, accumulator=accumulator)
        return {"name": name, "accumulator": accumulator, "gradient": gradient}

    def _print(self, call: Call) -> str:
        return self._session.graph(graph_of(self._session, call)).to_text()

    def _dot(self, call: Call) -> str:
        graph, options = self._session.graph(graph_of(self._session, call)), call.options
        if "cgraph" in options:
            with engine_faults("/cgraph"):
                return graph.to_dot(self._session.graph(options["cgraph"]))
        return (graph.forward() if options.get("of") == "forward" else graph).to_dot()

    def _plan(self, call: Call) -> dict[str, Any]:
        graph = graph_of(self._session, call)
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
        graph, context = self._session.graph(graph_of(self._session, call)), self._session.context
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
        pool = self._session.pooling.describe()
        if pool is None:
            raise Conflict("there is no thread pool; make one with :threadpool_new", code="pool_missing")
        return pool
