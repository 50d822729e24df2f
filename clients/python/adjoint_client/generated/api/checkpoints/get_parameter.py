from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.get_parameter_format_type_0 import GetParameterFormatType0
from ...models.problem import Problem
from ...models.tensor import Tensor
from ...types import UNSET, Response, Unset


def _get_kwargs(
    checkpoint_id: str,
    name: str,
    *,
    format_: GetParameterFormatType0 | None | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_format_: None | str | Unset
    if isinstance(format_, Unset):
        json_format_ = UNSET
    elif isinstance(format_, str):
        json_format_ = format_
    else:
        json_format_ = format_
    params["format"] = json_format_

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/checkpoints/{checkpoint_id}/parameters/{name}".format(
            checkpoint_id=quote(str(checkpoint_id), safe=""),
            name=quote(str(name), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | Tensor:
    if response.status_code == 200:
        response_200 = Tensor.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | Tensor]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    checkpoint_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    format_: GetParameterFormatType0 | None | Unset = UNSET,
) -> Response[Problem | Tensor]:
    """Get a parameter of a checkpoint

     Returns one parameter as JSON, or as `.npy` with `Accept: application/x-npy` or `format=npy`.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        name (str):
        format_ (GetParameterFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Tensor]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
        name=name,
        format_=format_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    checkpoint_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    format_: GetParameterFormatType0 | None | Unset = UNSET,
) -> Problem | Tensor | None:
    """Get a parameter of a checkpoint

     Returns one parameter as JSON, or as `.npy` with `Accept: application/x-npy` or `format=npy`.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        name (str):
        format_ (GetParameterFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Tensor
    """

    return sync_detailed(
        checkpoint_id=checkpoint_id,
        name=name,
        client=client,
        format_=format_,
    ).parsed


async def asyncio_detailed(
    checkpoint_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    format_: GetParameterFormatType0 | None | Unset = UNSET,
) -> Response[Problem | Tensor]:
    """Get a parameter of a checkpoint

     Returns one parameter as JSON, or as `.npy` with `Accept: application/x-npy` or `format=npy`.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        name (str):
        format_ (GetParameterFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | Tensor]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
        name=name,
        format_=format_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    checkpoint_id: str,
    name: str,
    *,
    client: AuthenticatedClient | Client,
    format_: GetParameterFormatType0 | None | Unset = UNSET,
) -> Problem | Tensor | None:
    """Get a parameter of a checkpoint

     Returns one parameter as JSON, or as `.npy` with `Accept: application/x-npy` or `format=npy`.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        name (str):
        format_ (GetParameterFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | Tensor
    """

    return (
        await asyncio_detailed(
            checkpoint_id=checkpoint_id,
            name=name,
            client=client,
            format_=format_,
        )
    ).parsed
