from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.jvp_spec import JvpSpec


T = TypeVar("T", bound="JvpWant")


@_attrs_define
class JvpWant:
    """A Jacobian-vector product: the derivative in the direction of the tangents."""

    jvp: JvpSpec
    """ Of which values, and the tangent by parameter or input. """

    def to_dict(self) -> dict[str, Any]:
        jvp = self.jvp.to_dict()

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "jvp": jvp,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.jvp_spec import JvpSpec  # noqa: PLC0415

        d = dict(src_dict)
        jvp = JvpSpec.from_dict(d.pop("jvp"))

        jvp_want = cls(
            jvp=jvp,
        )

        return jvp_want
