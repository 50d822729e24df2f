from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.fit_list import FitList
from ...models.fit_state import FitState
from ...models.list_fits_order import ListFitsOrder
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    state: FitState | None | Unset = UNSET,
    label: None | str | Unset = UNSET,
    parent: None | str | Unset = UNSET,
    origin: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListFitsOrder | Unset = "desc",
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_state: None | str | Unset
    if isinstance(state, Unset):
        json_state = UNSET
    elif isinstance(state, str):
        json_state = state
    else:
        json_state = state
    params["state"] = json_state

    json_label: None | str | Unset
    if isinstance(label, Unset):
        json_label = UNSET
    else:
        json_label = label
    params["label"] = json_label

    json_parent: None | str | Unset
    if isinstance(parent, Unset):
        json_parent = UNSET
    else:
        json_parent = parent
    params["parent"] = json_parent

    json_origin: None | str | Unset
    if isinstance(origin, Unset):
        json_origin = UNSET
    else:
        json_origin = origin
    params["origin"] = json_origin

    params["limit"] = limit

    json_cursor: None | str | Unset
    if isinstance(cursor, Unset):
        json_cursor = UNSET
    else:
        json_cursor = cursor
    params["cursor"] = json_cursor

    json_order: str | Unset = UNSET
    if not isinstance(order, Unset):
        json_order = order

    params["order"] = json_order

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/fits",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> FitList | Problem:
    if response.status_code == 200:
        response_200 = FitList.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[FitList | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    state: FitState | None | Unset = UNSET,
    label: None | str | Unset = UNSET,
    parent: None | str | Unset = UNSET,
    origin: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListFitsOrder | Unset = "desc",
) -> Response[FitList | Problem]:
    """List fits

     Lists fits in pages, newest first by default. The variants of a sweep are listed only with `parent`.

    Args:
        state (FitState | None | Unset): Only fits in this state.
        label (None | str | Unset): Only fits with this key:value.
        parent (None | str | Unset): Only variants of the sweep of this fit, else none of any
            sweep.
        origin (None | str | Unset): Only fits that were forked from this fit's checkpoints.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListFitsOrder | Unset): Order by age; `desc` (the default) lists the newest first.
            Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[FitList | Problem]
    """

    kwargs = _get_kwargs(
        state=state,
        label=label,
        parent=parent,
        origin=origin,
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    state: FitState | None | Unset = UNSET,
    label: None | str | Unset = UNSET,
    parent: None | str | Unset = UNSET,
    origin: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListFitsOrder | Unset = "desc",
) -> FitList | Problem | None:
    """List fits

     Lists fits in pages, newest first by default. The variants of a sweep are listed only with `parent`.

    Args:
        state (FitState | None | Unset): Only fits in this state.
        label (None | str | Unset): Only fits with this key:value.
        parent (None | str | Unset): Only variants of the sweep of this fit, else none of any
            sweep.
        origin (None | str | Unset): Only fits that were forked from this fit's checkpoints.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListFitsOrder | Unset): Order by age; `desc` (the default) lists the newest first.
            Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        FitList | Problem
    """

    return sync_detailed(
        client=client,
        state=state,
        label=label,
        parent=parent,
        origin=origin,
        limit=limit,
        cursor=cursor,
        order=order,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    state: FitState | None | Unset = UNSET,
    label: None | str | Unset = UNSET,
    parent: None | str | Unset = UNSET,
    origin: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListFitsOrder | Unset = "desc",
) -> Response[FitList | Problem]:
    """List fits

     Lists fits in pages, newest first by default. The variants of a sweep are listed only with `parent`.

    Args:
        state (FitState | None | Unset): Only fits in this state.
        label (None | str | Unset): Only fits with this key:value.
        parent (None | str | Unset): Only variants of the sweep of this fit, else none of any
            sweep.
        origin (None | str | Unset): Only fits that were forked from this fit's checkpoints.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListFitsOrder | Unset): Order by age; `desc` (the default) lists the newest first.
            Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[FitList | Problem]
    """

    kwargs = _get_kwargs(
        state=state,
        label=label,
        parent=parent,
        origin=origin,
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    state: FitState | None | Unset = UNSET,
    label: None | str | Unset = UNSET,
    parent: None | str | Unset = UNSET,
    origin: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListFitsOrder | Unset = "desc",
) -> FitList | Problem | None:
    """List fits

     Lists fits in pages, newest first by default. The variants of a sweep are listed only with `parent`.

    Args:
        state (FitState | None | Unset): Only fits in this state.
        label (None | str | Unset): Only fits with this key:value.
        parent (None | str | Unset): Only variants of the sweep of this fit, else none of any
            sweep.
        origin (None | str | Unset): Only fits that were forked from this fit's checkpoints.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListFitsOrder | Unset): Order by age; `desc` (the default) lists the newest first.
            Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        FitList | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            state=state,
            label=label,
            parent=parent,
            origin=origin,
            limit=limit,
            cursor=cursor,
            order=order,
        )
    ).parsed
