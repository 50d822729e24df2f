from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.derivative_kind import DerivativeKind, check_derivative_kind

if TYPE_CHECKING:
    from ..models.derivative_tensors import DerivativeTensors


T = TypeVar("T", bound="Derivative")


@_attrs_define
class Derivative:
    """One derivative: tensors by parameter or input, those of a jvp by value, a derivative under all names of by."""

    by: list[str]
    """ Names of the parameters or inputs to differentiate with respect to. """
    kind: DerivativeKind
    """ Kind, one of the names in the catalogue. """
    of: list[str]
    """ What is differentiated, or the original of a replay. """
    tensors: DerivativeTensors
    """ Vectors by the name of the parameter or input. """
    want: int
    """ Position in want. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        by = self.by

        kind: str = self.kind

        of = self.of

        tensors = self.tensors.to_dict()

        want = self.want

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "by": by,
                "kind": kind,
                "of": of,
                "tensors": tensors,
                "want": want,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.derivative_tensors import DerivativeTensors  # noqa: PLC0415

        d = dict(src_dict)
        by = cast(list[str], d.pop("by"))

        kind = check_derivative_kind(d.pop("kind"))

        of = cast(list[str], d.pop("of"))

        tensors = DerivativeTensors.from_dict(d.pop("tensors"))

        want = d.pop("want")

        derivative = cls(
            by=by,
            kind=kind,
            of=of,
            tensors=tensors,
            want=want,
        )

        derivative.additional_properties = d
        return derivative

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
