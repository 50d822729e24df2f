from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.operation_answer_type_0 import OperationAnswerType0
    from ..models.step_problem import StepProblem


T = TypeVar("T", bound="Operation")


@_attrs_define
class Operation:
    """A step that was accepted, and its result."""

    done: bool
    """ Whether the step is done. """
    seq: int
    """ Position in the sequence, from 1. """
    answer: None | OperationAnswerType0 | Unset = UNSET
    """ The response to the step, as its own route returns it. """
    error: None | StepProblem | Unset = UNSET
    """ Why it failed; null otherwise. """
    id: None | str | Unset = UNSET
    """ Of the request, in the answer to it. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.operation_answer_type_0 import OperationAnswerType0  # noqa: PLC0415
        from ..models.step_problem import StepProblem  # noqa: PLC0415

        done = self.done

        seq = self.seq

        answer: dict[str, Any] | None | Unset
        if isinstance(self.answer, Unset):
            answer = UNSET
        elif isinstance(self.answer, OperationAnswerType0):
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

        id: None | str | Unset
        if isinstance(self.id, Unset):
            id = UNSET
        else:
            id = self.id

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "done": done,
                "seq": seq,
            }
        )
        if answer is not UNSET:
            field_dict["answer"] = answer
        if error is not UNSET:
            field_dict["error"] = error
        if id is not UNSET:
            field_dict["id"] = id

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.operation_answer_type_0 import OperationAnswerType0  # noqa: PLC0415
        from ..models.step_problem import StepProblem  # noqa: PLC0415

        d = dict(src_dict)
        done = d.pop("done")

        seq = d.pop("seq")

        def _parse_answer(data: object) -> None | OperationAnswerType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                answer_type_0 = OperationAnswerType0.from_dict(data)

                return answer_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | OperationAnswerType0 | Unset, data)

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

        def _parse_id(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        id = _parse_id(d.pop("id", UNSET))

        operation = cls(
            done=done,
            seq=seq,
            answer=answer,
            error=error,
            id=id,
        )

        operation.additional_properties = d
        return operation

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
