from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.fit import Fit
from ...models.fit_extension import FitExtension
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    *,
    body: FitExtension,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/fits/{fit_id}:extend".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
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
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: FitExtension,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Extend a finished fit

     Continues a fit that has ended for more epochs or steps. In a sweep, variants that were eliminated,
    cancelled
    individually or failed by diverging are not continued.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitExtension): How much more of a fit is wanted: one of epochs and steps.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: FitExtension,
    idempotency_key: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Extend a finished fit

     Continues a fit that has ended for more epochs or steps. In a sweep, variants that were eliminated,
    cancelled
    individually or failed by diverging are not continued.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitExtension): How much more of a fit is wanted: one of epochs and steps.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: FitExtension,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Extend a finished fit

     Continues a fit that has ended for more epochs or steps. In a sweep, variants that were eliminated,
    cancelled
    individually or failed by diverging are not continued.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitExtension): How much more of a fit is wanted: one of epochs and steps.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        body=body,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: FitExtension,
    idempotency_key: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Extend a finished fit

     Continues a fit that has ended for more epochs or steps. In a sweep, variants that were eliminated,
    cancelled
    individually or failed by diverging are not continued.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (FitExtension): How much more of a fit is wanted: one of epochs and steps.

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
            body=body,
            idempotency_key=idempotency_key,
        )
    ).parsed
