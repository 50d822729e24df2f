from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...models.profile import Profile
from ...models.profile_request import ProfileRequest
from ...types import Response


def _get_kwargs(
    graph_id: str,
    *,
    body: ProfileRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/graphs/{graph_id}:profile".format(
            graph_id=quote(str(graph_id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Profile:
    if response.status_code == 200:
        response_200 = Profile.from_dict(response.json())

        return response_200

    if response.status_code == 413:
        response_413 = Problem.from_dict(response.json())

        return response_413

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Profile]:
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
    body: ProfileRequest,
) -> Response[Problem | Profile]:
    """Profile a training step

     Measures one training step node by node: seconds and bytes of the forward pass, the backward pass
    and the
    update.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (ProfileRequest): A training step to be measured.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Profile]
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
    body: ProfileRequest,
) -> Problem | Profile | None:
    """Profile a training step

     Measures one training step node by node: seconds and bytes of the forward pass, the backward pass
    and the
    update.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (ProfileRequest): A training step to be measured.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Profile
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
    body: ProfileRequest,
) -> Response[Problem | Profile]:
    """Profile a training step

     Measures one training step node by node: seconds and bytes of the forward pass, the backward pass
    and the
    update.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (ProfileRequest): A training step to be measured.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Profile]
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
    body: ProfileRequest,
) -> Problem | Profile | None:
    """Profile a training step

     Measures one training step node by node: seconds and bytes of the forward pass, the backward pass
    and the
    update.

    Args:
        graph_id (str): Id: `graph_` and 26 characters.
        body (ProfileRequest): A training step to be measured.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Profile
    """

    return (
        await asyncio_detailed(
            graph_id=graph_id,
            client=client,
            body=body,
        )
    ).parsed
