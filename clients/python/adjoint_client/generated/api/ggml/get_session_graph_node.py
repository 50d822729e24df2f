from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_node import GraphNode
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    node: str,
    *,
    graph: str | Unset = "main",
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph/nodes/{node}".format(
            session_id=quote(str(session_id), safe=""),
            node=quote(str(node), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> GraphNode | Problem:
    if response.status_code == 200:
        response_200 = GraphNode.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[GraphNode | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    session_id: str,
    node: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
) -> Response[GraphNode | Problem]:
    """Get a node of a static graph

     Returns a node by position or name, or a leaf by name.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        node (str): A position, from the end if negative; or a name.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphNode | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        node=node,
        graph=graph,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    session_id: str,
    node: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
) -> GraphNode | Problem | None:
    """Get a node of a static graph

     Returns a node by position or name, or a leaf by name.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        node (str): A position, from the end if negative; or a name.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphNode | Problem
    """

    return sync_detailed(
        session_id=session_id,
        node=node,
        client=client,
        graph=graph,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    node: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
) -> Response[GraphNode | Problem]:
    """Get a node of a static graph

     Returns a node by position or name, or a leaf by name.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        node (str): A position, from the end if negative; or a name.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphNode | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        node=node,
        graph=graph,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    node: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
) -> GraphNode | Problem | None:
    """Get a node of a static graph

     Returns a node by position or name, or a leaf by name.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        node (str): A position, from the end if negative; or a name.
        graph (str | Unset): Which graph. Default: 'main'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphNode | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            node=node,
            client=client,
            graph=graph,
        )
    ).parsed
