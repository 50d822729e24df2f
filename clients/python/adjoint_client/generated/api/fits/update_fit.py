from http import HTTPStatus
from typing import Any, cast
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...types import Response, UNSET
from ... import errors

from ...models.fit import Fit
from ...models.fit_changes import FitChanges
from ...models.http_validation_error import HTTPValidationError
from ...types import UNSET, Unset
from typing import cast


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


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Fit | HTTPValidationError | None:
    if response.status_code == 200:
        response_200 = Fit.from_dict(response.json())

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
) -> Response[Fit | HTTPValidationError]:
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
) -> Response[Fit | HTTPValidationError]:
    """Update Fit

     Set and remove labels.

    Args:
        fit_id (str):
        if_match (None | str | Unset): ETag that the change is based on; 412 if it is outdated.
        body (FitChanges): Changes to a fit: labels to set, and null for those to remove.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | HTTPValidationError]
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
) -> Fit | HTTPValidationError | None:
    """Update Fit

     Set and remove labels.

    Args:
        fit_id (str):
        if_match (None | str | Unset): ETag that the change is based on; 412 if it is outdated.
        body (FitChanges): Changes to a fit: labels to set, and null for those to remove.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | HTTPValidationError
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
) -> Response[Fit | HTTPValidationError]:
    """Update Fit

     Set and remove labels.

    Args:
        fit_id (str):
        if_match (None | str | Unset): ETag that the change is based on; 412 if it is outdated.
        body (FitChanges): Changes to a fit: labels to set, and null for those to remove.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Fit | HTTPValidationError]
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
) -> Fit | HTTPValidationError | None:
    """Update Fit

     Set and remove labels.

    Args:
        fit_id (str):
        if_match (None | str | Unset): ETag that the change is based on; 412 if it is outdated.
        body (FitChanges): Changes to a fit: labels to set, and null for those to remove.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Fit | HTTPValidationError
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            client=client,
            body=body,
            if_match=if_match,
        )
    ).parsed
