from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph import Graph
from ...models.graph_definition import GraphDefinition
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: GraphDefinition,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/graphs",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Graph | Problem:
    if response.status_code == 201:
        response_201 = Graph.from_dict(response.json())

        return response_201

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
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Graph | Problem]:
    """Create a graph

     Validates and stores a graph, given as nodes, as layers or as a program in the expression language.
    The response
    holds the nodes.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Graph | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
    idempotency_key: None | str | Unset = UNSET,
) -> Graph | Problem | None:
    """Create a graph

     Validates and stores a graph, given as nodes, as layers or as a program in the expression language.
    The response
    holds the nodes.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Graph | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Graph | Problem]:
    """Create a graph

     Validates and stores a graph, given as nodes, as layers or as a program in the expression language.
    The response
    holds the nodes.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Graph | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: GraphDefinition,
    idempotency_key: None | str | Unset = UNSET,
) -> Graph | Problem | None:
    """Create a graph

     Validates and stores a graph, given as nodes, as layers or as a program in the expression language.
    The response
    holds the nodes.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (GraphDefinition): A graph in one of three forms: nodes, layers, or a program. The
            answer always holds the nodes.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Graph | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
