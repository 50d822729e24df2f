from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.list_sessions_order import ListSessionsOrder
from ...models.problem import Problem
from ...models.session_list import SessionList
from ...models.session_state import SessionState
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    state: None | SessionState | Unset = UNSET,
    label: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListSessionsOrder | Unset = "desc",
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
        "url": "/v1/sessions",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | SessionList:
    if response.status_code == 200:
        response_200 = SessionList.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Problem | SessionList]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    state: None | SessionState | Unset = UNSET,
    label: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListSessionsOrder | Unset = "desc",
) -> Response[Problem | SessionList]:
    """List sessions

     Lists sessions in pages, including those that have ended.

    Args:
        state (None | SessionState | Unset): Only sessions in this state.
        label (None | str | Unset): Only sessions with this key:value.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListSessionsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SessionList]
    """

    kwargs = _get_kwargs(
        state=state,
        label=label,
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
    state: None | SessionState | Unset = UNSET,
    label: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListSessionsOrder | Unset = "desc",
) -> Problem | SessionList | None:
    """List sessions

     Lists sessions in pages, including those that have ended.

    Args:
        state (None | SessionState | Unset): Only sessions in this state.
        label (None | str | Unset): Only sessions with this key:value.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListSessionsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SessionList
    """

    return sync_detailed(
        client=client,
        state=state,
        label=label,
        limit=limit,
        cursor=cursor,
        order=order,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    state: None | SessionState | Unset = UNSET,
    label: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListSessionsOrder | Unset = "desc",
) -> Response[Problem | SessionList]:
    """List sessions

     Lists sessions in pages, including those that have ended.

    Args:
        state (None | SessionState | Unset): Only sessions in this state.
        label (None | str | Unset): Only sessions with this key:value.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListSessionsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | SessionList]
    """

    kwargs = _get_kwargs(
        state=state,
        label=label,
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    state: None | SessionState | Unset = UNSET,
    label: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListSessionsOrder | Unset = "desc",
) -> Problem | SessionList | None:
    """List sessions

     Lists sessions in pages, including those that have ended.

    Args:
        state (None | SessionState | Unset): Only sessions in this state.
        label (None | str | Unset): Only sessions with this key:value.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListSessionsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | SessionList
    """

    return (
        await asyncio_detailed(
            client=client,
            state=state,
            label=label,
            limit=limit,
            cursor=cursor,
            order=order,
        )
    ).parsed
