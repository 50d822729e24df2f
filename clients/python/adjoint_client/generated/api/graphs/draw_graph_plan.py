from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.draw_graph_plan_executor import DrawGraphPlanExecutor
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    graph_id: str,
    *,
    batch: int | Unset = 32,
    optimizer: None | str | Unset = UNSET,
    executor: DrawGraphPlanExecutor | Unset = "auto",
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    params["batch"] = batch

    json_optimizer: None | str | Unset
    if isinstance(optimizer, Unset):
        json_optimizer = UNSET
    else:
        json_optimizer = optimizer
    params["optimizer"] = json_optimizer

    json_executor: str | Unset = UNSET
    if not isinstance(executor, Unset):
        json_executor = executor

    params["executor"] = json_executor

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/graphs/{graph_id}/plan/dot".format(
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
    batch: int | Unset = 32,
    optimizer: None | str | Unset = UNSET,
    executor: DrawGraphPlanExecutor | Unset = "auto",
) -> Response[Problem | str]:
    """Draw an execution plan

     Returns the plan of a step in the DOT language of Graphviz: steps, and the buffers between them.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (DrawGraphPlanExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
        batch=batch,
        optimizer=optimizer,
        executor=executor,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    batch: int | Unset = 32,
    optimizer: None | str | Unset = UNSET,
    executor: DrawGraphPlanExecutor | Unset = "auto",
) -> Problem | str | None:
    """Draw an execution plan

     Returns the plan of a step in the DOT language of Graphviz: steps, and the buffers between them.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (DrawGraphPlanExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
    """

    return sync_detailed(
        graph_id=graph_id,
        client=client,
        batch=batch,
        optimizer=optimizer,
        executor=executor,
    ).parsed


async def asyncio_detailed(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    batch: int | Unset = 32,
    optimizer: None | str | Unset = UNSET,
    executor: DrawGraphPlanExecutor | Unset = "auto",
) -> Response[Problem | str]:
    """Draw an execution plan

     Returns the plan of a step in the DOT language of Graphviz: steps, and the buffers between them.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (DrawGraphPlanExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
        batch=batch,
        optimizer=optimizer,
        executor=executor,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    batch: int | Unset = 32,
    optimizer: None | str | Unset = UNSET,
    executor: DrawGraphPlanExecutor | Unset = "auto",
) -> Problem | str | None:
    """Draw an execution plan

     Returns the plan of a step in the DOT language of Graphviz: steps, and the buffers between them.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (DrawGraphPlanExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

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
            batch=batch,
            optimizer=optimizer,
            executor=executor,
        )
    ).parsed
