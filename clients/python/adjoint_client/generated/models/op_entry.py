from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.op_entry_outputs import OpEntryOutputs, check_op_entry_outputs
from ..models.op_entry_second_order_type_0 import OpEntrySecondOrderType0, check_op_entry_second_order_type_0

if TYPE_CHECKING:
    from ..models.catalogue_attribute import CatalogueAttribute
    from ..models.op_entry_gradient_notes import OpEntryGradientNotes
    from ..models.op_input import OpInput


T = TypeVar("T", bound="OpEntry")


@_attrs_define
class OpEntry:
    """An op: what it takes, and what it is good for; or one of another engine that is not supported, and why."""

    aliases: list[str]
    """ Other names that are accepted. """
    attrs: list[CatalogueAttribute]
    """ Attributes: name, type and default of each. """
    data_dependent: bool
    """ Whether a shape depends on data, so that no graph can hold the op. """
    differentiable: bool
    """ Whether the op has a gradient. """
    doc: str
    """ Documentation. """
    family: str
    """ Family of ops that it belongs to. """
    gradient_notes: OpEntryGradientNotes
    """ By attribute, why it makes the gradient something else than the slope. """
    inputs: list[OpInput]
    """ Inputs by name or in order. """
    instead: None | str
    """ What does the work of one that is not supported. """
    name: str
    """ Name. """
    no_gradient: None | str
    """ Why a floating result carries no gradient. """
    output_count: int | None
    """ null where it depends on the call. """
    output_names: list[str]
    """ Empty where the outputs have no names of their own. """
    outputs: OpEntryOutputs
    """ Outputs by name, or the names of the outputs. """
    reason: None | str
    """ Why it is not supported. """
    second_order: None | OpEntrySecondOrderType0
    """ How a gradient of the gradient is formed: by the op's rule, or through other ops. """
    supported: bool
    """ Whether the server can execute it. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        aliases = self.aliases

        attrs = []
        for attrs_item_data in self.attrs:
            attrs_item = attrs_item_data.to_dict()
            attrs.append(attrs_item)

        data_dependent = self.data_dependent

        differentiable = self.differentiable

        doc = self.doc

        family = self.family

        gradient_notes = self.gradient_notes.to_dict()

        inputs = []
        for inputs_item_data in self.inputs:
            inputs_item = inputs_item_data.to_dict()
            inputs.append(inputs_item)

        instead: None | str
        instead = self.instead

        name = self.name

        no_gradient: None | str
        no_gradient = self.no_gradient

        output_count: int | None
        output_count = self.output_count

        output_names = self.output_names

        outputs: str = self.outputs

        reason: None | str
        reason = self.reason

        second_order: None | str
        if isinstance(self.second_order, str):
            second_order = self.second_order
        else:
            second_order = self.second_order

        supported = self.supported

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "aliases": aliases,
                "attrs": attrs,
                "data_dependent": data_dependent,
                "differentiable": differentiable,
                "doc": doc,
                "family": family,
                "gradient_notes": gradient_notes,
                "inputs": inputs,
                "instead": instead,
                "name": name,
                "no_gradient": no_gradient,
                "output_count": output_count,
                "output_names": output_names,
                "outputs": outputs,
                "reason": reason,
                "second_order": second_order,
                "supported": supported,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.catalogue_attribute import CatalogueAttribute  # noqa: PLC0415
        from ..models.op_entry_gradient_notes import OpEntryGradientNotes  # noqa: PLC0415
        from ..models.op_input import OpInput  # noqa: PLC0415

        d = dict(src_dict)
        aliases = cast(list[str], d.pop("aliases"))

        attrs = []
        _attrs = d.pop("attrs")
        for attrs_item_data in _attrs:
            attrs_item = CatalogueAttribute.from_dict(attrs_item_data)

            attrs.append(attrs_item)

        data_dependent = d.pop("data_dependent")

        differentiable = d.pop("differentiable")

        doc = d.pop("doc")

        family = d.pop("family")

        gradient_notes = OpEntryGradientNotes.from_dict(d.pop("gradient_notes"))

        inputs = []
        _inputs = d.pop("inputs")
        for inputs_item_data in _inputs:
            inputs_item = OpInput.from_dict(inputs_item_data)

            inputs.append(inputs_item)

        def _parse_instead(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        instead = _parse_instead(d.pop("instead"))

        name = d.pop("name")

        def _parse_no_gradient(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        no_gradient = _parse_no_gradient(d.pop("no_gradient"))

        def _parse_output_count(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        output_count = _parse_output_count(d.pop("output_count"))

        output_names = cast(list[str], d.pop("output_names"))

        outputs = check_op_entry_outputs(d.pop("outputs"))

        def _parse_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        reason = _parse_reason(d.pop("reason"))

        def _parse_second_order(data: object) -> None | OpEntrySecondOrderType0:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                second_order_type_0 = check_op_entry_second_order_type_0(data)

                return second_order_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | OpEntrySecondOrderType0, data)

        second_order = _parse_second_order(d.pop("second_order"))

        supported = d.pop("supported")

        op_entry = cls(
            aliases=aliases,
            attrs=attrs,
            data_dependent=data_dependent,
            differentiable=differentiable,
            doc=doc,
            family=family,
            gradient_notes=gradient_notes,
            inputs=inputs,
            instead=instead,
            name=name,
            no_gradient=no_gradient,
            output_count=output_count,
            output_names=output_names,
            outputs=outputs,
            reason=reason,
            second_order=second_order,
            supported=supported,
        )

        op_entry.additional_properties = d
        return op_entry

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
