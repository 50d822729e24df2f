from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_plan import GraphPlan
from ...models.plan_graph_executor import PlanGraphExecutor
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    graph_id: str,
    *,
    batch: int | Unset = 32,
    optimizer: None | str | Unset = UNSET,
    executor: PlanGraphExecutor | Unset = "auto",
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
        "url": "/v1/graphs/{graph_id}/plan".format(
            graph_id=quote(str(graph_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> GraphPlan | Problem:
    if response.status_code == 200:
        response_200 = GraphPlan.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[GraphPlan | Problem]:
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
    executor: PlanGraphExecutor | Unset = "auto",
) -> Response[GraphPlan | Problem]:
    """Plan the execution of a graph

     Returns the steps of one evaluation or training step in order, their buffers, fused groups, peak
    memory and
    FLOPs.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (PlanGraphExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphPlan | Problem]
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
    executor: PlanGraphExecutor | Unset = "auto",
) -> GraphPlan | Problem | None:
    """Plan the execution of a graph

     Returns the steps of one evaluation or training step in order, their buffers, fused groups, peak
    memory and
    FLOPs.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (PlanGraphExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphPlan | Problem
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
    executor: PlanGraphExecutor | Unset = "auto",
) -> Response[GraphPlan | Problem]:
    """Plan the execution of a graph

     Returns the steps of one evaluation or training step in order, their buffers, fused groups, peak
    memory and
    FLOPs.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (PlanGraphExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphPlan | Problem]
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
    executor: PlanGraphExecutor | Unset = "auto",
) -> GraphPlan | Problem | None:
    """Plan the execution of a graph

     Returns the steps of one evaluation or training step in order, their buffers, fused groups, peak
    memory and
    FLOPs.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        batch (int | Unset): Rows in a step. Default: 32.
        optimizer (None | str | Unset): Plans a training step with it, else an evaluation.
        executor (PlanGraphExecutor | Unset): What runs it; by default the fastest. Default:
            'auto'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphPlan | Problem
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
