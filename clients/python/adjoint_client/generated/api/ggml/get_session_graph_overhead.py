from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.overhead_answer import OverheadAnswer
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    graph: str | Unset = "main",
    size: int | None | Unset = UNSET,
    grads: bool | None | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    json_size: int | None | Unset
    if isinstance(size, Unset):
        json_size = UNSET
    else:
        json_size = size
    params["size"] = json_size

    json_grads: bool | None | Unset
    if isinstance(grads, Unset):
        json_grads = UNSET
    else:
        json_grads = grads
    params["grads"] = json_grads

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph/overhead".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> OverheadAnswer | Problem:
    if response.status_code == 200:
        response_200 = OverheadAnswer.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[OverheadAnswer | Problem]:
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
    graph: str | Unset = "main",
    size: int | None | Unset = UNSET,
    grads: bool | None | Unset = UNSET,
) -> Response[OverheadAnswer | Problem]:
    """Get the memory overhead of a static graph

     Returns the bytes that a graph of the given size occupies in a context, and the bytes in use in the
    session's
    context.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        size (int | None | Unset): Of a graph; by default this one's.
        grads (bool | None | Unset): By default as this graph.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[OverheadAnswer | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        size=size,
        grads=grads,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    size: int | None | Unset = UNSET,
    grads: bool | None | Unset = UNSET,
) -> OverheadAnswer | Problem | None:
    """Get the memory overhead of a static graph

     Returns the bytes that a graph of the given size occupies in a context, and the bytes in use in the
    session's
    context.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        size (int | None | Unset): Of a graph; by default this one's.
        grads (bool | None | Unset): By default as this graph.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        OverheadAnswer | Problem
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        graph=graph,
        size=size,
        grads=grads,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    size: int | None | Unset = UNSET,
    grads: bool | None | Unset = UNSET,
) -> Response[OverheadAnswer | Problem]:
    """Get the memory overhead of a static graph

     Returns the bytes that a graph of the given size occupies in a context, and the bytes in use in the
    session's
    context.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        size (int | None | Unset): Of a graph; by default this one's.
        grads (bool | None | Unset): By default as this graph.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[OverheadAnswer | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        size=size,
        grads=grads,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    size: int | None | Unset = UNSET,
    grads: bool | None | Unset = UNSET,
) -> OverheadAnswer | Problem | None:
    """Get the memory overhead of a static graph

     Returns the bytes that a graph of the given size occupies in a context, and the bytes in use in the
    session's
    context.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        size (int | None | Unset): Of a graph; by default this one's.
        grads (bool | None | Unset): By default as this graph.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        OverheadAnswer | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            graph=graph,
            size=size,
            grads=grads,
        )
    ).parsed
