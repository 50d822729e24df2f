from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.session_kind import SessionKind, check_session_kind
from ..models.session_state import SessionState, check_session_state
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.parameter_summary import ParameterSummary
    from ..models.session_classes import SessionClasses
    from ..models.session_error import SessionError
    from ..models.session_labels import SessionLabels
    from ..models.session_links import SessionLinks
    from ..models.session_optimizer_type_0 import SessionOptimizerType0
    from ..models.session_static_type_0 import SessionStaticType0


T = TypeVar("T", bound="Session")


@_attrs_define
class Session:
    """A model in training whose steps the client takes."""

    attempt: int
    """ Processes that were started for it. """
    bit_exact: bool
    """ False once it has gone on under other numerics: bits may differ from then on. """
    checkpoint: None | str
    """ The checkpoint that it was saved as when it expired. """
    classes: SessionClasses
    """ The class names of each input that takes text. """
    created_at: datetime.datetime
    """ Time of creation, RFC 3339 in UTC. """
    dataset: None | str
    """ What steps take rows of, unless they name another. """
    error: None | SessionError
    """ Why it failed; null otherwise. """
    executor: None | str
    """ What computes; null before the first process. """
    expires_at: datetime.datetime | None
    """ When it expires unless there is a step; null: it has ended. """
    finished_at: datetime.datetime | None
    """ Time at which it ended, RFC 3339 in UTC; null before that. """
    graph: str
    """ The graph, by id or name. """
    id: str
    """ Unique id. """
    kind: SessionKind
    """ Kind, one of the names in the catalogue. """
    labels: SessionLabels
    """ Labels: keys with values, for filtering lists. """
    links: SessionLinks
    """ Where to go on from a session. """
    next_seq: int | None
    """ The place of the next step. null: its process has not told since the server began; ask with wake=true. """
    optimizer: None | SessionOptimizerType0
    """ null: a session of kind static has none. """
    parameters: list[ParameterSummary]
    """ Parameters by name. """
    precision: str
    """ Number formats of the training. """
    process: None | str
    """ The process that works for it now: starting, ready or stopping; null: the next step starts one. """
    seed: int
    """ Seed of the random numbers. """
    state: SessionState
    """ Where a session is in its life. Whether a process works for it now is another matter: an idle one has none.
    """
    static: None | SessionStaticType0
    """ What a session of kind static was made with. """
    step: int | None
    """ Steps that the optimizer has taken. null: its process has not told since the server began; ask with
    wake=true. """
    threads: int | None
    """ Threads that work inside a step; null before the first process. """
    ttl_seconds: float
    """ Seconds without a request after which the session expires. """
    used_at: datetime.datetime
    """ When its last step was, to about a minute. """
    object_: Literal["session"] | Unset = "session"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        from ..models.session_error import SessionError  # noqa: PLC0415
        from ..models.session_optimizer_type_0 import SessionOptimizerType0  # noqa: PLC0415
        from ..models.session_static_type_0 import SessionStaticType0  # noqa: PLC0415

        attempt = self.attempt

        bit_exact = self.bit_exact

        checkpoint: None | str
        checkpoint = self.checkpoint

        classes = self.classes.to_dict()

        created_at = self.created_at.isoformat()

        dataset: None | str
        dataset = self.dataset

        error: dict[str, Any] | None
        if isinstance(self.error, SessionError):
            error = self.error.to_dict()
        else:
            error = self.error

        executor: None | str
        executor = self.executor

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        finished_at: None | str
        if isinstance(self.finished_at, datetime.datetime):
            finished_at = self.finished_at.isoformat()
        else:
            finished_at = self.finished_at

        graph = self.graph

        id = self.id

        kind: str = self.kind

        labels = self.labels.to_dict()

        links = self.links.to_dict()

        next_seq: int | None
        next_seq = self.next_seq

        optimizer: dict[str, Any] | None
        if isinstance(self.optimizer, SessionOptimizerType0):
            optimizer = self.optimizer.to_dict()
        else:
            optimizer = self.optimizer

        parameters = []
        for parameters_item_data in self.parameters:
            parameters_item = parameters_item_data.to_dict()
            parameters.append(parameters_item)

        precision = self.precision

        process: None | str
        process = self.process

        seed = self.seed

        state: str = self.state

        static: dict[str, Any] | None
        if isinstance(self.static, SessionStaticType0):
            static = self.static.to_dict()
        else:
            static = self.static

        step: int | None
        step = self.step

        threads: int | None
        threads = self.threads

        ttl_seconds = self.ttl_seconds

        used_at = self.used_at.isoformat()

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "attempt": attempt,
                "bit_exact": bit_exact,
                "checkpoint": checkpoint,
                "classes": classes,
                "created_at": created_at,
                "dataset": dataset,
                "error": error,
                "executor": executor,
                "expires_at": expires_at,
                "finished_at": finished_at,
                "graph": graph,
                "id": id,
                "kind": kind,
                "labels": labels,
                "links": links,
                "next_seq": next_seq,
                "optimizer": optimizer,
                "parameters": parameters,
                "precision": precision,
                "process": process,
                "seed": seed,
                "state": state,
                "static": static,
                "step": step,
                "threads": threads,
                "ttl_seconds": ttl_seconds,
                "used_at": used_at,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.parameter_summary import ParameterSummary  # noqa: PLC0415
        from ..models.session_classes import SessionClasses  # noqa: PLC0415
        from ..models.session_error import SessionError  # noqa: PLC0415
        from ..models.session_labels import SessionLabels  # noqa: PLC0415
        from ..models.session_links import SessionLinks  # noqa: PLC0415
        from ..models.session_optimizer_type_0 import SessionOptimizerType0  # noqa: PLC0415
        from ..models.session_static_type_0 import SessionStaticType0  # noqa: PLC0415

        d = dict(src_dict)
        attempt = d.pop("attempt")

        bit_exact = d.pop("bit_exact")

        def _parse_checkpoint(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        checkpoint = _parse_checkpoint(d.pop("checkpoint"))

        classes = SessionClasses.from_dict(d.pop("classes"))

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        def _parse_dataset(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        dataset = _parse_dataset(d.pop("dataset"))

        def _parse_error(data: object) -> None | SessionError:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                error_type_0 = SessionError.from_dict(data)

                return error_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionError, data)

        error = _parse_error(d.pop("error"))

        def _parse_executor(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        executor = _parse_executor(d.pop("executor"))

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expires_at = _parse_expires_at(d.pop("expires_at"))

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

        kind = check_session_kind(d.pop("kind"))

        labels = SessionLabels.from_dict(d.pop("labels"))

        links = SessionLinks.from_dict(d.pop("links"))

        def _parse_next_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        next_seq = _parse_next_seq(d.pop("next_seq"))

        def _parse_optimizer(data: object) -> None | SessionOptimizerType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                optimizer_type_0 = SessionOptimizerType0.from_dict(data)

                return optimizer_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionOptimizerType0, data)

        optimizer = _parse_optimizer(d.pop("optimizer"))

        parameters = []
        _parameters = d.pop("parameters")
        for parameters_item_data in _parameters:
            parameters_item = ParameterSummary.from_dict(parameters_item_data)

            parameters.append(parameters_item)

        precision = d.pop("precision")

        def _parse_process(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        process = _parse_process(d.pop("process"))

        seed = d.pop("seed")

        state = check_session_state(d.pop("state"))

        def _parse_static(data: object) -> None | SessionStaticType0:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                static_type_0 = SessionStaticType0.from_dict(data)

                return static_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionStaticType0, data)

        static = _parse_static(d.pop("static"))

        def _parse_step(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        step = _parse_step(d.pop("step"))

        def _parse_threads(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        threads = _parse_threads(d.pop("threads"))

        ttl_seconds = d.pop("ttl_seconds")

        used_at = datetime.datetime.fromisoformat(d.pop("used_at"))

        object_ = cast(Literal["session"] | Unset, d.pop("object", UNSET))
        if object_ != "session" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'session', got '{object_}'")

        session = cls(
            attempt=attempt,
            bit_exact=bit_exact,
            checkpoint=checkpoint,
            classes=classes,
            created_at=created_at,
            dataset=dataset,
            error=error,
            executor=executor,
            expires_at=expires_at,
            finished_at=finished_at,
            graph=graph,
            id=id,
            kind=kind,
            labels=labels,
            links=links,
            next_seq=next_seq,
            optimizer=optimizer,
            parameters=parameters,
            precision=precision,
            process=process,
            seed=seed,
            state=state,
            static=static,
            step=step,
            threads=threads,
            ttl_seconds=ttl_seconds,
            used_at=used_at,
            object_=object_,
        )

        session.additional_properties = d
        return session

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
