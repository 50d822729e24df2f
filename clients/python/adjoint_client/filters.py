"""What lists are filtered and ordered by."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from adjoint_client.generated.schemas import FitState, SessionState


class CreationFilters(TypedDict, total=False):
    """Filters by age: a datetime, or a date or time as text (RFC 3339)."""

    created_after: str | datetime
    created_before: str | datetime


class NameFilters(CreationFilters, total=False):
    """Filters of what has a name: the exact one, or how it begins."""

    name: str
    name_prefix: str


class FitFilters(NameFilters, total=False):
    """Filters of fits: a `label` as "team:a"; `parent` is a sweep, whose variants are listed; `origin` a fit that the
    listed ones were forked from.
    """

    state: FitState
    label: str
    parent: str
    origin: str
    order_by: Literal["created_at", "name", "step", "finished_at"]


class DatasetFilters(NameFilters, total=False):
    """Filters of datasets."""

    order_by: Literal["created_at", "name", "rows", "size_bytes"]


class GraphFilters(NameFilters, total=False):
    """Filters of graphs."""

    order_by: Literal["created_at", "name"]


class CheckpointFilters(CreationFilters, total=False):
    """Filters of checkpoints: ids of a session and of a graph."""

    session: str
    graph: str
    order_by: Literal["created_at", "step", "size_bytes"]


class SessionFilters(NameFilters, total=False):
    """Filters of sessions: a `label` as "team:a"."""

    state: SessionState
    label: str
    order_by: Literal["created_at", "name", "used_at"]


def query_of(filters: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Return the query of a list. A datetime without a time zone is local time, as everywhere in Python."""
    return {name: _text(value) for name, value in {**filters, **more}.items() if value is not None}


def _text(value: Any) -> Any:
    return value.astimezone().isoformat() if isinstance(value, datetime) else value
