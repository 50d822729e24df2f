from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.forward_answer_losses import ForwardAnswerLosses
    from ..models.forward_answer_nonfinite import ForwardAnswerNonfinite
    from ..models.forward_answer_outputs import ForwardAnswerOutputs


T = TypeVar("T", bound="ForwardAnswer")


@_attrs_define
class ForwardAnswer:
    """What a forward pass gave."""

    losses: ForwardAnswerLosses
    """ Losses by name, or the names of the losses. """
    nonfinite: ForwardAnswerNonfinite
    """ Numbers that are null because they are not finite, by their path: nan, inf or -inf. """
    outputs: ForwardAnswerOutputs
    """ Outputs by name, or the names of the outputs. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    tape_id: None | str
    """ For :backward, where a tape was asked for. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        losses = self.losses.to_dict()

        nonfinite = self.nonfinite.to_dict()

        outputs = self.outputs.to_dict()

        seq: int | None
        seq = self.seq

        tape_id: None | str
        tape_id = self.tape_id

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "losses": losses,
                "nonfinite": nonfinite,
                "outputs": outputs,
                "seq": seq,
                "tape_id": tape_id,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.forward_answer_losses import ForwardAnswerLosses  # noqa: PLC0415
        from ..models.forward_answer_nonfinite import ForwardAnswerNonfinite  # noqa: PLC0415
        from ..models.forward_answer_outputs import ForwardAnswerOutputs  # noqa: PLC0415

        d = dict(src_dict)
        losses = ForwardAnswerLosses.from_dict(d.pop("losses"))

        nonfinite = ForwardAnswerNonfinite.from_dict(d.pop("nonfinite"))

        outputs = ForwardAnswerOutputs.from_dict(d.pop("outputs"))

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        def _parse_tape_id(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        tape_id = _parse_tape_id(d.pop("tape_id"))

        forward_answer = cls(
            losses=losses,
            nonfinite=nonfinite,
            outputs=outputs,
            seq=seq,
            tape_id=tape_id,
        )

        forward_answer.additional_properties = d
        return forward_answer

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
