from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.fit_replay_expected import FitReplayExpected
    from ..models.replay_verdict import ReplayVerdict


T = TypeVar("T", bound="FitReplay")


@_attrs_define
class FitReplay:
    """Which fit this one runs again."""

    expected: FitReplayExpected
    """ What is to come out, as in the bundle's result; its fingerprint. """
    numerics_differences: list[str]
    """ The entries of the fingerprint that are others here. """
    of: str
    """ What is differentiated, or the original of a replay. """
    same_numerics: bool
    """ Whether equal bits can be expected. """
    verdict: None | ReplayVerdict
    """ Null until this fit has succeeded. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.replay_verdict import ReplayVerdict  # noqa: PLC0415

        expected = self.expected.to_dict()

        numerics_differences = self.numerics_differences

        of = self.of

        same_numerics = self.same_numerics

        verdict: dict[str, Any] | None
        if isinstance(self.verdict, ReplayVerdict):
            verdict = self.verdict.to_dict()
        else:
            verdict = self.verdict

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "expected": expected,
                "numerics_differences": numerics_differences,
                "of": of,
                "same_numerics": same_numerics,
                "verdict": verdict,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fit_replay_expected import FitReplayExpected  # noqa: PLC0415
        from ..models.replay_verdict import ReplayVerdict  # noqa: PLC0415

        d = dict(src_dict)
        expected = FitReplayExpected.from_dict(d.pop("expected"))

        numerics_differences = cast(list[str], d.pop("numerics_differences"))

        of = d.pop("of")

        same_numerics = d.pop("same_numerics")

        def _parse_verdict(data: object) -> None | ReplayVerdict:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                verdict_type_0 = ReplayVerdict.from_dict(data)

                return verdict_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ReplayVerdict, data)

        verdict = _parse_verdict(d.pop("verdict"))

        fit_replay = cls(
            expected=expected,
            numerics_differences=numerics_differences,
            of=of,
            same_numerics=same_numerics,
            verdict=verdict,
        )

        fit_replay.additional_properties = d
        return fit_replay

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
