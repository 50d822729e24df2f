from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    graph_id: str,
    *,
    backward: bool | Unset = False,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["backward"] = backward

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/graphs/{graph_id}/dot".format(
            graph_id=quote(str(graph_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | str:
    if response.status_code == 200:
        response_200 = response.text
        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | str]:
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
    backward: bool | Unset = False,
) -> Response[Problem | str]:
    """Draw a graph

     Returns the nodes of a graph in the DOT language of Graphviz.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
        backward=backward,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    backward: bool | Unset = False,
) -> Problem | str | None:
    """Draw a graph

     Returns the nodes of a graph in the DOT language of Graphviz.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
    """

    return sync_detailed(
        graph_id=graph_id,
        client=client,
        backward=backward,
    ).parsed


async def asyncio_detailed(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    backward: bool | Unset = False,
) -> Response[Problem | str]:
    """Draw a graph

     Returns the nodes of a graph in the DOT language of Graphviz.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
        backward=backward,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    backward: bool | Unset = False,
) -> Problem | str | None:
    """Draw a graph

     Returns the nodes of a graph in the DOT language of Graphviz.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
    """

    return (
        await asyncio_detailed(
            graph_id=graph_id,
            client=client,
            backward=backward,
        )
    ).parsed
