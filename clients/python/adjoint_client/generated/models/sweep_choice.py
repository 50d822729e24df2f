from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.sweep_choice_kind import SweepChoiceKind, check_sweep_choice_kind
from ..models.sweep_choice_mode_type_0 import SweepChoiceModeType0, check_sweep_choice_mode_type_0
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.sweep_choice_parameters import SweepChoiceParameters


T = TypeVar("T", bound="SweepChoice")


@_attrs_define
class SweepChoice:
    """Variants of one fit, which differ in a few fields; each is a fit of its own."""

    kind: SweepChoiceKind
    """ "grid": every combination, the last parameter varying fastest; "random": samples of them; "halving": a grid,
    or samples, of which the best of every eta go on from rung to rung. """
    parameters: SweepChoiceParameters
    """ By path into this request, as optimizer.lr or optimizer.groups.0.lr: a list of values, or a range {min, max,
    log, integer} to draw from. """
    eta: int | None | Unset = UNSET
    """ halving: of how many variants one goes on to the next rung, 2 to 100; default 3. """
    min_steps: int | None | Unset = UNSET
    """ halving: steps of the first rung, at least 1; by default so that the last variant left ends. """
    mode: None | SweepChoiceModeType0 | Unset = UNSET
    """ Which is better; by default as the metric. """
    monitor: None | str | Unset = UNSET
    """ The metric to rank by: loss, val_loss, or a metric as val_accuracy. """
    samples: int | None | Unset = UNSET
    """ How many combinations are drawn, 1 to 1024; no two are equal. """
    seed: int | None | Unset = UNSET
    """ What they are drawn from, at least 0; default 0. """

    def to_dict(self) -> dict[str, Any]:
        kind: str = self.kind

        parameters = self.parameters.to_dict()

        eta: int | None | Unset
        if isinstance(self.eta, Unset):
            eta = UNSET
        else:
            eta = self.eta

        min_steps: int | None | Unset
        if isinstance(self.min_steps, Unset):
            min_steps = UNSET
        else:
            min_steps = self.min_steps

        mode: None | str | Unset
        if isinstance(self.mode, Unset):
            mode = UNSET
        elif isinstance(self.mode, str):
            mode = self.mode
        else:
            mode = self.mode

        monitor: None | str | Unset
        if isinstance(self.monitor, Unset):
            monitor = UNSET
        else:
            monitor = self.monitor

        samples: int | None | Unset
        if isinstance(self.samples, Unset):
            samples = UNSET
        else:
            samples = self.samples

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "kind": kind,
                "parameters": parameters,
            }
        )
        if eta is not UNSET:
            field_dict["eta"] = eta
        if min_steps is not UNSET:
            field_dict["min_steps"] = min_steps
        if mode is not UNSET:
            field_dict["mode"] = mode
        if monitor is not UNSET:
            field_dict["monitor"] = monitor
        if samples is not UNSET:
            field_dict["samples"] = samples
        if seed is not UNSET:
            field_dict["seed"] = seed

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.sweep_choice_parameters import SweepChoiceParameters  # noqa: PLC0415

        d = dict(src_dict)
        kind = check_sweep_choice_kind(d.pop("kind"))

        parameters = SweepChoiceParameters.from_dict(d.pop("parameters"))

        def _parse_eta(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        eta = _parse_eta(d.pop("eta", UNSET))

        def _parse_min_steps(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        min_steps = _parse_min_steps(d.pop("min_steps", UNSET))

        def _parse_mode(data: object) -> None | SweepChoiceModeType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                mode_type_0 = check_sweep_choice_mode_type_0(data)

                return mode_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SweepChoiceModeType0 | Unset, data)

        mode = _parse_mode(d.pop("mode", UNSET))

        def _parse_monitor(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        monitor = _parse_monitor(d.pop("monitor", UNSET))

        def _parse_samples(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        samples = _parse_samples(d.pop("samples", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        sweep_choice = cls(
            kind=kind,
            parameters=parameters,
            eta=eta,
            min_steps=min_steps,
            mode=mode,
            monitor=monitor,
            samples=samples,
            seed=seed,
        )

        return sweep_choice
