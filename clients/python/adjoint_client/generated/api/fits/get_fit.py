from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.fit import Fit
from ...models.get_fit_until import GetFitUntil
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    *,
    wait: float | Unset = 0.0,
    until: GetFitUntil | Unset = "terminal",
    if_none_match: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_none_match, Unset):
        headers["if-none-match"] = if_none_match

    params: dict[str, Any] = {}

    params["wait"] = wait

    json_until: str | Unset = UNSET
    if not isinstance(until, Unset):
        json_until = until

    params["until"] = json_until

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/fits/{fit_id}".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Fit | Problem:
    if response.status_code == 200:
        response_200 = Fit.from_dict(response.json())

        return response_200

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
    wait: float | Unset = 0.0,
    until: GetFitUntil | Unset = "terminal",
    if_none_match: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Get a fit

     Returns the state of a fit. With `wait`, the response is held until the condition in `until` is met
    or the time
    is over.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        wait (float | Unset): Seconds to wait for what `until` says. Default: 0.0.
        until (GetFitUntil | Unset): terminal: it has ended. change: it is not what If-None-Match
            names, or what it was just now. Default: 'terminal'.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        wait=wait,
        until=until,
        if_none_match=if_none_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    wait: float | Unset = 0.0,
    until: GetFitUntil | Unset = "terminal",
    if_none_match: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Get a fit

     Returns the state of a fit. With `wait`, the response is held until the condition in `until` is met
    or the time
    is over.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        wait (float | Unset): Seconds to wait for what `until` says. Default: 0.0.
        until (GetFitUntil | Unset): terminal: it has ended. change: it is not what If-None-Match
            names, or what it was just now. Default: 'terminal'.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
        wait=wait,
        until=until,
        if_none_match=if_none_match,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    wait: float | Unset = 0.0,
    until: GetFitUntil | Unset = "terminal",
    if_none_match: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Get a fit

     Returns the state of a fit. With `wait`, the response is held until the condition in `until` is met
    or the time
    is over.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        wait (float | Unset): Seconds to wait for what `until` says. Default: 0.0.
        until (GetFitUntil | Unset): terminal: it has ended. change: it is not what If-None-Match
            names, or what it was just now. Default: 'terminal'.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        wait=wait,
        until=until,
        if_none_match=if_none_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    wait: float | Unset = 0.0,
    until: GetFitUntil | Unset = "terminal",
    if_none_match: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Get a fit

     Returns the state of a fit. With `wait`, the response is held until the condition in `until` is met
    or the time
    is over.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        wait (float | Unset): Seconds to wait for what `until` says. Default: 0.0.
        until (GetFitUntil | Unset): terminal: it has ended. change: it is not what If-None-Match
            names, or what it was just now. Default: 'terminal'.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

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
            wait=wait,
            until=until,
            if_none_match=if_none_match,
        )
    ).parsed
