from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.jacobian_spec_mode_type_0 import JacobianSpecModeType0, check_jacobian_spec_mode_type_0
from ..types import UNSET, Unset

T = TypeVar("T", bound="JacobianSpec")


@_attrs_define
class JacobianSpec:
    """Of which value by which parameter or input."""

    by: str
    """ Names of the parameters or inputs to differentiate with respect to. """
    of: str
    """ What is differentiated, or the original of a replay. """
    mode: JacobianSpecModeType0 | None | Unset = UNSET
    """ By default the cheaper one. """

    def to_dict(self) -> dict[str, Any]:
        by = self.by

        of = self.of

        mode: None | str | Unset
        if isinstance(self.mode, Unset):
            mode = UNSET
        elif isinstance(self.mode, str):
            mode = self.mode
        else:
            mode = self.mode

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "by": by,
                "of": of,
            }
        )
        if mode is not UNSET:
            field_dict["mode"] = mode

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        by = d.pop("by")

        of = d.pop("of")

        def _parse_mode(data: object) -> JacobianSpecModeType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                mode_type_0 = check_jacobian_spec_mode_type_0(data)

                return mode_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(JacobianSpecModeType0 | None | Unset, data)

        mode = _parse_mode(d.pop("mode", UNSET))

        jacobian_spec = cls(
            by=by,
            of=of,
            mode=mode,
        )

        return jacobian_spec
