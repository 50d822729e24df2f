from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.list_metrics_format import ListMetricsFormat
from ...models.list_metrics_split_type_0 import ListMetricsSplitType0
from ...models.metric_rows import MetricRows
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    *,
    after: int | Unset = 0,
    limit: int | Unset = 1000,
    format_: ListMetricsFormat | Unset = "json",
    downsample: int | None | Unset = UNSET,
    keys: None | str | Unset = UNSET,
    every: int | Unset = 1,
    split: ListMetricsSplitType0 | None | Unset = UNSET,
    if_none_match: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(if_none_match, Unset):
        headers["if-none-match"] = if_none_match

    params: dict[str, Any] = {}

    params["after"] = after

    params["limit"] = limit

    json_format_: str | Unset = UNSET
    if not isinstance(format_, Unset):
        json_format_ = format_

    params["format"] = json_format_

    json_downsample: int | None | Unset
    if isinstance(downsample, Unset):
        json_downsample = UNSET
    else:
        json_downsample = downsample
    params["downsample"] = json_downsample

    json_keys: None | str | Unset
    if isinstance(keys, Unset):
        json_keys = UNSET
    else:
        json_keys = keys
    params["keys"] = json_keys

    params["every"] = every

    json_split: None | str | Unset
    if isinstance(split, Unset):
        json_split = UNSET
    elif isinstance(split, str):
        json_split = split
    else:
        json_split = split
    params["split"] = json_split

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/fits/{fit_id}/metrics".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> MetricRows | Problem:
    if response.status_code == 200:
        response_200 = MetricRows.from_dict(response.json())

        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[MetricRows | Problem]:
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
    after: int | Unset = 0,
    limit: int | Unset = 1000,
    format_: ListMetricsFormat | Unset = "json",
    downsample: int | None | Unset = UNSET,
    keys: None | str | Unset = UNSET,
    every: int | Unset = 1,
    split: ListMetricsSplitType0 | None | Unset = UNSET,
    if_none_match: None | str | Unset = UNSET,
) -> Response[MetricRows | Problem]:
    """List metric rows

     Lists the metric rows of a fit in order, as JSON, NDJSON or CSV. The ETag of a response stays the
    same until a
    new row is stored.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | Unset): The last seq that the client has. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 1000.
        format_ (ListMetricsFormat | Unset): Format of the rows. Default: 'json'.
        downsample (int | None | Unset): About so many rows in place of all, with the extremes of
            the first of `keys`, or of the loss.
        keys (None | str | Unset): Only these values, separated by commas.
        every (int | Unset): Only steps that are multiples of this. Default: 1.
        split (ListMetricsSplitType0 | None | Unset): Only rows of this split.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MetricRows | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        after=after,
        limit=limit,
        format_=format_,
        downsample=downsample,
        keys=keys,
        every=every,
        split=split,
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
    after: int | Unset = 0,
    limit: int | Unset = 1000,
    format_: ListMetricsFormat | Unset = "json",
    downsample: int | None | Unset = UNSET,
    keys: None | str | Unset = UNSET,
    every: int | Unset = 1,
    split: ListMetricsSplitType0 | None | Unset = UNSET,
    if_none_match: None | str | Unset = UNSET,
) -> MetricRows | Problem | None:
    """List metric rows

     Lists the metric rows of a fit in order, as JSON, NDJSON or CSV. The ETag of a response stays the
    same until a
    new row is stored.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | Unset): The last seq that the client has. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 1000.
        format_ (ListMetricsFormat | Unset): Format of the rows. Default: 'json'.
        downsample (int | None | Unset): About so many rows in place of all, with the extremes of
            the first of `keys`, or of the loss.
        keys (None | str | Unset): Only these values, separated by commas.
        every (int | Unset): Only steps that are multiples of this. Default: 1.
        split (ListMetricsSplitType0 | None | Unset): Only rows of this split.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MetricRows | Problem
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
        after=after,
        limit=limit,
        format_=format_,
        downsample=downsample,
        keys=keys,
        every=every,
        split=split,
        if_none_match=if_none_match,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | Unset = 0,
    limit: int | Unset = 1000,
    format_: ListMetricsFormat | Unset = "json",
    downsample: int | None | Unset = UNSET,
    keys: None | str | Unset = UNSET,
    every: int | Unset = 1,
    split: ListMetricsSplitType0 | None | Unset = UNSET,
    if_none_match: None | str | Unset = UNSET,
) -> Response[MetricRows | Problem]:
    """List metric rows

     Lists the metric rows of a fit in order, as JSON, NDJSON or CSV. The ETag of a response stays the
    same until a
    new row is stored.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | Unset): The last seq that the client has. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 1000.
        format_ (ListMetricsFormat | Unset): Format of the rows. Default: 'json'.
        downsample (int | None | Unset): About so many rows in place of all, with the extremes of
            the first of `keys`, or of the loss.
        keys (None | str | Unset): Only these values, separated by commas.
        every (int | Unset): Only steps that are multiples of this. Default: 1.
        split (ListMetricsSplitType0 | None | Unset): Only rows of this split.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[MetricRows | Problem]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        after=after,
        limit=limit,
        format_=format_,
        downsample=downsample,
        keys=keys,
        every=every,
        split=split,
        if_none_match=if_none_match,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | Unset = 0,
    limit: int | Unset = 1000,
    format_: ListMetricsFormat | Unset = "json",
    downsample: int | None | Unset = UNSET,
    keys: None | str | Unset = UNSET,
    every: int | Unset = 1,
    split: ListMetricsSplitType0 | None | Unset = UNSET,
    if_none_match: None | str | Unset = UNSET,
) -> MetricRows | Problem | None:
    """List metric rows

     Lists the metric rows of a fit in order, as JSON, NDJSON or CSV. The ETag of a response stays the
    same until a
    new row is stored.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | Unset): The last seq that the client has. Default: 0.
        limit (int | Unset): Maximum number of rows. Default: 1000.
        format_ (ListMetricsFormat | Unset): Format of the rows. Default: 'json'.
        downsample (int | None | Unset): About so many rows in place of all, with the extremes of
            the first of `keys`, or of the loss.
        keys (None | str | Unset): Only these values, separated by commas.
        every (int | Unset): Only steps that are multiples of this. Default: 1.
        split (ListMetricsSplitType0 | None | Unset): Only rows of this split.
        if_none_match (None | str | Unset): ETag of the client's copy; the response is 304 if it
            is current.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        MetricRows | Problem
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            client=client,
            after=after,
            limit=limit,
            format_=format_,
            downsample=downsample,
            keys=keys,
            every=every,
            split=split,
            if_none_match=if_none_match,
        )
    ).parsed
