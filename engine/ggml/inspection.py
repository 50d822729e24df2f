"""Inspection: what can be seen of a static graph: its nodes, names, gradients and bytes."""

from __future__ import annotations

from engine.core.errors import UnknownName
from engine.core.value import Value
from engine.ggml.context import check_name
from engine.ggml.execution import Execution
from engine.ggml.gradients import BackwardNodes
from engine.ggml.storage import DataAccess
from engine.ggml.tensor_table import EvaluationOrder, TensorTable


class Inspection(DataAccess):
    """Read access to a graph, or to the part of a graph in a view."""

    _table: TensorTable
    _gradients: BackwardNodes | None
    _execution: Execution
    _window: range | None
    _ends: tuple[tuple[int, int, int], tuple[int, int, int]] | None
    size: int
    has_grads: bool
    order: EvaluationOrder

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.nodes)

    @property
    def n_leafs(self) -> int:
        """Number of leafs."""
        return len(self.leafs)

    @property
    def nodes(self) -> tuple[Value, ...]:
        """Op results and parameters in the order of execution."""
        nodes = self._table.nodes
        return tuple(nodes if self._window is None else nodes[self._window.start : self._window.stop])

    @property
    def leafs(self) -> tuple[Value, ...]:
        """All other leaves; empty for a view."""
        return () if self._window is not None else tuple(self._table.leafs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        """The values given to `expand`, in order, without gradients."""
        wanted = self._table.wanted
        return tuple(wanted if self._ends is None else (*wanted[: self._ends[0][2]], *wanted[self._ends[1][2] :]))

    @property
    def is_view(self) -> bool:
        """Whether it is a view of another graph."""
        return self._window is not None

    @property
    def losses(self) -> tuple[Value, ...]:
        """The losses; empty before `build_backward`."""
        return () if self._gradients is None else self._gradients.losses

    @property
    def implicit_loss(self) -> bool:
        """Whether the loss is the only scalar output, since none was marked."""
        return self._gradients is not None and self._gradients.implicit_loss

    @property
    def nbytes(self) -> int:
        """Bytes of leaves and results together, known before anything is computed."""
        planned = self._execution.static_plan()
        return planned.work_size + sum(planned.values[number].nbytes for number in planned.leaves)

    def __contains__(self, value: Value) -> bool:
        """Return whether a value is a node or a leaf of the graph."""
        return value in self._table

    def topology(self) -> str:
        """Return a digest of ops, attributes, shapes and connections; names and data play no part."""
        return self._table.topology()

    def node(self, index: int) -> Value:
        """Return a node by position, from the end when negative; UnknownName when there is none."""
        nodes = self.nodes
        if not -len(nodes) <= index < len(nodes):
            raise UnknownName(f"node {index} is not in a graph of {len(nodes)} nodes")
        return nodes[index]

    def position(self, value: Value) -> int:
        """Return the position among the nodes, or -1 - the position among the leafs; UnknownName if in neither."""
        self._check_member(value)
        place = self._table.place(value)
        return place - self._window.start if self._window is not None and place >= 0 else place

    def find(self, name: str) -> Value | None:
        """Return the first leaf, node or gradient called `name`, or None; unnamed ones are `leaf_0`, `node_3`."""
        found = self._table.find(name)
        return found if found is not None or self._gradients is None else self._gradients.names.get(name)

    def name_of(self, value: Value) -> str:
        """Return the name of a value of the graph."""
        self._check_member(value)
        return self._table.name_of(value)

    def set_name(self, value: Value, name: str) -> None:
        """Rename a value of the graph; a name has at most 63 bytes."""
        self._check_member(value)
        self._table.names[value.key] = check_name(name)

    def is_param(self, value: Value) -> bool:
        """Return whether a value is a parameter of the graph."""
        return value in self._table and value.node is None and self._table.place(value) >= 0

    def grad(self, value: Value) -> Value | None:
        """Return the gradient of the losses by a value of the graph; None when there is none (ggml_graph_get_grad)."""
        return None if self._gradients is None else self._gradients.found.get(value.key)

    def grad_acc(self, value: Value) -> Value | None:
        """Return the sum of gradients since `reset`; for a loss its seed; None where nothing accumulates."""
        return None if self._gradients is None else self._gradients.accumulators.get(value.key)

    def grad_leaf(self, value: Value) -> Value | None:
        """Return the leaf in whose memory the gradients of a value add up, or the seed of a loss is; None likewise."""
        total = self.grad_acc(value)
        if total is None or self._gradients is None:
            return None
        return next((leaf for found, leaf in self._gradients.sums if found.key == total.key), total)

    @property
    def sums(self) -> tuple[Value, ...]:
        """The leaves in whose memory gradients add up."""
        return () if self._gradients is None else tuple(leaf for _, leaf in self._gradients.sums)

    @property
    def leaves(self) -> tuple[Value, ...]:
        """Every leaf that is read or written when the graph is computed or reset."""
        seeds = [] if self._gradients is None else self._gradients.seeds
        parameters = [value for value in self._table.nodes if value.node is None]
        found = {leaf.key: leaf for leaf in (*self._table.leafs, *parameters, *self.sums, *seeds)}
        return tuple(found.values())

    def _check_member(self, value: Value) -> None:
        if value not in self._table:
            raise UnknownName(f"the value {value.name or value!r} is not in the graph; expand() it")
