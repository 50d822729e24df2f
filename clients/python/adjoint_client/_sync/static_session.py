# Made from _async/static_session.py by clients/generate.py: change that file.
"""A session of kind static: ggml's low-level flow over the values of a graph, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from adjoint_client import static_steps
from adjoint_client._sync.held_session import HeldSession, carries_out
from adjoint_client.http1 import Request
from adjoint_client.static_steps import MAIN, json_of, tensor_of

if TYPE_CHECKING:
    from numpy.typing import NDArray


class StaticSession(HeldSession):
    """Graphs that the caller expands, differentiates and computes, under the names of ggml's functions.

    A session begins with the graph "main", which is empty. As a context it is closed in the end, unless it was opened
    to be kept.
    """

    build_forward_expand = carries_out(static_steps.build_forward_expand)
    build_forward_select = carries_out(static_steps.build_forward_select)
    build_backward_expand = carries_out(static_steps.build_backward_expand)
    tensor_set = carries_out(static_steps.tensor_set)
    graph_compute = carries_out(static_steps.graph_compute)
    graph_reset = carries_out(static_steps.graph_reset)
    new_graph = carries_out(static_steps.new_graph)
    graph_dup = carries_out(static_steps.graph_dup)
    graph_view = carries_out(static_steps.graph_view)
    graph_cpy = carries_out(static_steps.graph_cpy)
    graph_clear = carries_out(static_steps.graph_clear)
    graph_free = carries_out(static_steps.graph_free)
    set_param = carries_out(static_steps.set_param)
    set_loss = carries_out(static_steps.set_loss)
    set_name = carries_out(static_steps.set_name)
    opt_step_adamw = carries_out(static_steps.opt_step_adamw)
    opt_step_sgd = carries_out(static_steps.opt_step_sgd)
    threadpool_new = carries_out(static_steps.threadpool_new)
    threadpool_free = carries_out(static_steps.threadpool_free)
    threadpool_pause = carries_out(static_steps.threadpool_pause)
    threadpool_resume = carries_out(static_steps.threadpool_resume)
    threadpool_params_match = carries_out(static_steps.threadpool_params_match)

    def tensor(self, name: str, graph: str = MAIN) -> NDArray[Any]:
        """Return the data of a leaf, or of what was computed."""
        found = self._look(f"/graph/tensors/{quote(name, safe='')}", graph=graph)
        return tensor_of(found)

    def gradient(self, name: str, graph: str = MAIN, *, accumulator: bool = False) -> NDArray[Any] | None:
        """Return the gradient of the losses by a value, or the sum of them; None where there is none."""
        asked = {"graph": graph, "accumulator": "true" if accumulator else "false"}
        found = (self._look(f"/graph/gradients/{quote(name, safe='')}", **asked))["gradient"]
        return None if found is None else tensor_of(found)

    def graph(self, graph: str = MAIN) -> dict[str, Any]:
        """Describe a graph: its size, how much it holds, its outputs and losses."""
        return self._look("/graph", graph=graph)

    def graph_nodes(self, graph: str = MAIN, *, leafs: bool = True) -> list[dict[str, Any]]:
        """Return the nodes of a graph in the order of execution, and its leafs."""
        found = self._look("/graph/nodes", graph=graph, leafs="true" if leafs else "false")
        nodes: list[dict[str, Any]] = found["data"]
        return nodes

    def _look(self, path: str, **query: str) -> dict[str, Any]:
        asked = "&".join(f"{name}={quote(value, safe='')}" for name, value in query.items())
        return json_of(self.read(Request("GET", f"{path}?{asked}", accept="application/json")))
