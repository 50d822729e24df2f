from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    fit_id: str,
    *,
    after: int | None | Unset = UNSET,
    max_events: int | None | Unset = UNSET,
    timeout: float | None | Unset = UNSET,
    last_event_id: int | None | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(last_event_id, Unset):
        headers["last-event-id"] = last_event_id

    params: dict[str, Any] = {}

    json_after: int | None | Unset
    if isinstance(after, Unset):
        json_after = UNSET
    else:
        json_after = after
    params["after"] = json_after

    json_max_events: int | None | Unset
    if isinstance(max_events, Unset):
        json_max_events = UNSET
    else:
        json_max_events = max_events
    params["max_events"] = json_max_events

    json_timeout: float | None | Unset
    if isinstance(timeout, Unset):
        json_timeout = UNSET
    else:
        json_timeout = timeout
    params["timeout"] = json_timeout

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "get",
        "url": "/v1/fits/{fit_id}/events".format(
            fit_id=quote(str(fit_id), safe=""),
        ),
        "params": params,
    }

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Problem | str:
    if response.status_code == 200:
        response_200 = response.text
        return response_200

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Problem | str]:
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
    after: int | None | Unset = UNSET,
    max_events: int | None | Unset = UNSET,
    timeout: float | None | Unset = UNSET,
    last_event_id: int | None | Unset = UNSET,
) -> Response[Problem | str]:
    """Stream the events of a fit

     Sends the events of a fit as server-sent events until it ends. A client resumes with `Last-Event-ID`
    or `after`;
    comments keep an idle connection open.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | None | Unset): The last event that the client has.
        max_events (int | None | Unset): End after so many events.
        timeout (float | None | Unset): End after so many seconds.
        last_event_id (int | None | Unset): As `after`; browsers send it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        after=after,
        max_events=max_events,
        timeout=timeout,
        last_event_id=last_event_id,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | None | Unset = UNSET,
    max_events: int | None | Unset = UNSET,
    timeout: float | None | Unset = UNSET,
    last_event_id: int | None | Unset = UNSET,
) -> Problem | str | None:
    """Stream the events of a fit

     Sends the events of a fit as server-sent events until it ends. A client resumes with `Last-Event-ID`
    or `after`;
    comments keep an idle connection open.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | None | Unset): The last event that the client has.
        max_events (int | None | Unset): End after so many events.
        timeout (float | None | Unset): End after so many seconds.
        last_event_id (int | None | Unset): As `after`; browsers send it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
    """

    return sync_detailed(
        fit_id=fit_id,
        client=client,
        after=after,
        max_events=max_events,
        timeout=timeout,
        last_event_id=last_event_id,
    ).parsed


async def asyncio_detailed(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | None | Unset = UNSET,
    max_events: int | None | Unset = UNSET,
    timeout: float | None | Unset = UNSET,
    last_event_id: int | None | Unset = UNSET,
) -> Response[Problem | str]:
    """Stream the events of a fit

     Sends the events of a fit as server-sent events until it ends. A client resumes with `Last-Event-ID`
    or `after`;
    comments keep an idle connection open.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | None | Unset): The last event that the client has.
        max_events (int | None | Unset): End after so many events.
        timeout (float | None | Unset): End after so many seconds.
        last_event_id (int | None | Unset): As `after`; browsers send it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Problem | str]
    """

    kwargs = _get_kwargs(
        fit_id=fit_id,
        after=after,
        max_events=max_events,
        timeout=timeout,
        last_event_id=last_event_id,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    fit_id: str,
    *,
    client: AuthenticatedClient | Client,
    after: int | None | Unset = UNSET,
    max_events: int | None | Unset = UNSET,
    timeout: float | None | Unset = UNSET,
    last_event_id: int | None | Unset = UNSET,
) -> Problem | str | None:
    """Stream the events of a fit

     Sends the events of a fit as server-sent events until it ends. A client resumes with `Last-Event-ID`
    or `after`;
    comments keep an idle connection open.

    Args:
        fit_id (str): Id: `fit_` and 26 characters.
        after (int | None | Unset): The last event that the client has.
        max_events (int | None | Unset): End after so many events.
        timeout (float | None | Unset): End after so many seconds.
        last_event_id (int | None | Unset): As `after`; browsers send it.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Problem | str
    """

    return (
        await asyncio_detailed(
            fit_id=fit_id,
            client=client,
            after=after,
            max_events=max_events,
            timeout=timeout,
            last_event_id=last_event_id,
        )
    ).parsed
