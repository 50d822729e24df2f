from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.tensor import Tensor
from ...models.tensor_statistics import TensorStatistics
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    name: str,
    *,
    stats: bool | Unset = False,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["stats"] = stats

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/buffers/{name}".format(
            session_id=quote(str(session_id), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> None | Tensor | TensorStatistics | Problem:
    if response.status_code == 200:

        def _parse_response_200(data: object) -> None | Tensor | TensorStatistics:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                response_200_type_0 = Tensor.from_dict(data)

                return response_200_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                response_200_type_1 = TensorStatistics.from_dict(data)

                return response_200_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | Tensor | TensorStatistics, data)

        response_200 = _parse_response_200(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[None | Tensor | TensorStatistics | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> Response[None | Tensor | TensorStatistics | Problem]:
    """Get a buffer of a session

     Returns one of the buffers as JSON or `.npy`, as Accept says; or its statistics with `stats`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str):
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[None | Tensor | TensorStatistics | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        name=name,
        stats=stats,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> None | Tensor | TensorStatistics | Problem | None:
    """Get a buffer of a session

     Returns one of the buffers as JSON or `.npy`, as Accept says; or its statistics with `stats`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str):
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        None | Tensor | TensorStatistics | Problem
    """

    return sync_detailed(
        session_id=session_id,
        name=name,
        client=client,
        stats=stats,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> Response[None | Tensor | TensorStatistics | Problem]:
    """Get a buffer of a session

     Returns one of the buffers as JSON or `.npy`, as Accept says; or its statistics with `stats`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str):
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[None | Tensor | TensorStatistics | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        name=name,
        stats=stats,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    stats: bool | Unset = False,
) -> None | Tensor | TensorStatistics | Problem | None:
    """Get a buffer of a session

     Returns one of the buffers as JSON or `.npy`, as Accept says; or its statistics with `stats`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str):
        stats (bool | Unset): Return statistics of the values instead of the values. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        None | Tensor | TensorStatistics | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            name=name,
            client=client,
            stats=stats,
        )
    ).parsed
