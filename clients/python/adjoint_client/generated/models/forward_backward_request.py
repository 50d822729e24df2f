from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.forward_backward_request_reduction_type_0 import (
    ForwardBackwardRequestReductionType0,
    check_forward_backward_request_reduction_type_0,
)
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.forward_backward_request_feeds_type_0 import ForwardBackwardRequestFeedsType0
    from ..models.forward_backward_request_inputs_type_0 import ForwardBackwardRequestInputsType0
    from ..models.rows_choice import RowsChoice


T = TypeVar("T", bound="ForwardBackwardRequest")


@_attrs_define
class ForwardBackwardRequest:
    """A forward and a backward pass, whose gradients add to those that there are."""

    feeds: ForwardBackwardRequestFeedsType0 | None | Unset = UNSET
    """ With rows, input: column; by default the session's, or of equal names. """
    inputs: ForwardBackwardRequestInputsType0 | None | Unset = UNSET
    """ A tensor for each input; or else `rows`. """
    micro_batch_size: int | None | Unset = UNSET
    """ Rows that are computed at a time; by default all. """
    outputs: bool | Unset = False
    """ Whether the answer holds the outputs. """
    reduction: ForwardBackwardRequestReductionType0 | None | Unset = UNSET
    """ How the losses of rows are combined; by default as in the loss of the graph. """
    rows: None | RowsChoice | Unset = UNSET
    """ Rows of a dataset, in the place of `inputs`. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.forward_backward_request_feeds_type_0 import ForwardBackwardRequestFeedsType0  # noqa: PLC0415
        from ..models.forward_backward_request_inputs_type_0 import ForwardBackwardRequestInputsType0  # noqa: PLC0415
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415

        feeds: dict[str, Any] | None | Unset
        if isinstance(self.feeds, Unset):
            feeds = UNSET
        elif isinstance(self.feeds, ForwardBackwardRequestFeedsType0):
            feeds = self.feeds.to_dict()
        else:
            feeds = self.feeds

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, ForwardBackwardRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        micro_batch_size: int | None | Unset
        if isinstance(self.micro_batch_size, Unset):
            micro_batch_size = UNSET
        else:
            micro_batch_size = self.micro_batch_size

        outputs = self.outputs

        reduction: None | str | Unset
        if isinstance(self.reduction, Unset):
            reduction = UNSET
        elif isinstance(self.reduction, str):
            reduction = self.reduction
        else:
            reduction = self.reduction

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

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if feeds is not UNSET:
            field_dict["feeds"] = feeds
        if inputs is not UNSET:
            field_dict["inputs"] = inputs
        if micro_batch_size is not UNSET:
            field_dict["micro_batch_size"] = micro_batch_size
        if outputs is not UNSET:
            field_dict["outputs"] = outputs
        if reduction is not UNSET:
            field_dict["reduction"] = reduction
        if rows is not UNSET:
            field_dict["rows"] = rows
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.forward_backward_request_feeds_type_0 import ForwardBackwardRequestFeedsType0  # noqa: PLC0415
        from ..models.forward_backward_request_inputs_type_0 import ForwardBackwardRequestInputsType0  # noqa: PLC0415
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_feeds(data: object) -> ForwardBackwardRequestFeedsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                feeds_type_0 = ForwardBackwardRequestFeedsType0.from_dict(data)

                return feeds_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForwardBackwardRequestFeedsType0 | None | Unset, data)

        feeds = _parse_feeds(d.pop("feeds", UNSET))

        def _parse_inputs(data: object) -> ForwardBackwardRequestInputsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = ForwardBackwardRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForwardBackwardRequestInputsType0 | None | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_micro_batch_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        micro_batch_size = _parse_micro_batch_size(d.pop("micro_batch_size", UNSET))

        outputs = d.pop("outputs", UNSET)

        def _parse_reduction(data: object) -> ForwardBackwardRequestReductionType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                reduction_type_0 = check_forward_backward_request_reduction_type_0(data)

                return reduction_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ForwardBackwardRequestReductionType0 | None | Unset, data)

        reduction = _parse_reduction(d.pop("reduction", UNSET))

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

        forward_backward_request = cls(
            feeds=feeds,
            inputs=inputs,
            micro_batch_size=micro_batch_size,
            outputs=outputs,
            reduction=reduction,
            rows=rows,
            seq=seq,
        )

        return forward_backward_request
