from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="GraphDescription")


@_attrs_define
class GraphDescription:
    """A graph."""

    grads: bool
    """ Whether the graph can be differentiated. """
    graph: str
    """ The graph, by id or name. """
    graphs: list[str]
    """ All graphs of the session. """
    implicit_loss: bool
    """ Whether the only scalar output was taken as the loss, since none was named. """
    losses: list[str]
    """ Losses by name, or the names of the losses. """
    n_leafs: int
    """ Number of leafs in the graph. """
    n_nodes: int
    """ Number of nodes in the graph. """
    nbytes: int
    """ Bytes of leaves and results together. """
    order: str
    """ Which input of a node is visited first. """
    outputs: list[str]
    """ Outputs by name, or the names of the outputs. """
    overhead: int
    """ Bytes that a context is charged for it. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    size: int
    """ Maximum number of nodes, and of leafs. """
    topology: str
    """ A digest of ops, attributes, shapes and connections; not of names or data. """
    view: bool
    """ Whether the graph is a view of another. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        grads = self.grads

        graph = self.graph

        graphs = self.graphs

        implicit_loss = self.implicit_loss

        losses = self.losses

        n_leafs = self.n_leafs

        n_nodes = self.n_nodes

        nbytes = self.nbytes

        order = self.order

        outputs = self.outputs

        overhead = self.overhead

        seq: int | None
        seq = self.seq

        size = self.size

        topology = self.topology

        view = self.view

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "grads": grads,
                "graph": graph,
                "graphs": graphs,
                "implicit_loss": implicit_loss,
                "losses": losses,
                "n_leafs": n_leafs,
                "n_nodes": n_nodes,
                "nbytes": nbytes,
                "order": order,
                "outputs": outputs,
                "overhead": overhead,
                "seq": seq,
                "size": size,
                "topology": topology,
                "view": view,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        grads = d.pop("grads")

        graph = d.pop("graph")

        graphs = cast(list[str], d.pop("graphs"))

        implicit_loss = d.pop("implicit_loss")

        losses = cast(list[str], d.pop("losses"))

        n_leafs = d.pop("n_leafs")

        n_nodes = d.pop("n_nodes")

        nbytes = d.pop("nbytes")

        order = d.pop("order")

        outputs = cast(list[str], d.pop("outputs"))

        overhead = d.pop("overhead")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        size = d.pop("size")

        topology = d.pop("topology")

        view = d.pop("view")

        graph_description = cls(
            grads=grads,
            graph=graph,
            graphs=graphs,
            implicit_loss=implicit_loss,
            losses=losses,
            n_leafs=n_leafs,
            n_nodes=n_nodes,
            nbytes=nbytes,
            order=order,
            outputs=outputs,
            overhead=overhead,
            seq=seq,
            size=size,
            topology=topology,
            view=view,
        )

        graph_description.additional_properties = d
        return graph_description

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
