from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.operation import Operation
from ...models.optim_step_answer import OptimStepAnswer
from ...models.optim_step_request import OptimStepRequest
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    body: OptimStepRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    if not isinstance(prefer, Unset):
        headers["prefer"] = prefer

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/{session_id}:optim_step".format(
            session_id=quote(str(session_id), safe=""),
        ),
    }

    if not isinstance(body, Unset):
        _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Operation | OptimStepAnswer | Problem:
    if response.status_code == 200:
        response_200 = OptimStepAnswer.from_dict(response.json())

        return response_200

    if response.status_code == 202:
        response_202 = Operation.from_dict(response.json())

        return response_202

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Operation | OptimStepAnswer | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: OptimStepRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Response[Operation | OptimStepAnswer | Problem]:
    """Run an optimizer step

     Updates the parameters that have gradients, and clears the gradients.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptimStepRequest | Unset): A step of the optimizer; options of it that stand beside
            `seq` hold for this step alone.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Operation | OptimStepAnswer | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        body=body,
        idempotency_key=idempotency_key,
        prefer=prefer,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: OptimStepRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Operation | OptimStepAnswer | Problem | None:
    """Run an optimizer step

     Updates the parameters that have gradients, and clears the gradients.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptimStepRequest | Unset): A step of the optimizer; options of it that stand beside
            `seq` hold for this step alone.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Operation | OptimStepAnswer | Problem
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        body=body,
        idempotency_key=idempotency_key,
        prefer=prefer,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: OptimStepRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Response[Operation | OptimStepAnswer | Problem]:
    """Run an optimizer step

     Updates the parameters that have gradients, and clears the gradients.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptimStepRequest | Unset): A step of the optimizer; options of it that stand beside
            `seq` hold for this step alone.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Operation | OptimStepAnswer | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        body=body,
        idempotency_key=idempotency_key,
        prefer=prefer,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: OptimStepRequest | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Operation | OptimStepAnswer | Problem | None:
    """Run an optimizer step

     Updates the parameters that have gradients, and clears the gradients.

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptimStepRequest | Unset): A step of the optimizer; options of it that stand beside
            `seq` hold for this step alone.

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Operation | OptimStepAnswer | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            body=body,
            idempotency_key=idempotency_key,
            prefer=prefer,
        )
    ).parsed
