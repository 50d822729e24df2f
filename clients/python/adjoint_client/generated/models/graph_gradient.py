from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.tensor import Tensor


T = TypeVar("T", bound="GraphGradient")


@_attrs_define
class GraphGradient:
    """A gradient."""

    accumulator: bool
    """ Whether this is the accumulator of the gradient. """
    gradient: None | Tensor
    """ null: no gradient flows there, or none is added up. """
    name: str
    """ Name. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.tensor import Tensor  # noqa: PLC0415

        accumulator = self.accumulator

        gradient: dict[str, Any] | None
        if isinstance(self.gradient, Tensor):
            gradient = self.gradient.to_dict()
        else:
            gradient = self.gradient

        name = self.name

        seq: int | None
        seq = self.seq

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "accumulator": accumulator,
                "gradient": gradient,
                "name": name,
                "seq": seq,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.tensor import Tensor  # noqa: PLC0415

        d = dict(src_dict)
        accumulator = d.pop("accumulator")

        def _parse_gradient(data: object) -> None | Tensor:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                gradient_type_0 = Tensor.from_dict(data)

                return gradient_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Tensor, data)

        gradient = _parse_gradient(d.pop("gradient"))

        name = d.pop("name")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        graph_gradient = cls(
            accumulator=accumulator,
            gradient=gradient,
            name=name,
            seq=seq,
        )

        graph_gradient.additional_properties = d
        return graph_gradient

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
