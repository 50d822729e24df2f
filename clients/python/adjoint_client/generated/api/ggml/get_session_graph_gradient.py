from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_gradient import GraphGradient
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    name: str,
    *,
    graph: str | Unset = "main",
    accumulator: bool | Unset = False,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    params["accumulator"] = accumulator

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph/gradients/{name}".format(
            session_id=quote(str(session_id), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> GraphGradient | Problem:
    if response.status_code == 200:
        response_200 = GraphGradient.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GraphGradient | Problem]:
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
    graph: str | Unset = "main",
    accumulator: bool | Unset = False,
) -> Response[GraphGradient | Problem]:
    """Get a gradient of a static graph

     Returns the gradient of the losses with respect to a value; null if no gradient flows there or the
    graph is not
    differentiated.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        accumulator (bool | Unset): The sum since the last reset; of a loss, its seed. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphGradient | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        name=name,
        graph=graph,
        accumulator=accumulator,
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
    graph: str | Unset = "main",
    accumulator: bool | Unset = False,
) -> GraphGradient | Problem | None:
    """Get a gradient of a static graph

     Returns the gradient of the losses with respect to a value; null if no gradient flows there or the
    graph is not
    differentiated.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        accumulator (bool | Unset): The sum since the last reset; of a loss, its seed. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphGradient | Problem
    """

    return sync_detailed(
        session_id=session_id,
        name=name,
        client=client,
        graph=graph,
        accumulator=accumulator,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    accumulator: bool | Unset = False,
) -> Response[GraphGradient | Problem]:
    """Get a gradient of a static graph

     Returns the gradient of the losses with respect to a value; null if no gradient flows there or the
    graph is not
    differentiated.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        accumulator (bool | Unset): The sum since the last reset; of a loss, its seed. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphGradient | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        name=name,
        graph=graph,
        accumulator=accumulator,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    accumulator: bool | Unset = False,
) -> GraphGradient | Problem | None:
    """Get a gradient of a static graph

     Returns the gradient of the losses with respect to a value; null if no gradient flows there or the
    graph is not
    differentiated.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        accumulator (bool | Unset): The sum since the last reset; of a loss, its seed. Default:
            False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphGradient | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            name=name,
            client=client,
            graph=graph,
            accumulator=accumulator,
        )
    ).parsed
