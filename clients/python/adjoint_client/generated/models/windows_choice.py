from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.windows_choice_spans_type_0 import WindowsChoiceSpansType0


T = TypeVar("T", bound="WindowsChoice")


@_attrs_define
class WindowsChoice:
    """Examples that are windows over rows in order: for time series and text."""

    spans: None | Unset | WindowsChoiceSpansType0 = UNSET
    """ By input, the rows that it sees, counted from a window's start: [start, end], the end left out, or one row's
    number; an input that is not named sees the row at the start. """
    stride: int | None | Unset = UNSET
    """ Rows between starts of windows, at least 1; default 1. """
    within: None | str | Unset = UNSET
    """ A column; no window crosses a change of its value. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.windows_choice_spans_type_0 import WindowsChoiceSpansType0  # noqa: PLC0415

        spans: dict[str, Any] | None | Unset
        if isinstance(self.spans, Unset):
            spans = UNSET
        elif isinstance(self.spans, WindowsChoiceSpansType0):
            spans = self.spans.to_dict()
        else:
            spans = self.spans

        stride: int | None | Unset
        if isinstance(self.stride, Unset):
            stride = UNSET
        else:
            stride = self.stride

        within: None | str | Unset
        if isinstance(self.within, Unset):
            within = UNSET
        else:
            within = self.within

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if spans is not UNSET:
            field_dict["spans"] = spans
        if stride is not UNSET:
            field_dict["stride"] = stride
        if within is not UNSET:
            field_dict["within"] = within

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.windows_choice_spans_type_0 import WindowsChoiceSpansType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_spans(data: object) -> None | Unset | WindowsChoiceSpansType0:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                spans_type_0 = WindowsChoiceSpansType0.from_dict(data)

                return spans_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Unset | WindowsChoiceSpansType0, data)

        spans = _parse_spans(d.pop("spans", UNSET))

        def _parse_stride(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        stride = _parse_stride(d.pop("stride", UNSET))

        def _parse_within(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        within = _parse_within(d.pop("within", UNSET))

        windows_choice = cls(
            spans=spans,
            stride=stride,
            within=within,
        )

        return windows_choice
