from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.compute_plan_answer import ComputePlanAnswer
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    graph: str | Unset = "main",
    n_threads: int | Unset = 0,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["graph"] = graph

    params["n_threads"] = n_threads

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/sessions/{session_id}/graph/plan".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> ComputePlanAnswer | Problem:
    if response.status_code == 200:
        response_200 = ComputePlanAnswer.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[ComputePlanAnswer | Problem]:
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
    n_threads: int | Unset = 0,
) -> Response[ComputePlanAnswer | Problem]:
    """Plan the computation of a static graph

     Returns the size of the work buffer and the number of threads that would compute (ggml_graph_plan).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        n_threads (int | Unset): Threads; below 1: the pool's, or 4 without one. Default: 0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ComputePlanAnswer | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        n_threads=n_threads,
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
    n_threads: int | Unset = 0,
) -> ComputePlanAnswer | Problem | None:
    """Plan the computation of a static graph

     Returns the size of the work buffer and the number of threads that would compute (ggml_graph_plan).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        n_threads (int | Unset): Threads; below 1: the pool's, or 4 without one. Default: 0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ComputePlanAnswer | Problem
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        graph=graph,
        n_threads=n_threads,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    n_threads: int | Unset = 0,
) -> Response[ComputePlanAnswer | Problem]:
    """Plan the computation of a static graph

     Returns the size of the work buffer and the number of threads that would compute (ggml_graph_plan).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        n_threads (int | Unset): Threads; below 1: the pool's, or 4 without one. Default: 0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[ComputePlanAnswer | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        graph=graph,
        n_threads=n_threads,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    graph: str | Unset = "main",
    n_threads: int | Unset = 0,
) -> ComputePlanAnswer | Problem | None:
    """Plan the computation of a static graph

     Returns the size of the work buffer and the number of threads that would compute (ggml_graph_plan).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        graph (str | Unset): Which graph. Default: 'main'.
        n_threads (int | Unset): Threads; below 1: the pool's, or 4 without one. Default: 0.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        ComputePlanAnswer | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            graph=graph,
            n_threads=n_threads,
        )
    ).parsed
