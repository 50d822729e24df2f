from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.bundle import Bundle
from ...models.problem import Problem
from ...types import Response


def _get_kwargs(
    fit_id: str,
) -> dict[str, Any]:

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/fits/{fit_id}/bundle".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Bundle | Problem:
    if response.status_code == 200:
        response_200 = Bundle.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Bundle | Problem]:
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
) -> Response[Bundle | Problem]:
    """Get the bundle of a fit

     Returns everything that determines the result of a succeeded fit, and digests of that result. `POST
    /v1/fits:replay` runs it again.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Bundle | Problem]
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
) -> Bundle | Problem | None:
    """Get the bundle of a fit

     Returns everything that determines the result of a succeeded fit, and digests of that result. `POST
    /v1/fits:replay` runs it again.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Bundle | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
) -> Response[Bundle | Problem]:
    """Get the bundle of a fit

     Returns everything that determines the result of a succeeded fit, and digests of that result. `POST
    /v1/fits:replay` runs it again.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Bundle | Problem]
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
) -> Bundle | Problem | None:
    """Get the bundle of a fit

     Returns everything that determines the result of a succeeded fit, and digests of that result. `POST
    /v1/fits:replay` runs it again.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Bundle | Problem
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            client=client,
        )
    ).parsed
