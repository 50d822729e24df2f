from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.rows_choice import RowsChoice
    from ..models.session_row_losses_request_feeds_type_0 import SessionRowLossesRequestFeedsType0
    from ..models.session_row_losses_request_inputs_type_0 import SessionRowLossesRequestInputsType0


T = TypeVar("T", bound="SessionRowLossesRequest")


@_attrs_define
class SessionRowLossesRequest:
    """The loss of each row by itself."""

    feeds: None | SessionRowLossesRequestFeedsType0 | Unset = UNSET
    """ With rows, input: column; by default the session's, or of equal names. """
    inputs: None | SessionRowLossesRequestInputsType0 | Unset = UNSET
    """ A tensor for each input; or else `rows`. """
    rows: None | RowsChoice | Unset = UNSET
    """ Rows of a dataset, in the place of `inputs`. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """
    top: int | None | Unset = UNSET
    """ How many of the worst rows to name. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415
        from ..models.session_row_losses_request_feeds_type_0 import SessionRowLossesRequestFeedsType0  # noqa: PLC0415
        from ..models.session_row_losses_request_inputs_type_0 import SessionRowLossesRequestInputsType0  # noqa: PLC0415

        feeds: dict[str, Any] | None | Unset
        if isinstance(self.feeds, Unset):
            feeds = UNSET
        elif isinstance(self.feeds, SessionRowLossesRequestFeedsType0):
            feeds = self.feeds.to_dict()
        else:
            feeds = self.feeds

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, SessionRowLossesRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        rows: dict[str, Any] | None | Unset
        if isinstance(self.rows, Unset):
            rows = UNSET
        elif isinstance(self.rows, RowsChoice):
            rows = self.rows.to_dict()
        else:
            rows = self.rows

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        top: int | None | Unset
        if isinstance(self.top, Unset):
            top = UNSET
        else:
            top = self.top

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if feeds is not UNSET:
            field_dict["feeds"] = feeds
        if inputs is not UNSET:
            field_dict["inputs"] = inputs
        if rows is not UNSET:
            field_dict["rows"] = rows
        if seq is not UNSET:
            field_dict["seq"] = seq
        if top is not UNSET:
            field_dict["top"] = top

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415
        from ..models.session_row_losses_request_feeds_type_0 import SessionRowLossesRequestFeedsType0  # noqa: PLC0415
        from ..models.session_row_losses_request_inputs_type_0 import SessionRowLossesRequestInputsType0  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_feeds(data: object) -> None | SessionRowLossesRequestFeedsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                feeds_type_0 = SessionRowLossesRequestFeedsType0.from_dict(data)

                return feeds_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRowLossesRequestFeedsType0 | Unset, data)

        feeds = _parse_feeds(d.pop("feeds", UNSET))

        def _parse_inputs(data: object) -> None | SessionRowLossesRequestInputsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = SessionRowLossesRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRowLossesRequestInputsType0 | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_rows(data: object) -> None | RowsChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                rows_type_0 = RowsChoice.from_dict(data)

                return rows_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RowsChoice | Unset, data)

        rows = _parse_rows(d.pop("rows", UNSET))

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        def _parse_top(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        top = _parse_top(d.pop("top", UNSET))

        session_row_losses_request = cls(
            feeds=feeds,
            inputs=inputs,
            rows=rows,
            seq=seq,
            top=top,
        )

        return session_row_losses_request
