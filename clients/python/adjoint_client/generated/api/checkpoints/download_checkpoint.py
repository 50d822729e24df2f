from http import HTTPStatus
from io import BytesIO
from typing import Any, Literal
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...types import UNSET, File, Response, Unset


def _get_kwargs(
    checkpoint_id: str,
    *,
    only: Literal["parameters"] | None | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_only: Literal["parameters"] | None | Unset
    if isinstance(only, Unset):
        json_only = UNSET
    else:
        json_only = only
    params["only"] = json_only

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/checkpoints/{checkpoint_id}/content".format(
            checkpoint_id=quote(str(checkpoint_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> File | Problem:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[File | Problem]:
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
    only: Literal["parameters"] | None | Unset = UNSET,
) -> Response[File | Problem]:
    """Download the content of a checkpoint

     Returns the file in the safetensors format. Range requests and `If-None-Match` are supported.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File | Problem]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
        only=only,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
    only: Literal["parameters"] | None | Unset = UNSET,
) -> File | Problem | None:
    """Download the content of a checkpoint

     Returns the file in the safetensors format. Range requests and `If-None-Match` are supported.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File | Problem
    """

    return sync_detailed(
        checkpoint_id=checkpoint_id,
        client=client,
        only=only,
    ).parsed


async def asyncio_detailed(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
    only: Literal["parameters"] | None | Unset = UNSET,
) -> Response[File | Problem]:
    """Download the content of a checkpoint

     Returns the file in the safetensors format. Range requests and `If-None-Match` are supported.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File | Problem]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
        only=only,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
    only: Literal["parameters"] | None | Unset = UNSET,
) -> File | Problem | None:
    """Download the content of a checkpoint

     Returns the file in the safetensors format. Range requests and `If-None-Match` are supported.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File | Problem
    """

    return (
        await asyncio_detailed(
            checkpoint_id=checkpoint_id,
            client=client,
            only=only,
        )
    ).parsed
