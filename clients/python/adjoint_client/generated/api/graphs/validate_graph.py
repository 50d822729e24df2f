from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_definition import GraphDefinition
from ...models.graph_report import GraphReport
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: GraphDefinition,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/graphs:validate",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> GraphReport | Problem:
    if response.status_code == 200:
        response_200 = GraphReport.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GraphReport | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
) -> Response[GraphReport | Problem]:
    """Validate a graph

     Returns the same report as creating a graph, and stores nothing.

    Args:
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphReport | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
) -> GraphReport | Problem | None:
    """Validate a graph

     Returns the same report as creating a graph, and stores nothing.

    Args:
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphReport | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
) -> Response[GraphReport | Problem]:
    """Validate a graph

     Returns the same report as creating a graph, and stores nothing.

    Args:
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphReport | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
) -> GraphReport | Problem | None:
    """Validate a graph

     Returns the same report as creating a graph, and stores nothing.

    Args:
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphReport | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
