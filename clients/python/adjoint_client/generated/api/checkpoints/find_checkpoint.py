from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.checkpoint import Checkpoint
from ...models.find_checkpoint_alias import FindCheckpointAlias
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    fit_id: str,
    alias: FindCheckpointAlias,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/fits/{fit_id}/checkpoints/{alias}".format(
            fit_id=quote(str(fit_id), safe=""),
            alias=quote(str(alias), safe=""),
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
    fit_id: str,
    alias: FindCheckpointAlias,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Checkpoint | Problem]:
    """Get the latest or best checkpoint of a fit

     Resolves the alias `latest` or `best` to a checkpoint of the fit.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        alias (FindCheckpointAlias):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Checkpoint | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        alias=alias,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    alias: FindCheckpointAlias,
    *,
    client: AuthenticatedClient | Client,
) -> Checkpoint | Problem | None:
    """Get the latest or best checkpoint of a fit

     Resolves the alias `latest` or `best` to a checkpoint of the fit.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        alias (FindCheckpointAlias):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Checkpoint | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        alias=alias,
        client=client,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    alias: FindCheckpointAlias,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Checkpoint | Problem]:
    """Get the latest or best checkpoint of a fit

     Resolves the alias `latest` or `best` to a checkpoint of the fit.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        alias (FindCheckpointAlias):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Checkpoint | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        alias=alias,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    alias: FindCheckpointAlias,
    *,
    client: AuthenticatedClient | Client,
) -> Checkpoint | Problem | None:
    """Get the latest or best checkpoint of a fit

     Resolves the alias `latest` or `best` to a checkpoint of the fit.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        alias (FindCheckpointAlias):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Checkpoint | Problem
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            alias=alias,
            client=client,
        )
    ).parsed
