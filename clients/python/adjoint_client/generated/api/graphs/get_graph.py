from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph import Graph
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    graph_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/graphs/{graph_id}".format(
            graph_id=quote(str(graph_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Graph | Problem:
    if response.status_code == 200:
        response_200 = Graph.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Graph | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Graph | Problem]:
    """Get a graph

     Returns the canonical definition of a graph, its node counts, shapes, memory estimate and findings.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Graph | Problem]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Graph | Problem | None:
    """Get a graph

     Returns the canonical definition of a graph, its node counts, shapes, memory estimate and findings.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Graph | Problem
    """

    return sync_detailed(
        graph_id=graph_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Graph | Problem]:
    """Get a graph

     Returns the canonical definition of a graph, its node counts, shapes, memory estimate and findings.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Graph | Problem]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Graph | Problem | None:
    """Get a graph

     Returns the canonical definition of a graph, its node counts, shapes, memory estimate and findings.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Graph | Problem
    """

    return (
        await asyncio_detailed(
            graph_id=graph_id,
            client=client,
        )
    ).parsed
