from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_node_list import GraphNodeList
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    graph: str | Unset = "main",
    index: int | None | Unset = UNSET,
    name: None | str | Unset = UNSET,
    leafs: bool | Unset = True,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    json_index: int | None | Unset
    if isinstance(index, Unset):
        json_index = UNSET
    else:
        json_index = index
    params["index"] = json_index

    json_name: None | str | Unset
    if isinstance(name, Unset):
        json_name = UNSET
    else:
        json_name = name
    params["name"] = json_name

    params["leafs"] = leafs

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph/nodes".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> GraphNodeList | Problem:
    if response.status_code == 200:
        response_200 = GraphNodeList.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GraphNodeList | Problem]:
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
    index: int | None | Unset = UNSET,
    name: None | str | Unset = UNSET,
    leafs: bool | Unset = True,
) -> Response[GraphNodeList | Problem]:
    """List the nodes of a static graph

     Lists the nodes of a graph in execution order, and its leafs.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        index (int | None | Unset): Only this node, from the end if negative.
        name (None | str | Unset): Only the node or leaf of this name; none if there is none.
        leafs (bool | Unset): Whether leafs follow the nodes. Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphNodeList | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        index=index,
        name=name,
        leafs=leafs,
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
    index: int | None | Unset = UNSET,
    name: None | str | Unset = UNSET,
    leafs: bool | Unset = True,
) -> GraphNodeList | Problem | None:
    """List the nodes of a static graph

     Lists the nodes of a graph in execution order, and its leafs.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        index (int | None | Unset): Only this node, from the end if negative.
        name (None | str | Unset): Only the node or leaf of this name; none if there is none.
        leafs (bool | Unset): Whether leafs follow the nodes. Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphNodeList | Problem
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        graph=graph,
        index=index,
        name=name,
        leafs=leafs,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    index: int | None | Unset = UNSET,
    name: None | str | Unset = UNSET,
    leafs: bool | Unset = True,
) -> Response[GraphNodeList | Problem]:
    """List the nodes of a static graph

     Lists the nodes of a graph in execution order, and its leafs.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        index (int | None | Unset): Only this node, from the end if negative.
        name (None | str | Unset): Only the node or leaf of this name; none if there is none.
        leafs (bool | Unset): Whether leafs follow the nodes. Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphNodeList | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        index=index,
        name=name,
        leafs=leafs,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    index: int | None | Unset = UNSET,
    name: None | str | Unset = UNSET,
    leafs: bool | Unset = True,
) -> GraphNodeList | Problem | None:
    """List the nodes of a static graph

     Lists the nodes of a graph in execution order, and its leafs.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        index (int | None | Unset): Only this node, from the end if negative.
        name (None | str | Unset): Only the node or leaf of this name; none if there is none.
        leafs (bool | Unset): Whether leafs follow the nodes. Default: True.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphNodeList | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            graph=graph,
            index=index,
            name=name,
            leafs=leafs,
        )
    ).parsed
