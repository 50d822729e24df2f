from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.element_answer import ElementAnswer
from ...models.problem import Problem
from ...models.tensor import Tensor
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    name: str,
    *,
    graph: str | Unset = "main",
    index: None | str | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    json_index: None | str | Unset
    if isinstance(index, Unset):
        json_index = UNSET
    else:
        json_index = index
    params["index"] = json_index

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph/tensors/{name}".format(
            session_id=quote(str(session_id), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> ElementAnswer | Tensor | Problem:
    if response.status_code == 200:

        def _parse_response_200(data: object) -> ElementAnswer | Tensor:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                response_200_type_0 = Tensor.from_dict(data)

                return response_200_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            response_200_type_1 = ElementAnswer.from_dict(data)

            return response_200_type_1

        response_200 = _parse_response_200(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[ElementAnswer | Tensor | Problem]:
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
    index: None | str | Unset = UNSET,
) -> Response[ElementAnswer | Tensor | Problem]:
    """Get a tensor of a static graph

     Returns the data of a leaf or of a computed node: the whole tensor, or one element with `index`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        index (None | str | Unset): One element: its place, or an index for each axis.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ElementAnswer | Tensor | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        name=name,
        graph=graph,
        index=index,
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
    index: None | str | Unset = UNSET,
) -> ElementAnswer | Tensor | Problem | None:
    """Get a tensor of a static graph

     Returns the data of a leaf or of a computed node: the whole tensor, or one element with `index`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        index (None | str | Unset): One element: its place, or an index for each axis.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ElementAnswer | Tensor | Problem
    """

    return sync_detailed(
        session_id=session_id,
        name=name,
        client=client,
        graph=graph,
        index=index,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    index: None | str | Unset = UNSET,
) -> Response[ElementAnswer | Tensor | Problem]:
    """Get a tensor of a static graph

     Returns the data of a leaf or of a computed node: the whole tensor, or one element with `index`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        index (None | str | Unset): One element: its place, or an index for each axis.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ElementAnswer | Tensor | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        name=name,
        graph=graph,
        index=index,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    index: None | str | Unset = UNSET,
) -> ElementAnswer | Tensor | Problem | None:
    """Get a tensor of a static graph

     Returns the data of a leaf or of a computed node: the whole tensor, or one element with `index`.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        name (str): A name in the graph, or in the definition.
        graph (str | Unset): Which graph. Default: 'main'.
        index (None | str | Unset): One element: its place, or an index for each axis.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ElementAnswer | Tensor | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            name=name,
            client=client,
            graph=graph,
            index=index,
        )
    ).parsed
