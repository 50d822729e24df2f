from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.checkpoint import Checkpoint
from ...models.problem import Problem
from ...types import UNSET, File, Response, Unset


def _get_kwargs(
    *,
    body: File,
    graph: str,
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(content_digest, Unset):
        headers["content-digest"] = content_digest

    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    params: dict[str, Any] = {}

    params["graph"] = graph

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/checkpoints",
        "params": params,
    }

    _kwargs["content"] = body.payload
    headers["Content-Type"] = "application/vnd.safetensors"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Checkpoint | Problem:
    if response.status_code == 201:
        response_201 = Checkpoint.from_dict(response.json())

        return response_201

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Checkpoint | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: File,
    graph: str,
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Checkpoint | Problem]:
    """Upload a checkpoint

     Stores a file of parameters in the safetensors format as a checkpoint of a graph. The names, shapes
    and dtypes
    must be those of the graph's parameters.

    Args:
        graph (str): The graph whose parameters they are.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Checkpoint | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        graph=graph,
        content_digest=content_digest,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: File,
    graph: str,
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Checkpoint | Problem | None:
    """Upload a checkpoint

     Stores a file of parameters in the safetensors format as a checkpoint of a graph. The names, shapes
    and dtypes
    must be those of the graph's parameters.

    Args:
        graph (str): The graph whose parameters they are.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Checkpoint | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
        graph=graph,
        content_digest=content_digest,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: File,
    graph: str,
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Checkpoint | Problem]:
    """Upload a checkpoint

     Stores a file of parameters in the safetensors format as a checkpoint of a graph. The names, shapes
    and dtypes
    must be those of the graph's parameters.

    Args:
        graph (str): The graph whose parameters they are.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Checkpoint | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        graph=graph,
        content_digest=content_digest,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: File,
    graph: str,
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Checkpoint | Problem | None:
    """Upload a checkpoint

     Stores a file of parameters in the safetensors format as a checkpoint of a graph. The names, shapes
    and dtypes
    must be those of the graph's parameters.

    Args:
        graph (str): The graph whose parameters they are.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Checkpoint | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            graph=graph,
            content_digest=content_digest,
            idempotency_key=idempotency_key,
        )
    ).parsed
