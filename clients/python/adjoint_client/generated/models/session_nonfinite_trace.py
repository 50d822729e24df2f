from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.nonfinite_array import NonfiniteArray


T = TypeVar("T", bound="SessionNonfiniteTrace")


@_attrs_define
class SessionNonfiniteTrace:
    """Where the first number of a step that is not finite comes from."""

    finite: bool
    """ Whether all inputs, parameters, buffers and nodes are finite throughout. """
    first: None | NonfiniteArray
    """ The first of them that is not; an infinite mask counts too. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.nonfinite_array import NonfiniteArray  # noqa: PLC0415

        finite = self.finite

        first: dict[str, Any] | None
        if isinstance(self.first, NonfiniteArray):
            first = self.first.to_dict()
        else:
            first = self.first

        seq: int | None
        seq = self.seq

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "finite": finite,
                "first": first,
                "seq": seq,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.nonfinite_array import NonfiniteArray  # noqa: PLC0415

        d = dict(src_dict)
        finite = d.pop("finite")

        def _parse_first(data: object) -> None | NonfiniteArray:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                first_type_0 = NonfiniteArray.from_dict(data)

                return first_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | NonfiniteArray, data)

        first = _parse_first(d.pop("first"))

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        session_nonfinite_trace = cls(
            finite=finite,
            first=first,
            seq=seq,
        )

        session_nonfinite_trace.additional_properties = d
        return session_nonfinite_trace

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
