"""Verbs of a static session that make, build and mark graphs."""

from collections.abc import Mapping
from typing import Any, Literal

import engine
from app.service.resources.engine_faults import engine_faults
from app.worker.session.bench import Array, Call, Verb
from app.worker.session.static_options import graph_of, known, step, tensor_at, tensors_at


class Building:
    """Graphs in the making."""

    def __init__(self, session: engine.StaticSession) -> None:
        """Build in `session`."""
        self._session = session
        self.verbs: Mapping[str, Verb] = {
            "new_graph": step(self._new_graph),
            "graph_dup": step(self._dup),
            "graph_view": step(self._view),
            "graph_cpy": step(self._cpy),
            "graph_clear": step(self._clear),
            "graph_free": step(self._free),
            "set_param": step(self._set_param),
            "set_loss": step(self._set_loss),
            "set_name": step(self._set_name),
            "build_forward_expand": step(self._expand),
            "build_forward_select": step(self._select),
            "build_backward_expand": step(self._backward),
            "opt_step_adamw": step(self._adamw),
            "opt_step_sgd": step(self._sgd),
        }

    def _new_graph(self, call: Call) -> dict[str, Any]:
        name = str(call.options["name"])
        self._session.new_graph(name, **_chosen(call, "size", "grads", "order"))
        return self._told(name)

    def _dup(self, call: Call) -> dict[str, Any]:
        name = str(call.options["name"])
        self._session.graph_dup(name, graph_of(self._session, call), **_chosen(call, "force_grads"))
        return self._told(name)

    def _view(self, call: Call) -> dict[str, Any]:
        name, options = str(call.options["name"]), call.options
        self._session.graph_view(name, graph_of(self._session, call), start=options["start"], stop=options["stop"])
        return self._told(name)

    def _cpy(self, call: Call) -> dict[str, Any]:
        name = str(call.options["name"])
        self._session.graph_cpy(name, graph_of(self._session, call))
        return self._told(name)

    def _clear(self, call: Call) -> dict[str, Any]:
        self._session.graph_clear(graph_of(self._session, call))
        return self._told(graph_of(self._session, call))

    def _free(self, call: Call) -> dict[str, Any]:
        self._session.graph_free(graph_of(self._session, call))
        return {}

    def _set_param(self, call: Call) -> dict[str, Any]:
        names = known(self._session, call, "names")
        with engine_faults("/names"):
            self._session.set_param(names)
        return {}

    def _set_loss(self, call: Call) -> dict[str, Any]:
        names = known(self._session, call, "names")
        with engine_faults("/names"):
            self._session.set_loss(names, graph_of(self._session, call))
        return {}

    def _set_name(self, call: Call) -> dict[str, Any]:
        self._session.set_name(call.options["tensor"], call.options["name"], graph_of(self._session, call))
        return {}

    def _expand(self, call: Call) -> dict[str, Any]:
        outputs = known(self._session, call, "outputs")
        self._session.build_forward_expand(outputs, graph_of(self._session, call), **_chosen(call, "order", "compute"))
        return self._told(graph_of(self._session, call))

    def _select(self, call: Call) -> dict[str, Any]:
        branches = known(self._session, call, "branches")
        self._session.build_forward_select(branches, call.options["index"], graph_of(self._session, call))
        return self._told(graph_of(self._session, call))

    def _backward(self, call: Call) -> dict[str, Any]:
        given = self._accumulators(call)
        self._session.build_backward_expand(given, graph_of(self._session, call), **_chosen(call, "accumulate"))
        graph = self._session.graph(graph_of(self._session, call))
        return {
            **self._told(graph_of(self._session, call)),
            "losses": [graph.name_of(loss) for loss in graph.losses],
            "implicit_loss": graph.implicit_loss,
        }

    def _accumulators(self, call: Call) -> dict[str, Array | None] | list[Array | None] | None:
        """Read what gradients are added to: by name, or one for each node or output; null where there is none."""
        given, graph = call.options.get("accumulators"), graph_of(self._session, call)
        if given is None:
            return None
        if isinstance(given, Mapping):
            present = {name: each for name, each in given.items() if each is not None}
            read = tensors_at(self._session, graph, present, "/accumulators")
            return {name: read.get(name) for name in given}
        with engine_faults("/accumulators"):
            values = self._session.accumulated(len(given), graph)
        pairs = enumerate(zip(given, values, strict=True))
        return [None if each is None else tensor_at(each, f"/accumulators/{n}", of.dtype) for n, (each, of) in pairs]

    def _adamw(self, call: Call) -> dict[str, Any]:
        return self._opt_step(call, "adamw")

    def _sgd(self, call: Call) -> dict[str, Any]:
        return self._opt_step(call, "sgd")

    def _opt_step(self, call: Call, kind: Literal["adamw", "sgd"]) -> dict[str, Any]:
        pars = [float(number) for number in call.options["pars"]]
        self._session.opt_step(kind, pars, call.options.get("parameters"), graph_of(self._session, call))
        return self._told(graph_of(self._session, call))

    def _told(self, name: str) -> dict[str, Any]:
        """Tell how much the graph holds now."""
        graph = self._session.graph(name)
        return {"graph": name, "n_nodes": graph.n_nodes, "n_leafs": graph.n_leafs}


def _chosen(call: Call, *names: str) -> dict[str, Any]:
    return {name: call.options[name] for name in names if call.options.get(name) is not None}
