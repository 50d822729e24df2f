from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.bundle_origin_restore import BundleOriginRestore, check_bundle_origin_restore

if TYPE_CHECKING:
    from ..models.bundle_state import BundleState


T = TypeVar("T", bound="BundleOrigin")


@_attrs_define
class BundleOrigin:
    """The checkpoint that the fit was forked from."""

    checkpoint: str
    """ Id of the checkpoint. """
    digest: str
    """ SHA-256 in hexadecimal digits. """
    fit: None | str
    """ Id of the fit. """
    restore: BundleOriginRestore
    """ What is taken from the checkpoint: everything or the parameters. """
    state: BundleState | None
    """ Null if the checkpoint is no longer kept. """
    step: int
    """ Number of optimizer steps. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.bundle_state import BundleState  # noqa: PLC0415

        checkpoint = self.checkpoint

        digest = self.digest

        fit: None | str
        fit = self.fit

        restore: str = self.restore

        state: dict[str, Any] | None
        if isinstance(self.state, BundleState):
            state = self.state.to_dict()
        else:
            state = self.state

        step = self.step

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "checkpoint": checkpoint,
                "digest": digest,
                "fit": fit,
                "restore": restore,
                "state": state,
                "step": step,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bundle_state import BundleState  # noqa: PLC0415

        d = dict(src_dict)
        checkpoint = d.pop("checkpoint")

        digest = d.pop("digest")

        def _parse_fit(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        fit = _parse_fit(d.pop("fit"))

        restore = check_bundle_origin_restore(d.pop("restore"))

        def _parse_state(data: object) -> BundleState | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                state_type_0 = BundleState.from_dict(data)

                return state_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BundleState | None, data)

        state = _parse_state(d.pop("state"))

        step = d.pop("step")

        bundle_origin = cls(
            checkpoint=checkpoint,
            digest=digest,
            fit=fit,
            restore=restore,
            state=state,
            step=step,
        )

        return bundle_origin
