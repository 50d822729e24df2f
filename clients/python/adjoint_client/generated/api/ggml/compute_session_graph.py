from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.graph_compute_answer import GraphComputeAnswer
from ...models.graph_compute_request import GraphComputeRequest
from ...models.operation import Operation
from ...models.problem import Problem
from ...types import UNSET, File, Response, Unset


def _get_kwargs(
    session_id: str,
    *,
    body: GraphComputeRequest | File | Unset = UNSET,
    seq: int | Unset = UNSET,
    graph: str | Unset = UNSET,
    n_threads: int | Unset = UNSET,
    abort_after: int | str | Unset = UNSET,
    auto_resume: bool | Unset = UNSET,
    with_ctx: bool | Unset = UNSET,
    work_size: int | Unset = UNSET,
    use_ref: bool | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    if not isinstance(prefer, Unset):
        headers["prefer"] = prefer

    params: dict[str, Any] = {}

    params["seq"] = seq

    params["graph"] = graph

    params["n_threads"] = n_threads

    json_abort_after: int | str | Unset
    if isinstance(abort_after, Unset):
        json_abort_after = UNSET
    else:
        json_abort_after = abort_after
    params["abort_after"] = json_abort_after

    params["auto_resume"] = auto_resume

    params["with_ctx"] = with_ctx

    params["work_size"] = work_size

    params["use_ref"] = use_ref

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/sessions/{session_id}:graph_compute".format(
            session_id=quote(str(session_id), safe=""),
        ),
        "params": params,
    }

    if isinstance(body, GraphComputeRequest):
        _kwargs["json"] = body.to_dict()

        headers["Content-Type"] = "application/json"
    if isinstance(body, File):
        _kwargs["content"] = body.payload
        headers["Content-Type"] = "application/vnd.safetensors"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> GraphComputeAnswer | Operation | Problem:
    if response.status_code == 200:
        response_200 = GraphComputeAnswer.from_dict(response.json())

        return response_200

    if response.status_code == 202:
        response_202 = Operation.from_dict(response.json())

        return response_202

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[GraphComputeAnswer | Operation | Problem]:
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
    body: GraphComputeRequest | File | Unset = UNSET,
    seq: int | Unset = UNSET,
    graph: str | Unset = UNSET,
    n_threads: int | Unset = UNSET,
    abort_after: int | str | Unset = UNSET,
    auto_resume: bool | Unset = UNSET,
    with_ctx: bool | Unset = UNSET,
    work_size: int | Unset = UNSET,
    use_ref: bool | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Response[GraphComputeAnswer | Operation | Problem]:
    """Compute a static graph

     Sets inputs and computes the nodes of a graph in order, all of them or up to one
    (ggml_graph_compute).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int | Unset):
        graph (str | Unset):
        n_threads (int | Unset):
        abort_after (int | str | Unset):
        auto_resume (bool | Unset):
        with_ctx (bool | Unset):
        work_size (int | Unset):
        use_ref (bool | Unset):
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (GraphComputeRequest): A graph computed, forward and backward (ggml_graph_compute,
            ggml_graph_compute_with_ctx).
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphComputeAnswer | Operation | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        body=body,
        seq=seq,
        graph=graph,
        n_threads=n_threads,
        abort_after=abort_after,
        auto_resume=auto_resume,
        with_ctx=with_ctx,
        work_size=work_size,
        use_ref=use_ref,
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
    body: GraphComputeRequest | File | Unset = UNSET,
    seq: int | Unset = UNSET,
    graph: str | Unset = UNSET,
    n_threads: int | Unset = UNSET,
    abort_after: int | str | Unset = UNSET,
    auto_resume: bool | Unset = UNSET,
    with_ctx: bool | Unset = UNSET,
    work_size: int | Unset = UNSET,
    use_ref: bool | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> GraphComputeAnswer | Operation | Problem | None:
    """Compute a static graph

     Sets inputs and computes the nodes of a graph in order, all of them or up to one
    (ggml_graph_compute).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int | Unset):
        graph (str | Unset):
        n_threads (int | Unset):
        abort_after (int | str | Unset):
        auto_resume (bool | Unset):
        with_ctx (bool | Unset):
        work_size (int | Unset):
        use_ref (bool | Unset):
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (GraphComputeRequest): A graph computed, forward and backward (ggml_graph_compute,
            ggml_graph_compute_with_ctx).
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphComputeAnswer | Operation | Problem
    """

    return sync_detailed(
        session_id=session_id,
        client=client,
        body=body,
        seq=seq,
        graph=graph,
        n_threads=n_threads,
        abort_after=abort_after,
        auto_resume=auto_resume,
        with_ctx=with_ctx,
        work_size=work_size,
        use_ref=use_ref,
        idempotency_key=idempotency_key,
        prefer=prefer,
    ).parsed


async def asyncio_detailed(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: GraphComputeRequest | File | Unset = UNSET,
    seq: int | Unset = UNSET,
    graph: str | Unset = UNSET,
    n_threads: int | Unset = UNSET,
    abort_after: int | str | Unset = UNSET,
    auto_resume: bool | Unset = UNSET,
    with_ctx: bool | Unset = UNSET,
    work_size: int | Unset = UNSET,
    use_ref: bool | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> Response[GraphComputeAnswer | Operation | Problem]:
    """Compute a static graph

     Sets inputs and computes the nodes of a graph in order, all of them or up to one
    (ggml_graph_compute).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int | Unset):
        graph (str | Unset):
        n_threads (int | Unset):
        abort_after (int | str | Unset):
        auto_resume (bool | Unset):
        with_ctx (bool | Unset):
        work_size (int | Unset):
        use_ref (bool | Unset):
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (GraphComputeRequest): A graph computed, forward and backward (ggml_graph_compute,
            ggml_graph_compute_with_ctx).
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[GraphComputeAnswer | Operation | Problem]
    """

    kwargs = _get_kwargs(
        session_id=session_id,
        body=body,
        seq=seq,
        graph=graph,
        n_threads=n_threads,
        abort_after=abort_after,
        auto_resume=auto_resume,
        with_ctx=with_ctx,
        work_size=work_size,
        use_ref=use_ref,
        idempotency_key=idempotency_key,
        prefer=prefer,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    session_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: GraphComputeRequest | File | Unset = UNSET,
    seq: int | Unset = UNSET,
    graph: str | Unset = UNSET,
    n_threads: int | Unset = UNSET,
    abort_after: int | str | Unset = UNSET,
    auto_resume: bool | Unset = UNSET,
    with_ctx: bool | Unset = UNSET,
    work_size: int | Unset = UNSET,
    use_ref: bool | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
    prefer: None | str | Unset = UNSET,
) -> GraphComputeAnswer | Operation | Problem | None:
    """Compute a static graph

     Sets inputs and computes the nodes of a graph in order, all of them or up to one
    (ggml_graph_compute).

    Args:
        session_id (str): Id: `sess_` and 26 characters.
        seq (int | Unset):
        graph (str | Unset):
        n_threads (int | Unset):
        abort_after (int | str | Unset):
        auto_resume (bool | Unset):
        with_ctx (bool | Unset):
        work_size (int | Unset):
        use_ref (bool | Unset):
        idempotency_key (None | str | Unset): Makes it safe to send a step without seq again: it
            is carried out once.
        prefer (None | str | Unset): respond-async: 202 as soon as it is sure that the step will
            be carried out.
        body (GraphComputeRequest): A graph computed, forward and backward (ggml_graph_compute,
            ggml_graph_compute_with_ctx).
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        GraphComputeAnswer | Operation | Problem
    """

    return (
        await asyncio_detailed(
            session_id=session_id,
            client=client,
            body=body,
            seq=seq,
            graph=graph,
            n_threads=n_threads,
            abort_after=abort_after,
            auto_resume=auto_resume,
            with_ctx=with_ctx,
            work_size=work_size,
            use_ref=use_ref,
            idempotency_key=idempotency_key,
            prefer=prefer,
        )
    ).parsed
