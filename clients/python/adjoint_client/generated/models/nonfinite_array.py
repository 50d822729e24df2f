from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.nonfinite_array_kind import NonfiniteArrayKind, check_nonfinite_array_kind
from ..models.nonfinite_array_phase_type_0 import NonfiniteArrayPhaseType0, check_nonfinite_array_phase_type_0

if TYPE_CHECKING:
    from ..models.node_input import NodeInput


T = TypeVar("T", bound="NonfiniteArray")


@_attrs_define
class NonfiniteArray:
    """A leaf or node that holds NaN or infinity."""

    dtype: str
    """ Element type, such as float32. """
    index: list[int]
    """ Where the first of these elements is, in row-major order. """
    inf: int
    """ Elements that are infinite. """
    inputs: list[NodeInput]
    """ What a node was given. """
    kind: NonfiniteArrayKind
    """ Kind, one of the names in the catalogue. """
    name: str
    """ As in the list of the graph's nodes. """
    nan: int
    """ Elements that are NaN. """
    op: None | str
    """ Of a node. """
    phase: None | NonfiniteArrayPhaseType0
    """ Of a node. """
    shape: list[int]
    """ Extents of the axes. """
    value: str
    """ This element: nan, inf or -inf. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        dtype = self.dtype

        index = self.index

        inf = self.inf

        inputs = []
        for inputs_item_data in self.inputs:
            inputs_item = inputs_item_data.to_dict()
            inputs.append(inputs_item)

        kind: str = self.kind

        name = self.name

        nan = self.nan

        op: None | str
        op = self.op

        phase: None | str
        if isinstance(self.phase, str):
            phase = self.phase
        else:
            phase = self.phase

        shape = self.shape

        value = self.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "dtype": dtype,
                "index": index,
                "inf": inf,
                "inputs": inputs,
                "kind": kind,
                "name": name,
                "nan": nan,
                "op": op,
                "phase": phase,
                "shape": shape,
                "value": value,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.node_input import NodeInput  # noqa: PLC0415

        d = dict(src_dict)
        dtype = d.pop("dtype")

        index = cast(list[int], d.pop("index"))

        inf = d.pop("inf")

        inputs = []
        _inputs = d.pop("inputs")
        for inputs_item_data in _inputs:
            inputs_item = NodeInput.from_dict(inputs_item_data)

            inputs.append(inputs_item)

        kind = check_nonfinite_array_kind(d.pop("kind"))

        name = d.pop("name")

        nan = d.pop("nan")

        def _parse_op(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        op = _parse_op(d.pop("op"))

        def _parse_phase(data: object) -> None | NonfiniteArrayPhaseType0:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                phase_type_0 = check_nonfinite_array_phase_type_0(data)

                return phase_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | NonfiniteArrayPhaseType0, data)

        phase = _parse_phase(d.pop("phase"))

        shape = cast(list[int], d.pop("shape"))

        value = d.pop("value")

        nonfinite_array = cls(
            dtype=dtype,
            index=index,
            inf=inf,
            inputs=inputs,
            kind=kind,
            name=name,
            nan=nan,
            op=op,
            phase=phase,
            shape=shape,
            value=value,
        )

        nonfinite_array.additional_properties = d
        return nonfinite_array

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
