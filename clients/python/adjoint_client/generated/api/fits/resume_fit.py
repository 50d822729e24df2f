from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.fit import Fit
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    fit_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/fits/{fit_id}:resume".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
    }

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
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Fit | Problem]:
    """Resume a fit

     Continues a paused, cancelled or failed fit from its last checkpoint. In a sweep that has ended,
    variants that
    were completed, cancelled individually or failed by diverging stay as they are.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Fit | Problem | None:
    """Resume a fit

     Continues a paused, cancelled or failed fit from its last checkpoint. In a sweep that has ended,
    variants that
    were completed, cancelled individually or failed by diverging stay as they are.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Fit | Problem]:
    """Resume a fit

     Continues a paused, cancelled or failed fit from its last checkpoint. In a sweep that has ended,
    variants that
    were completed, cancelled individually or failed by diverging stay as they are.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Fit | Problem | None:
    """Resume a fit

     Continues a paused, cancelled or failed fit from its last checkpoint. In a sweep that has ended,
    variants that
    were completed, cancelled individually or failed by diverging stay as they are.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | Problem
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            client=client,
        )
    ).parsed
