from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.checkpoint_list import CheckpointList
from ...models.list_checkpoints_order import ListCheckpointsOrder
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    *,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListCheckpointsOrder | Unset = "desc",
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
        "url": "/v1/fits/{fit_id}/checkpoints".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> CheckpointList | Problem:
    if response.status_code == 200:
        response_200 = CheckpointList.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[CheckpointList | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListCheckpointsOrder | Unset = "desc",
) -> Response[CheckpointList | Problem]:
    """List the checkpoints of a fit

     Lists the checkpoints that are kept for a fit, in pages.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListCheckpointsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[CheckpointList | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListCheckpointsOrder | Unset = "desc",
) -> CheckpointList | Problem | None:
    """List the checkpoints of a fit

     Lists the checkpoints that are kept for a fit, in pages.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListCheckpointsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        CheckpointList | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
        limit=limit,
        cursor=cursor,
        order=order,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListCheckpointsOrder | Unset = "desc",
) -> Response[CheckpointList | Problem]:
    """List the checkpoints of a fit

     Lists the checkpoints that are kept for a fit, in pages.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListCheckpointsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[CheckpointList | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListCheckpointsOrder | Unset = "desc",
) -> CheckpointList | Problem | None:
    """List the checkpoints of a fit

     Lists the checkpoints that are kept for a fit, in pages.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListCheckpointsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        CheckpointList | Problem
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            client=client,
            limit=limit,
            cursor=cursor,
            order=order,
        )
    ).parsed
