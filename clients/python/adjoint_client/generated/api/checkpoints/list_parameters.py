from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.http_validation_error import HTTPValidationError
from ...models.parameter_list import ParameterList
from typing import cast


def _get_kwargs(
    checkpoint_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/checkpoints/{checkpoint_id}/parameters".format(
            checkpoint_id=quote(str(checkpoint_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> HTTPValidationError | ParameterList | None:
    if response.status_code == 200:
        response_200 = ParameterList.from_dict(response.json())

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
) -> Response[HTTPValidationError | ParameterList]:
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
) -> Response[HTTPValidationError | ParameterList]:
    """List Parameters

     List the parameters in a checkpoint.

    Args:
        checkpoint_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[HTTPValidationError | ParameterList]
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
) -> HTTPValidationError | ParameterList | None:
    """List Parameters

     List the parameters in a checkpoint.

    Args:
        checkpoint_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        HTTPValidationError | ParameterList
    """

    return sync_detailed(
        checkpoint_id=checkpoint_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[HTTPValidationError | ParameterList]:
    """List Parameters

     List the parameters in a checkpoint.

    Args:
        checkpoint_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[HTTPValidationError | ParameterList]
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
) -> HTTPValidationError | ParameterList | None:
    """List Parameters

     List the parameters in a checkpoint.

    Args:
        checkpoint_id (str):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        HTTPValidationError | ParameterList
    """

    return (
        await asyncio_detailed(
            checkpoint_id=checkpoint_id,
            client=client,
        )
    ).parsed
