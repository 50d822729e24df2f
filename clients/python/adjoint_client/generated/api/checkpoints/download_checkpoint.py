from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.http_validation_error import HTTPValidationError
from ...types import File, FileTypes
from ...types import UNSET, Unset
from io import BytesIO
from typing import cast
from typing import Literal, cast


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


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> File | HTTPValidationError | None:
    if response.status_code == 200:
        response_200 = File(payload=BytesIO(response.content))

        return response_200

    if response.status_code == 422:
        response_422 = HTTPValidationError.from_dict(response.json())

        return response_422

    if client.raise_on_unexpected_status:
        raise errors.UnexpectedStatus(response.status_code, response.content)
    else:
        return None


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[File | HTTPValidationError]:
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
) -> Response[File | HTTPValidationError]:
    """Download Checkpoint

     Return the file, in the safetensors format.

    Args:
        checkpoint_id (str):
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File | HTTPValidationError]
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
) -> File | HTTPValidationError | None:
    """Download Checkpoint

     Return the file, in the safetensors format.

    Args:
        checkpoint_id (str):
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File | HTTPValidationError
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
) -> Response[File | HTTPValidationError]:
    """Download Checkpoint

     Return the file, in the safetensors format.

    Args:
        checkpoint_id (str):
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[File | HTTPValidationError]
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
) -> File | HTTPValidationError | None:
    """Download Checkpoint

     Return the file, in the safetensors format.

    Args:
        checkpoint_id (str):
        only (Literal['parameters'] | None | Unset): Leave out buffers and optimizer state.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        File | HTTPValidationError
    """

    return (
        await asyncio_detailed(
            checkpoint_id=checkpoint_id,
            client=client,
            only=only,
        )
    ).parsed
