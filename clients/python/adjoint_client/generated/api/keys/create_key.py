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
    """Create Key

     Make a key and tell it, this once.

    The first one, which needs the scope admin, closes a server that was open (`closed_server`): every
    request needs a
    key from then on. `adjoint keys reset` opens it again, while it does not run.

    It takes no Idempotency-Key, since the answer would have to be kept. A key that was not received is
    of no use to
    anybody: revoke it, and make another.

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
    """Create Key

     Make a key and tell it, this once.

    The first one, which needs the scope admin, closes a server that was open (`closed_server`): every
    request needs a
    key from then on. `adjoint keys reset` opens it again, while it does not run.

    It takes no Idempotency-Key, since the answer would have to be kept. A key that was not received is
    of no use to
    anybody: revoke it, and make another.

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
    """Create Key

     Make a key and tell it, this once.

    The first one, which needs the scope admin, closes a server that was open (`closed_server`): every
    request needs a
    key from then on. `adjoint keys reset` opens it again, while it does not run.

    It takes no Idempotency-Key, since the answer would have to be kept. A key that was not received is
    of no use to
    anybody: revoke it, and make another.

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
    """Create Key

     Make a key and tell it, this once.

    The first one, which needs the scope admin, closes a server that was open (`closed_server`): every
    request needs a
    key from then on. `adjoint keys reset` opens it again, while it does not run.

    It takes no Idempotency-Key, since the answer would have to be kept. A key that was not received is
    of no use to
    anybody: revoke it, and make another.

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
