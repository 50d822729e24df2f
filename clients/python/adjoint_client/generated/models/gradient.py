from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.gradient_links import GradientLinks


T = TypeVar("T", bound="Gradient")


@_attrs_define
class Gradient:
    """The gradient of the loss by a parameter, without its numbers."""

    corrupt: bool
    """ Its file is missing or damaged. """
    digest: str
    """ SHA-256 of the .npy file. """
    dtype: str
    """ Element type, such as float32. """
    fit: str
    """ Id of the fit. """
    links: GradientLinks
    """ Where the numbers are. """
    parameter: str
    """ Name of the parameter. """
    shape: list[int]
    """ Extents of the axes. """
    size_bytes: int
    """ Of the .npy file. """
    step: int
    """ The steps that were done: 0 is the gradient at the first values. """
    object_: Literal["gradient"] | Unset = "gradient"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        corrupt = self.corrupt

        digest = self.digest

        dtype = self.dtype

        fit = self.fit

        links = self.links.to_dict()

        parameter = self.parameter

        shape = self.shape

        size_bytes = self.size_bytes

        step = self.step

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "corrupt": corrupt,
                "digest": digest,
                "dtype": dtype,
                "fit": fit,
                "links": links,
                "parameter": parameter,
                "shape": shape,
                "size_bytes": size_bytes,
                "step": step,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.gradient_links import GradientLinks  # noqa: PLC0415

        d = dict(src_dict)
        corrupt = d.pop("corrupt")

        digest = d.pop("digest")

        dtype = d.pop("dtype")

        fit = d.pop("fit")

        links = GradientLinks.from_dict(d.pop("links"))

        parameter = d.pop("parameter")

        shape = cast(list[int], d.pop("shape"))

        size_bytes = d.pop("size_bytes")

        step = d.pop("step")

        object_ = cast(Literal["gradient"] | Unset, d.pop("object", UNSET))
        if object_ != "gradient" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'gradient', got '{object_}'")

        gradient = cls(
            corrupt=corrupt,
            digest=digest,
            dtype=dtype,
            fit=fit,
            links=links,
            parameter=parameter,
            shape=shape,
            size_bytes=size_bytes,
            step=step,
            object_=object_,
        )

        gradient.additional_properties = d
        return gradient

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
