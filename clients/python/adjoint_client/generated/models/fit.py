from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.fit_state import FitState, check_fit_state
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.fit_attempt import FitAttempt
    from ..models.fit_best_type_0 import FitBestType0
    from ..models.fit_error import FitError
    from ..models.fit_labels import FitLabels
    from ..models.fit_latest import FitLatest
    from ..models.fit_links import FitLinks
    from ..models.fit_nonfinite import FitNonfinite
    from ..models.fit_origin import FitOrigin
    from ..models.fit_replay import FitReplay
    from ..models.fit_request_as_sent import FitRequestAsSent
    from ..models.fit_runtime import FitRuntime
    from ..models.sweep_summary import SweepSummary
    from ..models.variant_info import VariantInfo


T = TypeVar("T", bound="Fit")


@_attrs_define
class Fit:
    """A fit: what was asked, how far it is, and how it ended."""

    attempt: int
    """ Number of the latest attempt, from 1. """
    attempts: list[FitAttempt]
    """ The attempts so far, in order. """
    attempts_max: int
    """ Number of attempts after which a fit whose process keeps dying fails. """
    best: FitBestType0 | None
    """ The best step so far, by which metric, with what value: null if it is not finite, see nonfinite. """
    bit_exact: bool
    """ False once it has gone on under other numerics: bits may differ from then on. """
    created_at: datetime.datetime
    """ Time of creation, RFC 3339 in UTC. """
    dataset: str
    """ The dataset that it trains on, or the first of them. """
    datasets: list[str]
    """ All datasets that it trains on, in their order. """
    deadline_at: datetime.datetime | None
    """ When it fails unless it has ended. """
    epoch: int
    """ Number of epochs, from 0. """
    error: FitError | None
    """ Why it failed; null otherwise. """
    eta_seconds: float | None
    """ Estimated seconds until the end; null if unknown. """
    finished_at: datetime.datetime | None
    """ Time at which it ended, RFC 3339 in UTC; null before that. """
    graph: str
    """ The graph, by id or name. """
    id: str
    """ Unique id. """
    labels: FitLabels
    """ Labels: keys with values, for filtering lists. """
    latest: FitLatest
    """ Latest value of each metric. """
    links: FitLinks
    """ Where to go on from a fit. """
    nonfinite: FitNonfinite
    """ Values of latest that are not finite: nan, inf or -inf. """
    origin: FitOrigin | None
    """ The checkpoint that it was begun at, if it was. """
    parent: None | str
    """ The fit whose sweep it is a variant of. """
    phase: str
    """ What it is doing within its state; compiling: kernels that no fit has needed here before are compiled, and
    `log` events say how many of how many; waiting_for_memory: its turn has come, and there is too little memory
    beside what runs; waiting_for_storage: the disk or the quota has no room for what it has to write. """
    progress: float
    """ Part that is done, 0 to 1. """
    record_every_steps: int
    """ Steps from one training row to the next. """
    reopened_at: int | None
    """ The step at which it was last taken up again after its end, or with other hyperparameters. """
    replay: FitReplay | None
    """ Which fit it runs again, if that is what it is for. """
    request: FitRequestAsSent
    """ With ids in place of what came inline. """
    running_seconds: float
    """ How long it has run, over all attempts. """
    runtime: FitRuntime | None
    """ What it runs with; null before the first step. """
    started_at: datetime.datetime | None
    """ Time at which it started, RFC 3339 in UTC; null before that. """
    state: FitState
    """ Where a fit is in its life. The -ing states last while a process may still write for it. """
    step: int
    """ Number of optimizer steps. """
    stop_reason: None | str
    """ Why it ended, with success, before its last step; killed: it was, without a last checkpoint. """
    sweep: None | SweepSummary
    """ How its variants are doing, if it was submitted with a sweep. """
    terminal: bool
    """ Whether nothing more happens unless a client asks for it. """
    total_steps: int
    """ Number of steps when it is complete. """
    variant: None | VariantInfo
    """ Which variant of the sweep it is. """
    object_: Literal["fit"] | Unset = "fit"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.fit_best_type_0 import FitBestType0  # noqa: PLC0415
        from ..models.fit_error import FitError  # noqa: PLC0415
        from ..models.fit_origin import FitOrigin  # noqa: PLC0415
        from ..models.fit_replay import FitReplay  # noqa: PLC0415
        from ..models.fit_runtime import FitRuntime  # noqa: PLC0415
        from ..models.sweep_summary import SweepSummary  # noqa: PLC0415
        from ..models.variant_info import VariantInfo  # noqa: PLC0415

        attempt = self.attempt

        attempts = []
        for attempts_item_data in self.attempts:
            attempts_item = attempts_item_data.to_dict()
            attempts.append(attempts_item)

        attempts_max = self.attempts_max

        best: dict[str, Any] | None
        if isinstance(self.best, FitBestType0):
            best = self.best.to_dict()
        else:
            best = self.best

        bit_exact = self.bit_exact

        created_at = self.created_at.isoformat()

        dataset = self.dataset

        datasets = self.datasets

        deadline_at: None | str
        if isinstance(self.deadline_at, datetime.datetime):
            deadline_at = self.deadline_at.isoformat()
        else:
            deadline_at = self.deadline_at

        epoch = self.epoch

        error: dict[str, Any] | None
        if isinstance(self.error, FitError):
            error = self.error.to_dict()
        else:
            error = self.error

        eta_seconds: float | None
        eta_seconds = self.eta_seconds

        finished_at: None | str
        if isinstance(self.finished_at, datetime.datetime):
            finished_at = self.finished_at.isoformat()
        else:
            finished_at = self.finished_at

        graph = self.graph

        id = self.id

        labels = self.labels.to_dict()

        latest = self.latest.to_dict()

        links = self.links.to_dict()

        nonfinite = self.nonfinite.to_dict()

        origin: dict[str, Any] | None
        if isinstance(self.origin, FitOrigin):
            origin = self.origin.to_dict()
        else:
            origin = self.origin

        parent: None | str
        parent = self.parent

        phase = self.phase

        progress = self.progress

        record_every_steps = self.record_every_steps

        reopened_at: int | None
        reopened_at = self.reopened_at

        replay: dict[str, Any] | None
        if isinstance(self.replay, FitReplay):
            replay = self.replay.to_dict()
        else:
            replay = self.replay

        request = self.request.to_dict()

        running_seconds = self.running_seconds

        runtime: dict[str, Any] | None
        if isinstance(self.runtime, FitRuntime):
            runtime = self.runtime.to_dict()
        else:
            runtime = self.runtime

        started_at: None | str
        if isinstance(self.started_at, datetime.datetime):
            started_at = self.started_at.isoformat()
        else:
            started_at = self.started_at

        state: str = self.state

        step = self.step

        stop_reason: None | str
        stop_reason = self.stop_reason

        sweep: dict[str, Any] | None
        if isinstance(self.sweep, SweepSummary):
            sweep = self.sweep.to_dict()
        else:
            sweep = self.sweep

        terminal = self.terminal

        total_steps = self.total_steps

        variant: dict[str, Any] | None
        if isinstance(self.variant, VariantInfo):
            variant = self.variant.to_dict()
        else:
            variant = self.variant

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attempt": attempt,
                "attempts": attempts,
                "attempts_max": attempts_max,
                "best": best,
                "bit_exact": bit_exact,
                "created_at": created_at,
                "dataset": dataset,
                "datasets": datasets,
                "deadline_at": deadline_at,
                "epoch": epoch,
                "error": error,
                "eta_seconds": eta_seconds,
                "finished_at": finished_at,
                "graph": graph,
                "id": id,
                "labels": labels,
                "latest": latest,
                "links": links,
                "nonfinite": nonfinite,
                "origin": origin,
                "parent": parent,
                "phase": phase,
                "progress": progress,
                "record_every_steps": record_every_steps,
                "reopened_at": reopened_at,
                "replay": replay,
                "request": request,
                "running_seconds": running_seconds,
                "runtime": runtime,
                "started_at": started_at,
                "state": state,
                "step": step,
                "stop_reason": stop_reason,
                "sweep": sweep,
                "terminal": terminal,
                "total_steps": total_steps,
                "variant": variant,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.fit_attempt import FitAttempt  # noqa: PLC0415
        from ..models.fit_best_type_0 import FitBestType0  # noqa: PLC0415
        from ..models.fit_error import FitError  # noqa: PLC0415
        from ..models.fit_labels import FitLabels  # noqa: PLC0415
        from ..models.fit_latest import FitLatest  # noqa: PLC0415
        from ..models.fit_links import FitLinks  # noqa: PLC0415
        from ..models.fit_nonfinite import FitNonfinite  # noqa: PLC0415
        from ..models.fit_origin import FitOrigin  # noqa: PLC0415
        from ..models.fit_replay import FitReplay  # noqa: PLC0415
        from ..models.fit_request_as_sent import FitRequestAsSent  # noqa: PLC0415
        from ..models.fit_runtime import FitRuntime  # noqa: PLC0415
        from ..models.sweep_summary import SweepSummary  # noqa: PLC0415
        from ..models.variant_info import VariantInfo  # noqa: PLC0415

        d = dict(src_dict)
        attempt = d.pop("attempt")

        attempts = []
        _attempts = d.pop("attempts")
        for attempts_item_data in _attempts:
            attempts_item = FitAttempt.from_dict(attempts_item_data)

            attempts.append(attempts_item)

        attempts_max = d.pop("attempts_max")

        def _parse_best(data: object) -> FitBestType0 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                best_type_0 = FitBestType0.from_dict(data)

                return best_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitBestType0 | None, data)

        best = _parse_best(d.pop("best"))

        bit_exact = d.pop("bit_exact")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        dataset = d.pop("dataset")

        datasets = cast(list[str], d.pop("datasets"))

        def _parse_deadline_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                deadline_at_type_0 = datetime.datetime.fromisoformat(data)

                return deadline_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        deadline_at = _parse_deadline_at(d.pop("deadline_at"))

        epoch = d.pop("epoch")

        def _parse_error(data: object) -> FitError | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                error_type_0 = FitError.from_dict(data)

                return error_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitError | None, data)

        error = _parse_error(d.pop("error"))

        def _parse_eta_seconds(data: object) -> float | None:
            if data is None:
                return data
            return cast(float | None, data)

        eta_seconds = _parse_eta_seconds(d.pop("eta_seconds"))

        def _parse_finished_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                finished_at_type_0 = datetime.datetime.fromisoformat(data)

                return finished_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        finished_at = _parse_finished_at(d.pop("finished_at"))

        graph = d.pop("graph")

        id = d.pop("id")

        labels = FitLabels.from_dict(d.pop("labels"))

        latest = FitLatest.from_dict(d.pop("latest"))

        links = FitLinks.from_dict(d.pop("links"))

        nonfinite = FitNonfinite.from_dict(d.pop("nonfinite"))

        def _parse_origin(data: object) -> FitOrigin | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                origin_type_0 = FitOrigin.from_dict(data)

                return origin_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitOrigin | None, data)

        origin = _parse_origin(d.pop("origin"))

        def _parse_parent(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        parent = _parse_parent(d.pop("parent"))

        phase = d.pop("phase")

        progress = d.pop("progress")

        record_every_steps = d.pop("record_every_steps")

        def _parse_reopened_at(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        reopened_at = _parse_reopened_at(d.pop("reopened_at"))

        def _parse_replay(data: object) -> FitReplay | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                replay_type_0 = FitReplay.from_dict(data)

                return replay_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitReplay | None, data)

        replay = _parse_replay(d.pop("replay"))

        request = FitRequestAsSent.from_dict(d.pop("request"))

        running_seconds = d.pop("running_seconds")

        def _parse_runtime(data: object) -> FitRuntime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                runtime_type_0 = FitRuntime.from_dict(data)

                return runtime_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FitRuntime | None, data)

        runtime = _parse_runtime(d.pop("runtime"))

        def _parse_started_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                started_at_type_0 = datetime.datetime.fromisoformat(data)

                return started_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        started_at = _parse_started_at(d.pop("started_at"))

        state = check_fit_state(d.pop("state"))

        step = d.pop("step")

        def _parse_stop_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        stop_reason = _parse_stop_reason(d.pop("stop_reason"))

        def _parse_sweep(data: object) -> None | SweepSummary:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                sweep_type_0 = SweepSummary.from_dict(data)

                return sweep_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SweepSummary, data)

        sweep = _parse_sweep(d.pop("sweep"))

        terminal = d.pop("terminal")

        total_steps = d.pop("total_steps")

        def _parse_variant(data: object) -> None | VariantInfo:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                variant_type_0 = VariantInfo.from_dict(data)

                return variant_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | VariantInfo, data)

        variant = _parse_variant(d.pop("variant"))

        object_ = cast(Literal["fit"] | Unset, d.pop("object", UNSET))
        if object_ != "fit" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'fit', got '{object_}'")

        fit = cls(
            attempt=attempt,
            attempts=attempts,
            attempts_max=attempts_max,
            best=best,
            bit_exact=bit_exact,
            created_at=created_at,
            dataset=dataset,
            datasets=datasets,
            deadline_at=deadline_at,
            epoch=epoch,
            error=error,
            eta_seconds=eta_seconds,
            finished_at=finished_at,
            graph=graph,
            id=id,
            labels=labels,
            latest=latest,
            links=links,
            nonfinite=nonfinite,
            origin=origin,
            parent=parent,
            phase=phase,
            progress=progress,
            record_every_steps=record_every_steps,
            reopened_at=reopened_at,
            replay=replay,
            request=request,
            running_seconds=running_seconds,
            runtime=runtime,
            started_at=started_at,
            state=state,
            step=step,
            stop_reason=stop_reason,
            sweep=sweep,
            terminal=terminal,
            total_steps=total_steps,
            variant=variant,
            object_=object_,
        )

        fit.additional_properties = d
        return fit

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
