from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.batched_answer_answer_type_0 import BatchedAnswerAnswerType0
    from ..models.step_problem import StepProblem


T = TypeVar("T", bound="BatchedAnswer")


@_attrs_define
class BatchedAnswer:
    """The result of one step of a batch: an answer or an error."""

    seq: int | None
    """ The place that the step took; null for one that only reads. """
    status: int
    """ HTTP status that the step has by itself. """
    answer: BatchedAnswerAnswerType0 | None | Unset = UNSET
    """ The response to the step, as its own route returns it. """
    error: None | StepProblem | Unset = UNSET
    """ Why it failed; null otherwise. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.batched_answer_answer_type_0 import BatchedAnswerAnswerType0  # noqa: PLC0415
        from ..models.step_problem import StepProblem  # noqa: PLC0415

        seq: int | None
        seq = self.seq

        status = self.status

        answer: dict[str, Any] | None | Unset
        if isinstance(self.answer, Unset):
            answer = UNSET
        elif isinstance(self.answer, BatchedAnswerAnswerType0):
            answer = self.answer.to_dict()
        else:
            answer = self.answer

        error: dict[str, Any] | None | Unset
        if isinstance(self.error, Unset):
            error = UNSET
        elif isinstance(self.error, StepProblem):
            error = self.error.to_dict()
        else:
            error = self.error

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "seq": seq,
                "status": status,
            }
        )
        if answer is not UNSET:
            field_dict["answer"] = answer
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.batched_answer_answer_type_0 import BatchedAnswerAnswerType0  # noqa: PLC0415
        from ..models.step_problem import StepProblem  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        status = d.pop("status")

        def _parse_answer(data: object) -> BatchedAnswerAnswerType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                answer_type_0 = BatchedAnswerAnswerType0.from_dict(data)

                return answer_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BatchedAnswerAnswerType0 | None | Unset, data)

        answer = _parse_answer(d.pop("answer", UNSET))

        def _parse_error(data: object) -> None | StepProblem | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                error_type_0 = StepProblem.from_dict(data)

                return error_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | StepProblem | Unset, data)

        error = _parse_error(d.pop("error", UNSET))

        batched_answer = cls(
            seq=seq,
            status=status,
            answer=answer,
            error=error,
        )

        batched_answer.additional_properties = d
        return batched_answer

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
