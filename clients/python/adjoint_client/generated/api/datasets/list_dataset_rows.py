from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.dataset_rows import DatasetRows
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    dataset_id: str,
    *,
    offset: int | Unset = 0,
    limit: int | Unset = 100,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["offset"] = offset

    params["limit"] = limit

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/datasets/{dataset_id}/rows".format(
            dataset_id=quote(str(dataset_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> DatasetRows | Problem:
    if response.status_code == 200:
        response_200 = DatasetRows.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[DatasetRows | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    dataset_id: str,
    *,
    client: AuthenticatedClient | Client,
    offset: int | Unset = 0,
    limit: int | Unset = 100,
) -> Response[DatasetRows | Problem]:
    """List rows of a dataset

     Returns `limit` rows from `offset` on. A value that is missing or not finite is null.

    Args:
        dataset_id (str): Id: `ds_` and 26 characters.
        offset (int | Unset): Index of the first row, from 0. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DatasetRows | Problem]
    """

    kwargs = _get_kwargs(
        dataset_id=dataset_id,
        offset=offset,
        limit=limit,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    dataset_id: str,
    *,
    client: AuthenticatedClient | Client,
    offset: int | Unset = 0,
    limit: int | Unset = 100,
) -> DatasetRows | Problem | None:
    """List rows of a dataset

     Returns `limit` rows from `offset` on. A value that is missing or not finite is null.

    Args:
        dataset_id (str): Id: `ds_` and 26 characters.
        offset (int | Unset): Index of the first row, from 0. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DatasetRows | Problem
    """

    return sync_detailed(
        dataset_id=dataset_id,
        client=client,
        offset=offset,
        limit=limit,
    ).parsed


async def asyncio_detailed(
    dataset_id: str,
    *,
    client: AuthenticatedClient | Client,
    offset: int | Unset = 0,
    limit: int | Unset = 100,
) -> Response[DatasetRows | Problem]:
    """List rows of a dataset

     Returns `limit` rows from `offset` on. A value that is missing or not finite is null.

    Args:
        dataset_id (str): Id: `ds_` and 26 characters.
        offset (int | Unset): Index of the first row, from 0. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[DatasetRows | Problem]
    """

    kwargs = _get_kwargs(
        dataset_id=dataset_id,
        offset=offset,
        limit=limit,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    dataset_id: str,
    *,
    client: AuthenticatedClient | Client,
    offset: int | Unset = 0,
    limit: int | Unset = 100,
) -> DatasetRows | Problem | None:
    """List rows of a dataset

     Returns `limit` rows from `offset` on. A value that is missing or not finite is null.

    Args:
        dataset_id (str): Id: `ds_` and 26 characters.
        offset (int | Unset): Index of the first row, from 0. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 100.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        DatasetRows | Problem
    """

    return (
        await asyncio_detailed(
            dataset_id=dataset_id,
            client=client,
            offset=offset,
            limit=limit,
        )
    ).parsed
