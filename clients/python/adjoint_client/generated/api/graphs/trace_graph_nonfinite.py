from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.nonfinite_trace import NonfiniteTrace
from ...models.problem import Problem
from ...models.trace_nonfinite_request import TraceNonfiniteRequest
from ...types import Response


def _get_kwargs(
    graph_id: str,
    *,
    body: TraceNonfiniteRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/graphs/{graph_id}:trace_nonfinite".format(
            graph_id=quote(str(graph_id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> NonfiniteTrace | Problem:
    if response.status_code == 200:
        response_200 = NonfiniteTrace.from_dict(response.json())

        return response_200

    if response.status_code == 413:
        response_413 = Problem.from_dict(response.json())

        return response_413

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[NonfiniteTrace | Problem]:
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
    body: TraceNonfiniteRequest,
) -> Response[NonfiniteTrace | Problem]:
    """Find the first non-finite value

     Runs one training step and names the first input, parameter or node that holds NaN or infinity.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (TraceNonfiniteRequest): A step that is gone through in search of what is not finite.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[NonfiniteTrace | Problem]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: TraceNonfiniteRequest,
) -> NonfiniteTrace | Problem | None:
    """Find the first non-finite value

     Runs one training step and names the first input, parameter or node that holds NaN or infinity.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (TraceNonfiniteRequest): A step that is gone through in search of what is not finite.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        NonfiniteTrace | Problem
    """

    return sync_detailed(
        graph_id=graph_id,
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: TraceNonfiniteRequest,
) -> Response[NonfiniteTrace | Problem]:
    """Find the first non-finite value

     Runs one training step and names the first input, parameter or node that holds NaN or infinity.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (TraceNonfiniteRequest): A step that is gone through in search of what is not finite.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[NonfiniteTrace | Problem]
    """

    kwargs = _get_kwargs(
        graph_id=graph_id,
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    graph_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: TraceNonfiniteRequest,
) -> NonfiniteTrace | Problem | None:
    """Find the first non-finite value

     Runs one training step and names the first input, parameter or node that holds NaN or infinity.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (TraceNonfiniteRequest): A step that is gone through in search of what is not finite.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        NonfiniteTrace | Problem
    """

    return (
        await asyncio_detailed(
            graph_id=graph_id,
            client=client,
            body=body,
        )
    ).parsed
