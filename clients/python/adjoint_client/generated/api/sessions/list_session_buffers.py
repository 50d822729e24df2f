from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.tensor_list import TensorList
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    stats: bool | Unset = False,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["stats"] = stats

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/buffers".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | TensorList:
    if response.status_code == 200:
        response_200 = TensorList.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Problem | TensorList]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> Response[Problem | TensorList]:
    """List the buffers of a session

     Lists the buffers with their norms, or returns all of them as safetensors, as Accept says.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | TensorList]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        stats=stats,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> Problem | TensorList | None:
    """List the buffers of a session

     Lists the buffers with their norms, or returns all of them as safetensors, as Accept says.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | TensorList
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        stats=stats,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> Response[Problem | TensorList]:
    """List the buffers of a session

     Lists the buffers with their norms, or returns all of them as safetensors, as Accept says.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | TensorList]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        stats=stats,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> Problem | TensorList | None:
    """List the buffers of a session

     Lists the buffers with their norms, or returns all of them as safetensors, as Accept says.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | TensorList
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            stats=stats,
        )
    ).parsed
