"""The queries of lists: which page, in which order, and what is filtered. All lists of resources take the same ones,
as far as they have a name, a state or labels.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated, Any, Literal

from fastapi import Depends, Query
from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

from app.api.deps import PageDep
from app.api.schemas.values import NAME_MAX
from app.domain.clock import read_rfc3339
from app.domain.fit import FitState
from app.domain.session import SessionState
from app.store.lists import Filters
from app.store.pages import PageRequest

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")

FitOrder = Literal["created_at", "name", "step", "finished_at"]
DatasetOrder = Literal["created_at", "name", "rows", "size_bytes"]
GraphOrder = Literal["created_at", "name"]
CheckpointOrder = Literal["created_at", "step", "size_bytes"]
SessionOrder = Literal["created_at", "name", "used_at"]


@dataclass(frozen=True, slots=True)
class ListQuery:
    """A page of a list, and what the list is filtered by."""

    page: PageRequest
    filters: Filters


def _moment(text: str) -> str:
    try:
        read_rfc3339(f"{text}T00:00:00Z" if _DATE.fullmatch(text) else text)
    except ValueError as error:
        message = "{why}, or a date as 2026-01-31, which begins in UTC; write + as %2B in a query"
        raise PydanticCustomError("malformed", message, {"why": str(error)}) from error
    return text


def _read_moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    return read_rfc3339(f"{text}T00:00:00Z" if _DATE.fullmatch(text) else text)


_Moment = Annotated[str, AfterValidator(_moment)]
Name = Annotated[str | None, Query(min_length=1, max_length=NAME_MAX, description="Only those with this exact name.")]
NamePrefix = Annotated[
    str | None,
    Query(
        min_length=1, max_length=NAME_MAX, description="Only those whose names begin with this prefix; case-sensitive."
    ),
]
CreatedAfter = Annotated[
    _Moment | None, Query(max_length=64, description="Only those created later than this date or time, RFC 3339.")
]
CreatedBefore = Annotated[
    _Moment | None, Query(max_length=64, description="Only those created earlier than this date or time, RFC 3339.")
]
Label = Annotated[str | None, Query(pattern=r"^[^:]{1,64}:.{0,256}$", description="Only those with this key:value.")]
ORDER_BY = "Key of the order; entries with equal values are ordered by age."


async def _ages(created_after: CreatedAfter = None, created_before: CreatedBefore = None) -> Filters:
    return Filters(created_after=_read_moment(created_after), created_before=_read_moment(created_before))


async def _names(
    ages: Annotated[Filters, Depends(_ages)], name: Name = None, name_prefix: NamePrefix = None
) -> Filters:
    return replace(ages, name=name, name_prefix=name_prefix)


async def _labels(names: Annotated[Filters, Depends(_names)], label: Label = None) -> Filters:
    key, _, value = (label or "").partition(":")
    return replace(names, label=(key, value) if label else None)


async def _fits(
    page: PageDep,
    filters: Annotated[Filters, Depends(_labels)],
    state: Annotated[FitState | None, Query(description="Only fits in this state.")] = None,
    order_by: Annotated[
        FitOrder, Query(description=f"{ORDER_BY} With finished_at, those that have not ended count as the latest.")
    ] = "created_at",
) -> ListQuery:
    return ListQuery(replace(page, order_by=order_by), replace(filters, state=state))


async def _sessions(
    page: PageDep,
    filters: Annotated[Filters, Depends(_labels)],
    state: Annotated[SessionState | None, Query(description="Only sessions in this state.")] = None,
    order_by: Annotated[SessionOrder, Query(description=ORDER_BY)] = "created_at",
) -> ListQuery:
    return ListQuery(replace(page, order_by=order_by), replace(filters, state=state))


def _sorted(orders: Any, filters: Callable[..., Any]) -> Any:
    """Return the dependency of a list that is ordered by one of `orders` and has the filters of `filters`."""

    async def query(
        page: PageDep,
        found: Annotated[Filters, Depends(filters)],
        order_by: Annotated[orders, Query(description=ORDER_BY)] = "created_at",
    ) -> ListQuery:
        return ListQuery(replace(page, order_by=order_by), found)

    return Depends(query)


FitQuery = Annotated[ListQuery, Depends(_fits)]
SessionQuery = Annotated[ListQuery, Depends(_sessions)]
DatasetQuery = Annotated[ListQuery, _sorted(DatasetOrder, _names)]
GraphQuery = Annotated[ListQuery, _sorted(GraphOrder, _names)]
CheckpointQuery = Annotated[ListQuery, _sorted(CheckpointOrder, _ages)]
