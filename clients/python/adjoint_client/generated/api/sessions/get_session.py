from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.session import Session
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    wake: bool | Unset = False,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["wake"] = wake

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Session:
    if response.status_code == 200:
        response_200 = Session.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Session]:
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
    wake: bool | Unset = False,
) -> Response[Problem | Session]:
    """Get a session

     Returns a session and the state of its process. With `wake`, an idle session starts its process
    first.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        wake (bool | Unset): Start a process if there is none, so that all is known. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Session]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        wake=wake,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    wake: bool | Unset = False,
) -> Problem | Session | None:
    """Get a session

     Returns a session and the state of its process. With `wake`, an idle session starts its process
    first.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        wake (bool | Unset): Start a process if there is none, so that all is known. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Session
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        wake=wake,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    wake: bool | Unset = False,
) -> Response[Problem | Session]:
    """Get a session

     Returns a session and the state of its process. With `wake`, an idle session starts its process
    first.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        wake (bool | Unset): Start a process if there is none, so that all is known. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Session]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        wake=wake,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    wake: bool | Unset = False,
) -> Problem | Session | None:
    """Get a session

     Returns a session and the state of its process. With `wake`, an idle session starts its process
    first.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        wake (bool | Unset): Start a process if there is none, so that all is known. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Session
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            wake=wake,
        )
    ).parsed
