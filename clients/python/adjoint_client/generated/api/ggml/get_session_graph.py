from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_description import GraphDescription
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    graph: str | Unset = "main",
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> GraphDescription | Problem:
    if response.status_code == 200:
        response_200 = GraphDescription.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GraphDescription | Problem]:
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
) -> Response[GraphDescription | Problem]:
    """Get a graph of a static session

     Returns the capacity of a graph, its numbers of nodes and leafs, its outputs and losses.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphDescription | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
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
) -> GraphDescription | Problem | None:
    """Get a graph of a static session

     Returns the capacity of a graph, its numbers of nodes and leafs, its outputs and losses.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphDescription | Problem
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        graph=graph,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
) -> Response[GraphDescription | Problem]:
    """Get a graph of a static session

     Returns the capacity of a graph, its numbers of nodes and leafs, its outputs and losses.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphDescription | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
) -> GraphDescription | Problem | None:
    """Get a graph of a static session

     Returns the capacity of a graph, its numbers of nodes and leafs, its outputs and losses.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphDescription | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            graph=graph,
        )
    ).parsed
