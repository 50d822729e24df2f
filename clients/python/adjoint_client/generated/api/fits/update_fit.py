from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.fit import Fit
from ...models.fit_changes import FitChanges
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    *,
    body: FitChanges,
    if_match: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_match, Unset):
        headers["if-match"] = if_match

    _kwargs: dict[str, Any] = {
        "method": "patch",
        "url": "/v1/fits/{fit_id}".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

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
    body: FitChanges,
    if_match: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Change a fit

     Merges the body into the labels and the request of a fit (RFC 7396). Labels, priority and time
    limits may change
    at any time; the recipe before the first step; hyperparameters also while the fit is paused.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        if_match (None | str | Unset): ETag of the version that the change is based on; the
            response is 412 if it is outdated.
        body (FitChanges): Changes to a fit, merged into its request field by field, as RFC 7396
            has it: null takes back to the default.

            Labels, priority, timeout_seconds and deadline may change whenever; the other fields
            before the first process, and
            those that training can go on with (the optimizer's options, schedule, clip, noise,
            epochs, steps and the like)
            also while the fit is paused.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        body=body,
        if_match=if_match,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: FitChanges,
    if_match: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Change a fit

     Merges the body into the labels and the request of a fit (RFC 7396). Labels, priority and time
    limits may change
    at any time; the recipe before the first step; hyperparameters also while the fit is paused.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        if_match (None | str | Unset): ETag of the version that the change is based on; the
            response is 412 if it is outdated.
        body (FitChanges): Changes to a fit, merged into its request field by field, as RFC 7396
            has it: null takes back to the default.

            Labels, priority, timeout_seconds and deadline may change whenever; the other fields
            before the first process, and
            those that training can go on with (the optimizer's options, schedule, clip, noise,
            epochs, steps and the like)
            also while the fit is paused.

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
        if_match=if_match,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: FitChanges,
    if_match: None | str | Unset = UNSET,
) -> Response[Fit | Problem]:
    """Change a fit

     Merges the body into the labels and the request of a fit (RFC 7396). Labels, priority and time
    limits may change
    at any time; the recipe before the first step; hyperparameters also while the fit is paused.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        if_match (None | str | Unset): ETag of the version that the change is based on; the
            response is 412 if it is outdated.
        body (FitChanges): Changes to a fit, merged into its request field by field, as RFC 7396
            has it: null takes back to the default.

            Labels, priority, timeout_seconds and deadline may change whenever; the other fields
            before the first process, and
            those that training can go on with (the optimizer's options, schedule, clip, noise,
            epochs, steps and the like)
            also while the fit is paused.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        body=body,
        if_match=if_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: FitChanges,
    if_match: None | str | Unset = UNSET,
) -> Fit | Problem | None:
    """Change a fit

     Merges the body into the labels and the request of a fit (RFC 7396). Labels, priority and time
    limits may change
    at any time; the recipe before the first step; hyperparameters also while the fit is paused.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        if_match (None | str | Unset): ETag of the version that the change is based on; the
            response is 412 if it is outdated.
        body (FitChanges): Changes to a fit, merged into its request field by field, as RFC 7396
            has it: null takes back to the default.

            Labels, priority, timeout_seconds and deadline may change whenever; the other fields
            before the first process, and
            those that training can go on with (the optimizer's options, schedule, clip, noise,
            epochs, steps and the like)
            also while the fit is paused.

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
            if_match=if_match,
        )
    ).parsed
