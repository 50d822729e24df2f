from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.graph_definition_buffers_type_0 import GraphDefinitionBuffersType0
    from ..models.graph_definition_constants_type_0 import GraphDefinitionConstantsType0
    from ..models.graph_definition_inputs import GraphDefinitionInputs
    from ..models.graph_definition_layers_type_0_item import GraphDefinitionLayersType0Item
    from ..models.graph_definition_loss_type_0 import GraphDefinitionLossType0
    from ..models.graph_definition_nodes_type_0_item import GraphDefinitionNodesType0Item
    from ..models.graph_definition_parameters_type_0 import GraphDefinitionParametersType0


T = TypeVar("T", bound="GraphDefinition")


@_attrs_define
class GraphDefinition:
    """A graph in one of three forms: nodes, layers, or a program. The answer always holds the nodes."""

    inputs: GraphDefinitionInputs
    """ Name: a shape, or an object with shape and dtype. """
    buffers: GraphDefinitionBuffersType0 | None | Unset = UNSET
    """ State that is not trained, by name. """
    constants: GraphDefinitionConstantsType0 | None | Unset = UNSET
    """ Given tensors, by name. """
    layers: list[GraphDefinitionLayersType0Item] | None | Unset = UNSET
    """ Objects with layer and its options. """
    loss: GraphDefinitionLossType0 | None | Unset = UNSET
    """ The loss of layers: kind, target and options. """
    losses: list[str] | None | Unset = UNSET
    """ Losses by name, or the names of the losses. """
    name: None | str | Unset = UNSET
    """ Name. """
    nodes: list[GraphDefinitionNodesType0Item] | None | Unset = UNSET
    """ Objects with name, op, inputs and attrs. """
    outputs: list[str] | None | Unset = UNSET
    """ Outputs by name, or the names of the outputs. """
    parameters: GraphDefinitionParametersType0 | None | Unset = UNSET
    """ Name: a shape, or shape, dtype, init, frozen. """
    program: None | str | Unset = UNSET
    """ Lines such as `pred = x @ w + b`. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.graph_definition_buffers_type_0 import GraphDefinitionBuffersType0  # noqa: PLC0415
        from ..models.graph_definition_constants_type_0 import GraphDefinitionConstantsType0  # noqa: PLC0415
        from ..models.graph_definition_loss_type_0 import GraphDefinitionLossType0  # noqa: PLC0415
        from ..models.graph_definition_parameters_type_0 import GraphDefinitionParametersType0  # noqa: PLC0415

        inputs = self.inputs.to_dict()

        buffers: dict[str, Any] | None | Unset
        if isinstance(self.buffers, Unset):
            buffers = UNSET
        elif isinstance(self.buffers, GraphDefinitionBuffersType0):
            buffers = self.buffers.to_dict()
        else:
            buffers = self.buffers

        constants: dict[str, Any] | None | Unset
        if isinstance(self.constants, Unset):
            constants = UNSET
        elif isinstance(self.constants, GraphDefinitionConstantsType0):
            constants = self.constants.to_dict()
        else:
            constants = self.constants

        layers: list[dict[str, Any]] | None | Unset
        if isinstance(self.layers, Unset):
            layers = UNSET
        elif isinstance(self.layers, list):
            layers = []
            for layers_type_0_item_data in self.layers:
                layers_type_0_item = layers_type_0_item_data.to_dict()
                layers.append(layers_type_0_item)

        else:
            layers = self.layers

        loss: dict[str, Any] | None | Unset
        if isinstance(self.loss, Unset):
            loss = UNSET
        elif isinstance(self.loss, GraphDefinitionLossType0):
            loss = self.loss.to_dict()
        else:
            loss = self.loss

        losses: list[str] | None | Unset
        if isinstance(self.losses, Unset):
            losses = UNSET
        elif isinstance(self.losses, list):
            losses = self.losses

        else:
            losses = self.losses

        name: None | str | Unset
        if isinstance(self.name, Unset):
            name = UNSET
        else:
            name = self.name

        nodes: list[dict[str, Any]] | None | Unset
        if isinstance(self.nodes, Unset):
            nodes = UNSET
        elif isinstance(self.nodes, list):
            nodes = []
            for nodes_type_0_item_data in self.nodes:
                nodes_type_0_item = nodes_type_0_item_data.to_dict()
                nodes.append(nodes_type_0_item)

        else:
            nodes = self.nodes

        outputs: list[str] | None | Unset
        if isinstance(self.outputs, Unset):
            outputs = UNSET
        elif isinstance(self.outputs, list):
            outputs = self.outputs

        else:
            outputs = self.outputs

        parameters: dict[str, Any] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, GraphDefinitionParametersType0):
            parameters = self.parameters.to_dict()
        else:
            parameters = self.parameters

        program: None | str | Unset
        if isinstance(self.program, Unset):
            program = UNSET
        else:
            program = self.program

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "inputs": inputs,
            }
        )
        if buffers is not UNSET:
            field_dict["buffers"] = buffers
        if constants is not UNSET:
            field_dict["constants"] = constants
        if layers is not UNSET:
            field_dict["layers"] = layers
        if loss is not UNSET:
            field_dict["loss"] = loss
        if losses is not UNSET:
            field_dict["losses"] = losses
        if name is not UNSET:
            field_dict["name"] = name
        if nodes is not UNSET:
            field_dict["nodes"] = nodes
        if outputs is not UNSET:
            field_dict["outputs"] = outputs
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if program is not UNSET:
            field_dict["program"] = program

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_definition_buffers_type_0 import GraphDefinitionBuffersType0  # noqa: PLC0415
        from ..models.graph_definition_constants_type_0 import GraphDefinitionConstantsType0  # noqa: PLC0415
        from ..models.graph_definition_inputs import GraphDefinitionInputs  # noqa: PLC0415
        from ..models.graph_definition_layers_type_0_item import GraphDefinitionLayersType0Item  # noqa: PLC0415
        from ..models.graph_definition_loss_type_0 import GraphDefinitionLossType0  # noqa: PLC0415
        from ..models.graph_definition_nodes_type_0_item import GraphDefinitionNodesType0Item  # noqa: PLC0415
        from ..models.graph_definition_parameters_type_0 import GraphDefinitionParametersType0  # noqa: PLC0415

        d = dict(src_dict)
        inputs = GraphDefinitionInputs.from_dict(d.pop("inputs"))

        def _parse_buffers(data: object) -> GraphDefinitionBuffersType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                buffers_type_0 = GraphDefinitionBuffersType0.from_dict(data)

                return buffers_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphDefinitionBuffersType0 | None | Unset, data)

        buffers = _parse_buffers(d.pop("buffers", UNSET))

        def _parse_constants(data: object) -> GraphDefinitionConstantsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                constants_type_0 = GraphDefinitionConstantsType0.from_dict(data)

                return constants_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphDefinitionConstantsType0 | None | Unset, data)

        constants = _parse_constants(d.pop("constants", UNSET))

        def _parse_layers(data: object) -> list[GraphDefinitionLayersType0Item] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                layers_type_0 = []
                _layers_type_0 = data
                for layers_type_0_item_data in _layers_type_0:
                    layers_type_0_item = GraphDefinitionLayersType0Item.from_dict(layers_type_0_item_data)

                    layers_type_0.append(layers_type_0_item)

                return layers_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[GraphDefinitionLayersType0Item] | None | Unset, data)

        layers = _parse_layers(d.pop("layers", UNSET))

        def _parse_loss(data: object) -> GraphDefinitionLossType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                loss_type_0 = GraphDefinitionLossType0.from_dict(data)

                return loss_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphDefinitionLossType0 | None | Unset, data)

        loss = _parse_loss(d.pop("loss", UNSET))

        def _parse_losses(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                losses_type_0 = cast(list[str], data)

                return losses_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        losses = _parse_losses(d.pop("losses", UNSET))

        def _parse_name(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        name = _parse_name(d.pop("name", UNSET))

        def _parse_nodes(data: object) -> list[GraphDefinitionNodesType0Item] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                nodes_type_0 = []
                _nodes_type_0 = data
                for nodes_type_0_item_data in _nodes_type_0:
                    nodes_type_0_item = GraphDefinitionNodesType0Item.from_dict(nodes_type_0_item_data)

                    nodes_type_0.append(nodes_type_0_item)

                return nodes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[GraphDefinitionNodesType0Item] | None | Unset, data)

        nodes = _parse_nodes(d.pop("nodes", UNSET))

        def _parse_outputs(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                outputs_type_0 = cast(list[str], data)

                return outputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        outputs = _parse_outputs(d.pop("outputs", UNSET))

        def _parse_parameters(data: object) -> GraphDefinitionParametersType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                parameters_type_0 = GraphDefinitionParametersType0.from_dict(data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphDefinitionParametersType0 | None | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_program(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        program = _parse_program(d.pop("program", UNSET))

        graph_definition = cls(
            inputs=inputs,
            buffers=buffers,
            constants=constants,
            layers=layers,
            loss=loss,
            losses=losses,
            name=name,
            nodes=nodes,
            outputs=outputs,
            parameters=parameters,
            program=program,
        )

        return graph_definition
