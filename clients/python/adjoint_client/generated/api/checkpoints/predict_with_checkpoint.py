from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import httpx

from ...client import AuthenticatedClient, Client
from ...models.predict_request import PredictRequest
from ...models.predict_with_checkpoint_format_type_0 import (
    PredictWithCheckpointFormatType0,
)
from ...models.prediction import Prediction
from ...models.problem import Problem
from ...types import UNSET, File, Response, Unset


def _get_kwargs(
    checkpoint_id: str,
    *,
    body: PredictRequest | File | Unset = UNSET,
    input_: None | str | Unset = UNSET,
    output: None | str | Unset = UNSET,
    format_: None | PredictWithCheckpointFormatType0 | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}

    params: dict[str, Any] = {}

    json_input_: None | str | Unset
    if isinstance(input_, Unset):
        json_input_ = UNSET
    else:
        json_input_ = input_
    params["input"] = json_input_

    json_output: None | str | Unset
    if isinstance(output, Unset):
        json_output = UNSET
    else:
        json_output = output
    params["output"] = json_output

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
        "method": "post",
        "url": "/v1/checkpoints/{checkpoint_id}:predict".format(
            checkpoint_id=quote(str(checkpoint_id), safe=""),
        ),
        "params": params,
    }

    if isinstance(body, PredictRequest):
        _kwargs["json"] = body.to_dict()

        headers["Content-Type"] = "application/json"
    if isinstance(body, File):
        _kwargs["content"] = body.payload
        headers["Content-Type"] = "application/x-npy"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Prediction | Problem:
    if response.status_code == 200:
        response_200 = Prediction.from_dict(response.json())

        return response_200

    if response.status_code == 413:
        response_413 = Problem.from_dict(response.json())

        return response_413

    if response.status_code == 503:
        response_503 = Problem.from_dict(response.json())

        return response_503

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(
    *, client: AuthenticatedClient | Client, response: httpx.Response
) -> Response[Prediction | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest | File | Unset = UNSET,
    input_: None | str | Unset = UNSET,
    output: None | str | Unset = UNSET,
    format_: None | PredictWithCheckpointFormatType0 | Unset = UNSET,
) -> Response[Prediction | Problem]:
    """Predict with a checkpoint

     Computes the outputs for the given inputs in evaluation mode. Inputs and outputs are JSON, or `.npy`
    where there
    is one of them.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        input_ (None | str | Unset): Which input a .npy body is for, if there are several.
        output (None | str | Unset): Which output a .npy answer holds, if there are several.
        format_ (None | PredictWithCheckpointFormatType0 | Unset): By default what Accept says, or
            as the body is.
        body (PredictRequest): A tensor for each input that the outputs depend on; text for one
            that took a text column in training.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Prediction | Problem]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
        body=body,
        input_=input_,
        output=output,
        format_=format_,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest | File | Unset = UNSET,
    input_: None | str | Unset = UNSET,
    output: None | str | Unset = UNSET,
    format_: None | PredictWithCheckpointFormatType0 | Unset = UNSET,
) -> Prediction | Problem | None:
    """Predict with a checkpoint

     Computes the outputs for the given inputs in evaluation mode. Inputs and outputs are JSON, or `.npy`
    where there
    is one of them.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        input_ (None | str | Unset): Which input a .npy body is for, if there are several.
        output (None | str | Unset): Which output a .npy answer holds, if there are several.
        format_ (None | PredictWithCheckpointFormatType0 | Unset): By default what Accept says, or
            as the body is.
        body (PredictRequest): A tensor for each input that the outputs depend on; text for one
            that took a text column in training.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Prediction | Problem
    """

    return sync_detailed(
        checkpoint_id=checkpoint_id,
        client=client,
        body=body,
        input_=input_,
        output=output,
        format_=format_,
    ).parsed


async def asyncio_detailed(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest | File | Unset = UNSET,
    input_: None | str | Unset = UNSET,
    output: None | str | Unset = UNSET,
    format_: None | PredictWithCheckpointFormatType0 | Unset = UNSET,
) -> Response[Prediction | Problem]:
    """Predict with a checkpoint

     Computes the outputs for the given inputs in evaluation mode. Inputs and outputs are JSON, or `.npy`
    where there
    is one of them.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        input_ (None | str | Unset): Which input a .npy body is for, if there are several.
        output (None | str | Unset): Which output a .npy answer holds, if there are several.
        format_ (None | PredictWithCheckpointFormatType0 | Unset): By default what Accept says, or
            as the body is.
        body (PredictRequest): A tensor for each input that the outputs depend on; text for one
            that took a text column in training.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Prediction | Problem]
    """

    kwargs = _get_kwargs(
        checkpoint_id=checkpoint_id,
        body=body,
        input_=input_,
        output=output,
        format_=format_,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    checkpoint_id: str,
    *,
    client: AuthenticatedClient | Client,
    body: PredictRequest | File | Unset = UNSET,
    input_: None | str | Unset = UNSET,
    output: None | str | Unset = UNSET,
    format_: None | PredictWithCheckpointFormatType0 | Unset = UNSET,
) -> Prediction | Problem | None:
    """Predict with a checkpoint

     Computes the outputs for the given inputs in evaluation mode. Inputs and outputs are JSON, or `.npy`
    where there
    is one of them.

    Args:
        checkpoint_id (str): Id: `ckpt_` and 26 characters.
        input_ (None | str | Unset): Which input a .npy body is for, if there are several.
        output (None | str | Unset): Which output a .npy answer holds, if there are several.
        format_ (None | PredictWithCheckpointFormatType0 | Unset): By default what Accept says, or
            as the body is.
        body (PredictRequest): A tensor for each input that the outputs depend on; text for one
            that took a text column in training.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Prediction | Problem
    """

    return (
        await asyncio_detailed(
            checkpoint_id=checkpoint_id,
            client=client,
            body=body,
            input_=input_,
            output=output,
            format_=format_,
        )
    ).parsed
