from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.fit import Fit
from ...models.problem import Problem
from ...models.replay_request import ReplayRequest
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: ReplayRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/fits:replay",
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Fit | Problem:
    if response.status_code == 202:
        response_202 = Fit.from_dict(response.json())

        return response_202

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Fit | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ReplayRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Replay a fit

     Runs a fit again, from its id or its bundle, and compares the result bit for bit. The verdict is in
    `replay` of
    the new fit.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (ReplayRequest): A fit to run again: one of this server, or a bundle of any.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: ReplayRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Replay a fit

     Runs a fit again, from its id or its bundle, and compares the result bit for bit. The verdict is in
    `replay` of
    the new fit.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (ReplayRequest): A fit to run again: one of this server, or a bundle of any.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: ReplayRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Replay a fit

     Runs a fit again, from its id or its bundle, and compares the result bit for bit. The verdict is in
    `replay` of
    the new fit.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (ReplayRequest): A fit to run again: one of this server, or a bundle of any.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: ReplayRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Replay a fit

     Runs a fit again, from its id or its bundle, and compares the result bit for bit. The verdict is in
    `replay` of
    the new fit.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (ReplayRequest): A fit to run again: one of this server, or a bundle of any.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
