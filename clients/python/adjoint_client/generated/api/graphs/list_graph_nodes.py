from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.graph_nodes import GraphNodes
from ...models.http_validation_error import HTTPValidationError
from ...types import UNSET, Unset
from typing import cast


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
        "url": "/v1/graphs/{graph_id}/nodes".format(
            graph_id=quote(str(graph_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> GraphNodes | HTTPValidationError | None:
    if response.status_code == 200:
        response_200 = GraphNodes.from_dict(response.json())

        return response_200

    if response.status_code == 422:
        response_422 = HTTPValidationError.from_dict(response.json())

        return response_422

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GraphNodes | HTTPValidationError]:
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
) -> Response[GraphNodes | HTTPValidationError]:
    """List Graph Nodes

     List the nodes in the order of execution.

    Args:
        graph_id (str):
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphNodes | HTTPValidationError]
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
) -> GraphNodes | HTTPValidationError | None:
    """List Graph Nodes

     List the nodes in the order of execution.

    Args:
        graph_id (str):
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphNodes | HTTPValidationError
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
) -> Response[GraphNodes | HTTPValidationError]:
    """List Graph Nodes

     List the nodes in the order of execution.

    Args:
        graph_id (str):
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphNodes | HTTPValidationError]
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
) -> GraphNodes | HTTPValidationError | None:
    """List Graph Nodes

     List the nodes in the order of execution.

    Args:
        graph_id (str):
        backward (bool | Unset): With the backward nodes after the forward ones. Default: False.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphNodes | HTTPValidationError
    """

    return (
        await asyncio_detailed(
            graph_id=graph_id,
            client=client,
            backward=backward,
        )
    ).parsed
