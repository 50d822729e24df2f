from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.forward_request_feeds_type_0 import ForwardRequestFeedsType0
    from ..models.forward_request_inputs_type_0 import ForwardRequestInputsType0
    from ..models.rows_choice import RowsChoice


T = TypeVar("T", bound="ForwardRequest")


@_attrs_define
class ForwardRequest:
    """A forward pass."""

    feeds: ForwardRequestFeedsType0 | None | Unset = UNSET
    """ With rows, input: column; by default the session's, or of equal names. """
    inputs: ForwardRequestInputsType0 | None | Unset = UNSET
    """ A tensor for each input; or else `rows`. """
    keep: bool | Unset = False
    """ Whether to keep a tape, for :backward. """
    rows: None | RowsChoice | Unset = UNSET
    """ Rows of a dataset, in the place of `inputs`. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """
    training: bool | Unset = True
    """ Whether dropout drops and running statistics are updated. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.forward_request_feeds_type_0 import ForwardRequestFeedsType0  # noqa: PLC0415
        from ..models.forward_request_inputs_type_0 import ForwardRequestInputsType0  # noqa: PLC0415
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415

        feeds: dict[str, Any] | None | Unset
        if isinstance(self.feeds, Unset):
            feeds = UNSET
        elif isinstance(self.feeds, ForwardRequestFeedsType0):
            feeds = self.feeds.to_dict()
        else:
            feeds = self.feeds

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, ForwardRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        keep = self.keep

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

        training = self.training

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if feeds is not UNSET:
            field_dict["feeds"] = feeds
        if inputs is not UNSET:
            field_dict["inputs"] = inputs
        if keep is not UNSET:
            field_dict["keep"] = keep
        if rows is not UNSET:
            field_dict["rows"] = rows
        if seq is not UNSET:
            field_dict["seq"] = seq
        if training is not UNSET:
            field_dict["training"] = training

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.forward_request_feeds_type_0 import ForwardRequestFeedsType0  # noqa: PLC0415
        from ..models.forward_request_inputs_type_0 import ForwardRequestInputsType0  # noqa: PLC0415
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_feeds(data: object) -> ForwardRequestFeedsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                feeds_type_0 = ForwardRequestFeedsType0.from_dict(data)

                return feeds_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForwardRequestFeedsType0 | None | Unset, data)

        feeds = _parse_feeds(d.pop("feeds", UNSET))

        def _parse_inputs(data: object) -> ForwardRequestInputsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = ForwardRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForwardRequestInputsType0 | None | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        keep = d.pop("keep", UNSET)

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

        training = d.pop("training", UNSET)

        forward_request = cls(
            feeds=feeds,
            inputs=inputs,
            keep=keep,
            rows=rows,
            seq=seq,
            training=training,
        )

        return forward_request
