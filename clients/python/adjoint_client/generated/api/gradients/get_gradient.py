from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.get_gradient_format_type_0 import GetGradientFormatType0
from ...models.gradient_statistics import GradientStatistics
from ...models.problem import Problem
from ...models.tensor import Tensor
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    parameter: str,
    *,
    step: int | None | Unset = UNSET,
    stats: bool | Unset = False,
    format_: GetGradientFormatType0 | None | Unset = UNSET,
) -> dict[str, Any]:

    params: dict[str, Any] = {}

    json_step: int | None | Unset
    if isinstance(step, Unset):
        json_step = UNSET
    else:
        json_step = step
    params["step"] = json_step

    params["stats"] = stats

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
        "url": "/v1/fits/{fit_id}/gradients/{parameter}".format(
            fit_id=quote(str(fit_id), safe=""),
            parameter=quote(str(parameter), safe=""),
        ),
        "params": params,
    }

    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> GradientStatistics | Tensor | Problem:
    if response.status_code == 200:

        def _parse_response_200(data: object) -> GradientStatistics | Tensor:
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                response_200_type_0 = Tensor.from_dict(data)

                return response_200_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            if not isinstance(data, dict):
                raise TypeError()
            response_200_type_1 = GradientStatistics.from_dict(data)

            return response_200_type_1

        response_200 = _parse_response_200(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GradientStatistics | Tensor | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    fit_id: str,
    parameter: str,
    *,
    client: AuthenticatedClient | Client,
    step: int | None | Unset = UNSET,
    stats: bool | Unset = False,
    format_: GetGradientFormatType0 | None | Unset = UNSET,
) -> Response[GradientStatistics | Tensor | Problem]:
    """Get a captured gradient

     Returns one captured gradient as JSON or `.npy`, or its statistics with `stats`. By default the
    latest step.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        parameter (str):
        step (int | None | Unset): The steps that were done when it was captured.
        stats (bool | Unset): What the numbers look like, in place of them. Default: False.
        format_ (GetGradientFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GradientStatistics | Tensor | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        parameter=parameter,
        step=step,
        stats=stats,
        format_=format_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    parameter: str,
    *,
    client: AuthenticatedClient | Client,
    step: int | None | Unset = UNSET,
    stats: bool | Unset = False,
    format_: GetGradientFormatType0 | None | Unset = UNSET,
) -> GradientStatistics | Tensor | Problem | None:
    """Get a captured gradient

     Returns one captured gradient as JSON or `.npy`, or its statistics with `stats`. By default the
    latest step.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        parameter (str):
        step (int | None | Unset): The steps that were done when it was captured.
        stats (bool | Unset): What the numbers look like, in place of them. Default: False.
        format_ (GetGradientFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GradientStatistics | Tensor | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        parameter=parameter,
        client=client,
        step=step,
        stats=stats,
        format_=format_,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    parameter: str,
    *,
    client: AuthenticatedClient | Client,
    step: int | None | Unset = UNSET,
    stats: bool | Unset = False,
    format_: GetGradientFormatType0 | None | Unset = UNSET,
) -> Response[GradientStatistics | Tensor | Problem]:
    """Get a captured gradient

     Returns one captured gradient as JSON or `.npy`, or its statistics with `stats`. By default the
    latest step.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        parameter (str):
        step (int | None | Unset): The steps that were done when it was captured.
        stats (bool | Unset): What the numbers look like, in place of them. Default: False.
        format_ (GetGradientFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GradientStatistics | Tensor | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        parameter=parameter,
        step=step,
        stats=stats,
        format_=format_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    parameter: str,
    *,
    client: AuthenticatedClient | Client,
    step: int | None | Unset = UNSET,
    stats: bool | Unset = False,
    format_: GetGradientFormatType0 | None | Unset = UNSET,
) -> GradientStatistics | Tensor | Problem | None:
    """Get a captured gradient

     Returns one captured gradient as JSON or `.npy`, or its statistics with `stats`. By default the
    latest step.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        parameter (str):
        step (int | None | Unset): The steps that were done when it was captured.
        stats (bool | Unset): What the numbers look like, in place of them. Default: False.
        format_ (GetGradientFormatType0 | None | Unset): Otherwise the Accept header decides.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GradientStatistics | Tensor | Problem
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            parameter=parameter,
            client=client,
            step=step,
            stats=stats,
            format_=format_,
        )
    ).parsed
