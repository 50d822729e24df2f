from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.key_request import KeyRequest
from ...models.new_api_key import NewApiKey
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    *,
    body: KeyRequest,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/keys",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> NewApiKey | Problem:
    if response.status_code == 201:
        response_201 = NewApiKey.from_dict(response.json())

        return response_201

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[NewApiKey | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: KeyRequest,
) -> Response[NewApiKey | Problem]:
    """Create an API key

     Creates a key and returns its secret, which cannot be retrieved later. The first key must have the
    scope
    `admin`; from then on every request needs a key (`closed_server`), until `adjoint keys reset` while
    the server
    is stopped. Idempotency-Key is not accepted, since the response is not stored: revoke a key whose
    response was
    lost, and create another.

    Args:
        body (KeyRequest): A key to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[NewApiKey | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: KeyRequest,
) -> NewApiKey | Problem | None:
    """Create an API key

     Creates a key and returns its secret, which cannot be retrieved later. The first key must have the
    scope
    `admin`; from then on every request needs a key (`closed_server`), until `adjoint keys reset` while
    the server
    is stopped. Idempotency-Key is not accepted, since the response is not stored: revoke a key whose
    response was
    lost, and create another.

    Args:
        body (KeyRequest): A key to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        NewApiKey | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: KeyRequest,
) -> Response[NewApiKey | Problem]:
    """Create an API key

     Creates a key and returns its secret, which cannot be retrieved later. The first key must have the
    scope
    `admin`; from then on every request needs a key (`closed_server`), until `adjoint keys reset` while
    the server
    is stopped. Idempotency-Key is not accepted, since the response is not stored: revoke a key whose
    response was
    lost, and create another.

    Args:
        body (KeyRequest): A key to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[NewApiKey | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: KeyRequest,
) -> NewApiKey | Problem | None:
    """Create an API key

     Creates a key and returns its secret, which cannot be retrieved later. The first key must have the
    scope
    `admin`; from then on every request needs a key (`closed_server`), until `adjoint keys reset` while
    the server
    is stopped. Idempotency-Key is not accepted, since the response is not stored: revoke a key whose
    response was
    lost, and create another.

    Args:
        body (KeyRequest): A key to make.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        NewApiKey | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
        )
    ).parsed
