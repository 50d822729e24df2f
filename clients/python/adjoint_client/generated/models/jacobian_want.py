from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.jacobian_spec import JacobianSpec


T = TypeVar("T", bound="JacobianWant")


@_attrs_define
class JacobianWant:
    """All first derivatives, of the shape [of..., by...]."""

    jacobian: JacobianSpec
    """ Of which value by which parameter or input. """

    def to_dict(self) -> dict[str, Any]:
        jacobian = self.jacobian.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "jacobian": jacobian,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.jacobian_spec import JacobianSpec  # noqa: PLC0415

        d = dict(src_dict)
        jacobian = JacobianSpec.from_dict(d.pop("jacobian"))

        jacobian_want = cls(
            jacobian=jacobian,
        )

        return jacobian_want
