from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.fit_origin_restore import FitOriginRestore, check_fit_origin_restore

T = TypeVar("T", bound="FitOrigin")


@_attrs_define
class FitOrigin:
    """The checkpoint that a fit was begun at."""

    checkpoint: str
    """ Id of the checkpoint. """
    copy: str
    """ The fit's own checkpoint with that content. """
    digest: str
    """ SHA-256 of the checkpoint's content. """
    fit: None | str
    """ The fit that it belongs to; null for one that was uploaded. """
    restore: FitOriginRestore
    """ Whether all went on, or only the parameters were taken. """
    step: int
    """ The step that the fit began at. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        checkpoint = self.checkpoint

        copy = self.copy

        digest = self.digest

        fit: None | str
        fit = self.fit

        restore: str = self.restore

        step = self.step

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "checkpoint": checkpoint,
                "copy": copy,
                "digest": digest,
                "fit": fit,
                "restore": restore,
                "step": step,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        checkpoint = d.pop("checkpoint")

        copy = d.pop("copy")

        digest = d.pop("digest")

        def _parse_fit(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        fit = _parse_fit(d.pop("fit"))

        restore = check_fit_origin_restore(d.pop("restore"))

        step = d.pop("step")

        fit_origin = cls(
            checkpoint=checkpoint,
            copy=copy,
            digest=digest,
            fit=fit,
            restore=restore,
            step=step,
        )

        fit_origin.additional_properties = d
        return fit_origin

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
