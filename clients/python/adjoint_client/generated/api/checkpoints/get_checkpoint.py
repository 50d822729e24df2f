from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.checkpoint import Checkpoint
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    checkpoint_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/checkpoints/{checkpoint_id}".format(
            checkpoint_id=quote(str(checkpoint_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Checkpoint | Problem:
    if response.status_code == 200:
        response_200 = Checkpoint.from_dict(response.json())

        return response_200

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
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Checkpoint | Problem]:
    """Get a checkpoint

     Returns the metadata of a checkpoint: step, epoch, metrics, digest and links; not its content.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Checkpoint | Problem]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Checkpoint | Problem | None:
    """Get a checkpoint

     Returns the metadata of a checkpoint: step, epoch, metrics, digest and links; not its content.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Checkpoint | Problem
    """

    return sync_detailed(
        checkpoint_id=checkpoint_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Checkpoint | Problem]:
    """Get a checkpoint

     Returns the metadata of a checkpoint: step, epoch, metrics, digest and links; not its content.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Checkpoint | Problem]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Checkpoint | Problem | None:
    """Get a checkpoint

     Returns the metadata of a checkpoint: step, epoch, metrics, digest and links; not its content.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Checkpoint | Problem
    """

    return (
        await asyncio_detailed(
            checkpoint_id=checkpoint_id,
            client=client,
        )
    ).parsed
