from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.bundle import Bundle
    from ..models.replay_request_labels_type_0 import ReplayRequestLabelsType0
    from ..models.replay_resources import ReplayResources


T = TypeVar("T", bound="ReplayRequest")


@_attrs_define
class ReplayRequest:
    """A fit to run again: one of this server, or a bundle of any."""

    bundle: Bundle | None | Unset = UNSET
    """ As it was given. """
    fit: None | str | Unset = UNSET
    """ Id of a fit that has succeeded. """
    labels: None | ReplayRequestLabelsType0 | Unset = UNSET
    """ Labels: keys with values, for filtering lists. """
    resources: None | ReplayResources | Unset = UNSET
    """ Threads, replicas, priority and time limits. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.bundle import Bundle  # noqa: PLC0415
        from ..models.replay_request_labels_type_0 import ReplayRequestLabelsType0  # noqa: PLC0415
        from ..models.replay_resources import ReplayResources  # noqa: PLC0415

        bundle: dict[str, Any] | None | Unset
        if isinstance(self.bundle, Unset):
            bundle = UNSET
        elif isinstance(self.bundle, Bundle):
            bundle = self.bundle.to_dict()
        else:
            bundle = self.bundle

        fit: None | str | Unset
        if isinstance(self.fit, Unset):
            fit = UNSET
        else:
            fit = self.fit

        labels: dict[str, Any] | None | Unset
        if isinstance(self.labels, Unset):
            labels = UNSET
        elif isinstance(self.labels, ReplayRequestLabelsType0):
            labels = self.labels.to_dict()
        else:
            labels = self.labels

        resources: dict[str, Any] | None | Unset
        if isinstance(self.resources, Unset):
            resources = UNSET
        elif isinstance(self.resources, ReplayResources):
            resources = self.resources.to_dict()
        else:
            resources = self.resources

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if bundle is not UNSET:
            field_dict["bundle"] = bundle
        if fit is not UNSET:
            field_dict["fit"] = fit
        if labels is not UNSET:
            field_dict["labels"] = labels
        if resources is not UNSET:
            field_dict["resources"] = resources

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bundle import Bundle  # noqa: PLC0415
        from ..models.replay_request_labels_type_0 import ReplayRequestLabelsType0  # noqa: PLC0415
        from ..models.replay_resources import ReplayResources  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_bundle(data: object) -> Bundle | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                bundle_type_0 = Bundle.from_dict(data)

                return bundle_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(Bundle | None | Unset, data)

        bundle = _parse_bundle(d.pop("bundle", UNSET))

        def _parse_fit(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        fit = _parse_fit(d.pop("fit", UNSET))

        def _parse_labels(data: object) -> None | ReplayRequestLabelsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                labels_type_0 = ReplayRequestLabelsType0.from_dict(data)

                return labels_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ReplayRequestLabelsType0 | Unset, data)

        labels = _parse_labels(d.pop("labels", UNSET))

        def _parse_resources(data: object) -> None | ReplayResources | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                resources_type_0 = ReplayResources.from_dict(data)

                return resources_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ReplayResources | Unset, data)

        resources = _parse_resources(d.pop("resources", UNSET))

        replay_request = cls(
            bundle=bundle,
            fit=fit,
            labels=labels,
            resources=resources,
        )

        return replay_request
