from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.gradcheck_result_gradients import GradcheckResultGradients
    from ..models.gradcheck_result_nonfinite import GradcheckResultNonfinite


T = TypeVar("T", bound="GradcheckResult")


@_attrs_define
class GradcheckResult:
    """Whether the gradients are right: each element within atol + rtol * |slope|."""

    atol: float
    """ Absolute tolerance. """
    eps: float
    """ Step of the central differences. """
    gradients: GradcheckResultGradients
    """ Gradients by name. """
    nonfinite: GradcheckResultNonfinite
    """ `nan`, `inf` or `-inf` for each value that is null because JSON cannot represent it. """
    of: list[str]
    """ What is differentiated, or the original of a replay. """
    ok: bool
    """ Whether all gradients are within the tolerances. """
    rtol: float
    """ Tolerance relative to the slope. """
    value: float | None
    """ What is differentiated, at the point itself. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        atol = self.atol

        eps = self.eps

        gradients = self.gradients.to_dict()

        nonfinite = self.nonfinite.to_dict()

        of = self.of

        ok = self.ok

        rtol = self.rtol

        value: float | None
        value = self.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "atol": atol,
                "eps": eps,
                "gradients": gradients,
                "nonfinite": nonfinite,
                "of": of,
                "ok": ok,
                "rtol": rtol,
                "value": value,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.gradcheck_result_gradients import GradcheckResultGradients  # noqa: PLC0415
        from ..models.gradcheck_result_nonfinite import GradcheckResultNonfinite  # noqa: PLC0415

        d = dict(src_dict)
        atol = d.pop("atol")

        eps = d.pop("eps")

        gradients = GradcheckResultGradients.from_dict(d.pop("gradients"))

        nonfinite = GradcheckResultNonfinite.from_dict(d.pop("nonfinite"))

        of = cast(list[str], d.pop("of"))

        ok = d.pop("ok")

        rtol = d.pop("rtol")

        def _parse_value(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        value = _parse_value(d.pop("value"))

        gradcheck_result = cls(
            atol=atol,
            eps=eps,
            gradients=gradients,
            nonfinite=nonfinite,
            of=of,
            ok=ok,
            rtol=rtol,
            value=value,
        )

        gradcheck_result.additional_properties = d
        return gradcheck_result

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
