from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_answer import GraphAnswer
from ...models.operation import Operation
from ...models.opt_step_sgd_request import OptStepSgdRequest
from ...models.problem import Problem
from ...types import UNSET, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    body: OptStepSgdRequest,
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
        "url": "/v1/sessions/{session_id}:opt_step_sgd".format(
            session_id=quote(str(session_id), safe=""),
        ),
    }

    _kwargs["json"] = body.to_dict()

    headers["Content-Type"] = "application/json"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> GraphAnswer | Operation | Problem:
    if response.status_code == 200:
        response_200 = GraphAnswer.from_dict(response.json())

        return response_200

    if response.status_code == 202:
        response_202 = Operation.from_dict(response.json())

        return response_202

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GraphAnswer | Operation | Problem]:
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
    body: OptStepSgdRequest,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Response[GraphAnswer | Operation | Problem]:
    """Append SGD steps

     Appends an SGD update for each parameter, which runs with every complete computation
    (ggml_opt_step_sgd).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptStepSgdRequest): A step of SGD for each parameter, taken with each complete
            computation (ggml_opt_step_sgd).

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphAnswer | Operation | Problem]
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
    body: OptStepSgdRequest,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> GraphAnswer | Operation | Problem | None:
    """Append SGD steps

     Appends an SGD update for each parameter, which runs with every complete computation
    (ggml_opt_step_sgd).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptStepSgdRequest): A step of SGD for each parameter, taken with each complete
            computation (ggml_opt_step_sgd).

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphAnswer | Operation | Problem
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
    body: OptStepSgdRequest,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Response[GraphAnswer | Operation | Problem]:
    """Append SGD steps

     Appends an SGD update for each parameter, which runs with every complete computation
    (ggml_opt_step_sgd).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptStepSgdRequest): A step of SGD for each parameter, taken with each complete
            computation (ggml_opt_step_sgd).

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphAnswer | Operation | Problem]
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
    body: OptStepSgdRequest,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> GraphAnswer | Operation | Problem | None:
    """Append SGD steps

     Appends an SGD update for each parameter, which runs with every complete computation
    (ggml_opt_step_sgd).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (OptStepSgdRequest): A step of SGD for each parameter, taken with each complete
            computation (ggml_opt_step_sgd).

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphAnswer | Operation | Problem
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
