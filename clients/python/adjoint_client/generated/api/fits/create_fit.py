from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.fit import Fit
from ...models.fit_request import FitRequest
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    *,
    body: FitRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/fits",
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
    body: FitRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Create a fit

     Validates the request in full, including shapes, class indices and memory, and queues the fit.
    Follow the
    Location header, the event stream or a long poll for its progress.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitRequest): A fit: a graph, rows, and how to go about it. Needs graph, dataset, and
            one of epochs and steps.

            Null stands for the default, unless a description says otherwise. With from_checkpoint
            every field that is left out
            is taken from the request of the checkpoint's fit, but for labels, start_paused and a
            deadline.

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
    body: FitRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Create a fit

     Validates the request in full, including shapes, class indices and memory, and queues the fit.
    Follow the
    Location header, the event stream or a long poll for its progress.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitRequest): A fit: a graph, rows, and how to go about it. Needs graph, dataset, and
            one of epochs and steps.

            Null stands for the default, unless a description says otherwise. With from_checkpoint
            every field that is left out
            is taken from the request of the checkpoint's fit, but for labels, start_paused and a
            deadline.

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
    body: FitRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Create a fit

     Validates the request in full, including shapes, class indices and memory, and queues the fit.
    Follow the
    Location header, the event stream or a long poll for its progress.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitRequest): A fit: a graph, rows, and how to go about it. Needs graph, dataset, and
            one of epochs and steps.

            Null stands for the default, unless a description says otherwise. With from_checkpoint
            every field that is left out
            is taken from the request of the checkpoint's fit, but for labels, start_paused and a
            deadline.

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
    body: FitRequest,
    idempotency_key: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Create a fit

     Validates the request in full, including shapes, class indices and memory, and queues the fit.
    Follow the
    Location header, the event stream or a long poll for its progress.

    Args:
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitRequest): A fit: a graph, rows, and how to go about it. Needs graph, dataset, and
            one of epochs and steps.

            Null stands for the default, unless a description says otherwise. With from_checkpoint
            every field that is left out
            is taken from the request of the checkpoint's fit, but for labels, start_paused and a
            deadline.

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
