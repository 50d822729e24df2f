from http import HTTPStatus
from typing import Any

import httpx

from ...client import AuthenticatedClient, Client
from ...models.create_dataset_format_type_0 import CreateDatasetFormatType0
from ...models.create_dataset_header import CreateDatasetHeader
from ...models.dataset import Dataset
from ...models.inline_dataset import InlineDataset
from ...models.problem import Problem
from ...types import UNSET, File, Response, Unset


def _get_kwargs(
    *,
    body: InlineDataset | File | Unset = UNSET,
    name: None | str | Unset = UNSET,
    format_: CreateDatasetFormatType0 | None | Unset = UNSET,
    columns: None | str | Unset = UNSET,
    column: None | str | Unset = UNSET,
    header: CreateDatasetHeader | Unset = "auto",
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> dict[str, Any]:
    headers: dict[str, Any] = {}
    if not isinstance(content_digest, Unset):
        headers["content-digest"] = content_digest

    if not isinstance(idempotency_key, Unset):
        headers["idempotency-key"] = idempotency_key

    params: dict[str, Any] = {}

    json_name: None | str | Unset
    if isinstance(name, Unset):
        json_name = UNSET
    else:
        json_name = name
    params["name"] = json_name

    json_format_: None | str | Unset
    if isinstance(format_, Unset):
        json_format_ = UNSET
    elif isinstance(format_, str):
        json_format_ = format_
    else:
        json_format_ = format_
    params["format"] = json_format_

    json_columns: None | str | Unset
    if isinstance(columns, Unset):
        json_columns = UNSET
    else:
        json_columns = columns
    params["columns"] = json_columns

    json_column: None | str | Unset
    if isinstance(column, Unset):
        json_column = UNSET
    else:
        json_column = column
    params["column"] = json_column

    json_header: str | Unset = UNSET
    if not isinstance(header, Unset):
        json_header = header

    params["header"] = json_header

    params = {k: v for k, v in params.items() if v is not UNSET and v is not None}

    _kwargs: dict[str, Any] = {
        "method": "post",
        "url": "/v1/datasets",
        "params": params,
    }

    if isinstance(body, InlineDataset):
        _kwargs["json"] = body.to_dict()

        headers["Content-Type"] = "application/json"
    if isinstance(body, File):
        _kwargs["content"] = body.payload
        headers["Content-Type"] = "application/octet-stream"

    _kwargs["headers"] = headers
    return _kwargs


def _parse_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Dataset | Problem:
    if response.status_code == 201:
        response_201 = Dataset.from_dict(response.json())

        return response_201

    response_default = Problem.from_dict(response.json())

    return response_default


def _build_response(*, client: AuthenticatedClient | Client, response: httpx.Response) -> Response[Dataset | Problem]:
    return Response(
        status_code=HTTPStatus(response.status_code),
        content=response.content,
        headers=response.headers,
        parsed=_parse_response(client=client, response=response),
    )


def sync_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: InlineDataset | File | Unset = UNSET,
    name: None | str | Unset = UNSET,
    format_: CreateDatasetFormatType0 | None | Unset = UNSET,
    columns: None | str | Unset = UNSET,
    column: None | str | Unset = UNSET,
    header: CreateDatasetHeader | Unset = "auto",
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Dataset | Problem]:
    """Create a dataset

     Parses the request body in a confined process and stores its columns. If any part of the body is
    invalid,
    nothing is stored. A body with the digest of a stored file shares its storage.

    Args:
        name (None | str | Unset): A name for the dataset.
        format_ (CreateDatasetFormatType0 | None | Unset): What an application/octet-stream holds.
        columns (None | str | Unset): Columns of the dataset out of those of a CSV file, as
            NAME:DTYPE[SIZES]=SOURCES, joined by commas; the rest of the file is left out. SOURCES are
            names of the header, or ranges of them:
            x:float32[4]=sepal_length..petal_width,species:class. A column without SOURCES takes the
            one of its own name. In a file without a header, columns take all cells by position:
            x:float32[4],species:class. DTYPE is a numeric one or class. A name that holds one of , :
            = [ ] is put in double quotes.
        column (None | str | Unset): Name of the column that a .npy file becomes; default "x".
        header (CreateDatasetHeader | Unset): Whether line 1 of a CSV file names the columns. With
            auto it does if it holds a name that `columns` asks for, or no number; a line of different
            whole numbers, which may be either, is refused unless `columns` tells. A file without a
            header and without `columns` has the columns column_1, column_2, ... Default: 'auto'.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (InlineDataset): Columns by name, each a tensor whose first dimension counts the
            rows.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Dataset | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        name=name,
        format_=format_,
        columns=columns,
        column=column,
        header=header,
        content_digest=content_digest,
        idempotency_key=idempotency_key,
    )

    response = client.get_httpx_client().request(
        **kwargs,
    )

    return _build_response(client=client, response=response)


def sync(
    *,
    client: AuthenticatedClient | Client,
    body: InlineDataset | File | Unset = UNSET,
    name: None | str | Unset = UNSET,
    format_: CreateDatasetFormatType0 | None | Unset = UNSET,
    columns: None | str | Unset = UNSET,
    column: None | str | Unset = UNSET,
    header: CreateDatasetHeader | Unset = "auto",
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Dataset | Problem | None:
    """Create a dataset

     Parses the request body in a confined process and stores its columns. If any part of the body is
    invalid,
    nothing is stored. A body with the digest of a stored file shares its storage.

    Args:
        name (None | str | Unset): A name for the dataset.
        format_ (CreateDatasetFormatType0 | None | Unset): What an application/octet-stream holds.
        columns (None | str | Unset): Columns of the dataset out of those of a CSV file, as
            NAME:DTYPE[SIZES]=SOURCES, joined by commas; the rest of the file is left out. SOURCES are
            names of the header, or ranges of them:
            x:float32[4]=sepal_length..petal_width,species:class. A column without SOURCES takes the
            one of its own name. In a file without a header, columns take all cells by position:
            x:float32[4],species:class. DTYPE is a numeric one or class. A name that holds one of , :
            = [ ] is put in double quotes.
        column (None | str | Unset): Name of the column that a .npy file becomes; default "x".
        header (CreateDatasetHeader | Unset): Whether line 1 of a CSV file names the columns. With
            auto it does if it holds a name that `columns` asks for, or no number; a line of different
            whole numbers, which may be either, is refused unless `columns` tells. A file without a
            header and without `columns` has the columns column_1, column_2, ... Default: 'auto'.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (InlineDataset): Columns by name, each a tensor whose first dimension counts the
            rows.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Dataset | Problem
    """

    return sync_detailed(
        client=client,
        body=body,
        name=name,
        format_=format_,
        columns=columns,
        column=column,
        header=header,
        content_digest=content_digest,
        idempotency_key=idempotency_key,
    ).parsed


async def asyncio_detailed(
    *,
    client: AuthenticatedClient | Client,
    body: InlineDataset | File | Unset = UNSET,
    name: None | str | Unset = UNSET,
    format_: CreateDatasetFormatType0 | None | Unset = UNSET,
    columns: None | str | Unset = UNSET,
    column: None | str | Unset = UNSET,
    header: CreateDatasetHeader | Unset = "auto",
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Response[Dataset | Problem]:
    """Create a dataset

     Parses the request body in a confined process and stores its columns. If any part of the body is
    invalid,
    nothing is stored. A body with the digest of a stored file shares its storage.

    Args:
        name (None | str | Unset): A name for the dataset.
        format_ (CreateDatasetFormatType0 | None | Unset): What an application/octet-stream holds.
        columns (None | str | Unset): Columns of the dataset out of those of a CSV file, as
            NAME:DTYPE[SIZES]=SOURCES, joined by commas; the rest of the file is left out. SOURCES are
            names of the header, or ranges of them:
            x:float32[4]=sepal_length..petal_width,species:class. A column without SOURCES takes the
            one of its own name. In a file without a header, columns take all cells by position:
            x:float32[4],species:class. DTYPE is a numeric one or class. A name that holds one of , :
            = [ ] is put in double quotes.
        column (None | str | Unset): Name of the column that a .npy file becomes; default "x".
        header (CreateDatasetHeader | Unset): Whether line 1 of a CSV file names the columns. With
            auto it does if it holds a name that `columns` asks for, or no number; a line of different
            whole numbers, which may be either, is refused unless `columns` tells. A file without a
            header and without `columns` has the columns column_1, column_2, ... Default: 'auto'.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (InlineDataset): Columns by name, each a tensor whose first dimension counts the
            rows.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Response[Dataset | Problem]
    """

    kwargs = _get_kwargs(
        body=body,
        name=name,
        format_=format_,
        columns=columns,
        column=column,
        header=header,
        content_digest=content_digest,
        idempotency_key=idempotency_key,
    )

    response = await client.get_async_httpx_client().request(**kwargs)

    return _build_response(client=client, response=response)


async def asyncio(
    *,
    client: AuthenticatedClient | Client,
    body: InlineDataset | File | Unset = UNSET,
    name: None | str | Unset = UNSET,
    format_: CreateDatasetFormatType0 | None | Unset = UNSET,
    columns: None | str | Unset = UNSET,
    column: None | str | Unset = UNSET,
    header: CreateDatasetHeader | Unset = "auto",
    content_digest: None | str | Unset = UNSET,
    idempotency_key: None | str | Unset = UNSET,
) -> Dataset | Problem | None:
    """Create a dataset

     Parses the request body in a confined process and stores its columns. If any part of the body is
    invalid,
    nothing is stored. A body with the digest of a stored file shares its storage.

    Args:
        name (None | str | Unset): A name for the dataset.
        format_ (CreateDatasetFormatType0 | None | Unset): What an application/octet-stream holds.
        columns (None | str | Unset): Columns of the dataset out of those of a CSV file, as
            NAME:DTYPE[SIZES]=SOURCES, joined by commas; the rest of the file is left out. SOURCES are
            names of the header, or ranges of them:
            x:float32[4]=sepal_length..petal_width,species:class. A column without SOURCES takes the
            one of its own name. In a file without a header, columns take all cells by position:
            x:float32[4],species:class. DTYPE is a numeric one or class. A name that holds one of , :
            = [ ] is put in double quotes.
        column (None | str | Unset): Name of the column that a .npy file becomes; default "x".
        header (CreateDatasetHeader | Unset): Whether line 1 of a CSV file names the columns. With
            auto it does if it holds a name that `columns` asks for, or no number; a line of different
            whole numbers, which may be either, is refused unless `columns` tells. A file without a
            header and without `columns` has the columns column_1, column_2, ... Default: 'auto'.
        content_digest (None | str | Unset): SHA-256 of the body, checked (RFC 9530).
        idempotency_key (None | str | Unset): Makes it safe to send the request again: it is
            carried out once.
        body (InlineDataset): Columns by name, each a tensor whose first dimension counts the
            rows.
        body (File):

    Raises:
        errors.UnexpectedStatus: If the server returns an undocumented status code and Client.raise_on_unexpected_status is True.
        httpx.TimeoutException: If the request takes longer than Client.timeout.

    Returns:
        Dataset | Problem
    """

    return (
        await asyncio_detailed(
            client=client,
            body=body,
            name=name,
            format_=format_,
            columns=columns,
            column=column,
            header=header,
            content_digest=content_digest,
            idempotency_key=idempotency_key,
        )
    ).parsed
