from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.audit_list import AuditList
from ...models.list_audit_entries_order import ListAuditEntriesOrder
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListAuditEntriesOrder | Unset = "desc",
) -> dict[str, Any]:

    params: dict[str, Any] = {}

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
        "url": "/v1/audit",
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> AuditList | Problem:
    if response.status_code == 200:
        response_200 = AuditList.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[AuditList | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListAuditEntriesOrder | Unset = "desc",
) -> Response[AuditList | Problem]:
    """List audit entries

     Lists who requested which change, and its result. Each entry holds the hash of the entry before it;
    `adjoint
    audit verify` checks the whole chain. Requires the scope `admin`.

    Args:
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListAuditEntriesOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AuditList | Problem]
    """

    kwargs = _get_kwargs(
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
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListAuditEntriesOrder | Unset = "desc",
) -> AuditList | Problem | None:
    """List audit entries

     Lists who requested which change, and its result. Each entry holds the hash of the entry before it;
    `adjoint
    audit verify` checks the whole chain. Requires the scope `admin`.

    Args:
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListAuditEntriesOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AuditList | Problem
    """

    return sync_detailed(
        client=client,
        limit=limit,
        cursor=cursor,
        order=order,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListAuditEntriesOrder | Unset = "desc",
) -> Response[AuditList | Problem]:
    """List audit entries

     Lists who requested which change, and its result. Each entry holds the hash of the entry before it;
    `adjoint
    audit verify` checks the whole chain. Requires the scope `admin`.

    Args:
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListAuditEntriesOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[AuditList | Problem]
    """

    kwargs = _get_kwargs(
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListAuditEntriesOrder | Unset = "desc",
) -> AuditList | Problem | None:
    """List audit entries

     Lists who requested which change, and its result. Each entry holds the hash of the entry before it;
    `adjoint
    audit verify` checks the whole chain. Requires the scope `admin`.

    Args:
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListAuditEntriesOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        AuditList | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            limit=limit,
            cursor=cursor,
            order=order,
        )
    ).parsed
