from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.gradient_list import GradientList
from ...models.list_gradients_order import ListGradientsOrder
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    *,
    step: int | None | Unset = UNSET,
    parameter: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListGradientsOrder | Unset = "desc",
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_step: int | None | Unset
    if isinstance(step, Unset):
        json_step = UNSET
    else:
        json_step = step
    params["step"] = json_step

    json_parameter: None | str | Unset
    if isinstance(parameter, Unset):
        json_parameter = UNSET
    else:
        json_parameter = parameter
    params["parameter"] = json_parameter

    params["limit"] = limit

    json_cursor: None | str | Unset
    if isinstance(cursor, Unset):
        json_cursor = UNSET
    else:
        json_cursor = cursor
    params["cursor"] = json_cursor

    json_order: str | Unset = UNSET
    if not isinstance(order, Unset):
        json_order = order

    params["order"] = json_order

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/fits/{fit_id}/gradients".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> GradientList | Problem:
    if response.status_code == 200:
        response_200 = GradientList.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GradientList | Problem]:
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
    step: int | None | Unset = UNSET,
    parameter: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListGradientsOrder | Unset = "desc",
) -> Response[GradientList | Problem]:
    """List captured gradients

     Lists the gradients that a fit has captured, ordered by step and then by parameter.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        step (int | None | Unset): The steps that were done when it was captured.
        parameter (None | str | Unset): Only gradients by this parameter.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListGradientsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GradientList | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        step=step,
        parameter=parameter,
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    step: int | None | Unset = UNSET,
    parameter: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListGradientsOrder | Unset = "desc",
) -> GradientList | Problem | None:
    """List captured gradients

     Lists the gradients that a fit has captured, ordered by step and then by parameter.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        step (int | None | Unset): The steps that were done when it was captured.
        parameter (None | str | Unset): Only gradients by this parameter.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListGradientsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GradientList | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
        step=step,
        parameter=parameter,
        limit=limit,
        cursor=cursor,
        order=order,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    step: int | None | Unset = UNSET,
    parameter: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListGradientsOrder | Unset = "desc",
) -> Response[GradientList | Problem]:
    """List captured gradients

     Lists the gradients that a fit has captured, ordered by step and then by parameter.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        step (int | None | Unset): The steps that were done when it was captured.
        parameter (None | str | Unset): Only gradients by this parameter.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListGradientsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GradientList | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        step=step,
        parameter=parameter,
        limit=limit,
        cursor=cursor,
        order=order,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    step: int | None | Unset = UNSET,
    parameter: None | str | Unset = UNSET,
    limit: int | Unset = 100,
    cursor: None | str | Unset = UNSET,
    order: ListGradientsOrder | Unset = "desc",
) -> GradientList | Problem | None:
    """List captured gradients

     Lists the gradients that a fit has captured, ordered by step and then by parameter.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        step (int | None | Unset): The steps that were done when it was captured.
        parameter (None | str | Unset): Only gradients by this parameter.
        limit (int | Unset): Maximum number of entries in the page. Default: 100.
        cursor (None | str | Unset): `next_cursor` of the previous page; by default the first
            page.
        order (ListGradientsOrder | Unset): Order by age; `desc` (the default) lists the newest
            first. Default: 'desc'.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GradientList | Problem
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            client=client,
            step=step,
            parameter=parameter,
            limit=limit,
            cursor=cursor,
            order=order,
        )
    ).parsed
