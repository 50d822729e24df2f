from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.draw_session_graph_of import DrawSessionGraphOf
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    graph: str | Unset = "main",
    of: DrawSessionGraphOf | Unset = "backward",
    cgraph: None | str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    json_of: str | Unset = UNSET
    if not isinstance(of, Unset):
        json_of = of

    params["of"] = json_of

    json_cgraph: None | str | Unset
    if isinstance(cgraph, Unset):
        json_cgraph = UNSET
    else:
        json_cgraph = cgraph
    params["cgraph"] = json_cgraph

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph/dot".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Any | Problem:
    if response.status_code == 200:
        response_200 = response.json()
        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Any | Problem]:
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
    of: DrawSessionGraphOf | Unset = "backward",
    cgraph: None | str | Unset = UNSET,
) -> Response[Any | Problem]:
    """Draw a graph of a static session

     Returns a graph in the DOT language of Graphviz; gradients are drawn with the values that they
    belong to.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        of (DrawSessionGraphOf | Unset): forward: without the gradients. Default: 'backward'.
        cgraph (None | str | Unset): The graph that tells which nodes are the forward pass's.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        of=of,
        cgraph=cgraph,
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
    of: DrawSessionGraphOf | Unset = "backward",
    cgraph: None | str | Unset = UNSET,
) -> Any | Problem | None:
    """Draw a graph of a static session

     Returns a graph in the DOT language of Graphviz; gradients are drawn with the values that they
    belong to.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        of (DrawSessionGraphOf | Unset): forward: without the gradients. Default: 'backward'.
        cgraph (None | str | Unset): The graph that tells which nodes are the forward pass's.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Problem
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        graph=graph,
        of=of,
        cgraph=cgraph,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    of: DrawSessionGraphOf | Unset = "backward",
    cgraph: None | str | Unset = UNSET,
) -> Response[Any | Problem]:
    """Draw a graph of a static session

     Returns a graph in the DOT language of Graphviz; gradients are drawn with the values that they
    belong to.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        of (DrawSessionGraphOf | Unset): forward: without the gradients. Default: 'backward'.
        cgraph (None | str | Unset): The graph that tells which nodes are the forward pass's.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Any | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        of=of,
        cgraph=cgraph,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    of: DrawSessionGraphOf | Unset = "backward",
    cgraph: None | str | Unset = UNSET,
) -> Any | Problem | None:
    """Draw a graph of a static session

     Returns a graph in the DOT language of Graphviz; gradients are drawn with the values that they
    belong to.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        of (DrawSessionGraphOf | Unset): forward: without the gradients. Default: 'backward'.
        cgraph (None | str | Unset): The graph that tells which nodes are the forward pass's.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Any | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            graph=graph,
            of=of,
            cgraph=cgraph,
        )
    ).parsed
