from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.operation import Operation
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    seq: int,
    *,
    wait: float | Unset = 0.0,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["wait"] = wait

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/operations/{seq}".format(
            session_id=quote(str(session_id), safe=""),
            seq=quote(str(seq), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Operation | Problem:
    if response.status_code == 200:
        response_200 = Operation.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Operation | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    session_id: str,
    seq: int,
    *,
    client: AuthenticatedClient | Client,
    wait: float | Unset = 0.0,
) -> Response[Operation | Problem]:
    """Get the result of an asynchronous step

     Returns the result of a step that was accepted with `Prefer: respond-async`. With `wait`, the
    response is held
    until the step is done or the time is over.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int): The place of the step.
        wait (float | Unset): Seconds to wait for it to be done. Default: 0.0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Operation | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        seq=seq,
        wait=wait,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    session_id: str,
    seq: int,
    *,
    client: AuthenticatedClient | Client,
    wait: float | Unset = 0.0,
) -> Operation | Problem | None:
    """Get the result of an asynchronous step

     Returns the result of a step that was accepted with `Prefer: respond-async`. With `wait`, the
    response is held
    until the step is done or the time is over.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int): The place of the step.
        wait (float | Unset): Seconds to wait for it to be done. Default: 0.0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Operation | Problem
    """

    return sync_detailed(
        session_id=session_id,
        seq=seq,
        client=client,
        wait=wait,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    seq: int,
    *,
    client: AuthenticatedClient | Client,
    wait: float | Unset = 0.0,
) -> Response[Operation | Problem]:
    """Get the result of an asynchronous step

     Returns the result of a step that was accepted with `Prefer: respond-async`. With `wait`, the
    response is held
    until the step is done or the time is over.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int): The place of the step.
        wait (float | Unset): Seconds to wait for it to be done. Default: 0.0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Operation | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        seq=seq,
        wait=wait,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    seq: int,
    *,
    client: AuthenticatedClient | Client,
    wait: float | Unset = 0.0,
) -> Operation | Problem | None:
    """Get the result of an asynchronous step

     Returns the result of a step that was accepted with `Prefer: respond-async`. With `wait`, the
    response is held
    until the step is done or the time is over.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int): The place of the step.
        wait (float | Unset): Seconds to wait for it to be done. Default: 0.0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Operation | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            seq=seq,
            client=client,
            wait=wait,
        )
    ).parsed
