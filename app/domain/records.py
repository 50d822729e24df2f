"""Records of graphs, datasets, checkpoints, captured gradients and stored responses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from app.domain.access import DEFAULT_TENANT
from app.domain.column_labels import quoted

COMPUTED: Mapping[str, bool] = MappingProxyType({"computed": True})
"""The metadata of such a field; see `app.store.tables.values_of`."""


@dataclass(frozen=True, slots=True)
class GraphRecord:
    """A graph definition in its canonical form, and what the engine reported about it.

    `digest` is the engine's digest of the definition: equal digests mean equal graphs.
    """

    id: str
    name: str
    digest: str
    definition: dict[str, Any]
    report: dict[str, Any]
    created_at: datetime
    tenant: str = DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class GraphEntry:
    """A graph as lists show it: without its definition, which may have thousands of nodes."""

    id: str
    name: str
    digest: str
    parameter_count: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `rows` values of `dtype`, each of `shape`. `name` is the identifier of the `label` in the file.

    `blob` is the SHA-256 of its `.npy` file. `minimum`, `maximum` and `mean` leave missing values out and are None
    where no value is left; integers stay exact. `missing` counts NaN. `classes` names the codes of a text column.
    `images` says how the files of images became arrays: `size` to which they were scaled, None if they were not, `mode`
    and `dtype`.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    blob: str
    minimum: float | None
    maximum: float | None
    mean: float | None
    missing: int
    classes: tuple[str, ...] | None = None
    label: str | None = None
    """None of datasets from before labels were kept: it is the name."""
    images: dict[str, Any] | None = None

    @property
    def title(self) -> str:
        """How messages name the column."""
        return quoted(self.name, self.label)


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """A dataset. `digest` is the SHA-256 of the bytes as they came, which are kept; `format` names them.

    One that is made of others has a manifest of its columns in place of such bytes. `origin` says which ones, and how;
    `version` counts, from 1, how often rows were appended to get it. `corrupt`: whether the file of these bytes, or
    of a column, is missing or does not match its digest.
    """

    id: str
    name: str
    digest: str
    size_bytes: int
    rows: int
    columns: tuple[Column, ...]
    format: str
    created_at: datetime
    tenant: str = DEFAULT_TENANT
    version: int = 1
    origin: dict[str, Any] | None = None
    corrupt: bool = field(default=False, metadata=COMPUTED)

    @property
    def labels(self) -> dict[str, str]:
        """The labels of columns by their names, where they differ."""
        named = ((column.name, column.label) for column in self.columns)
        return {name: label for name, label in named if label is not None and label != name}


@dataclass(frozen=True, slots=True)
class CheckpointRecord:
    """A safetensors file with everything a fit or a session needs to go on, or that a client uploaded.

    `fit_id` is None unless a fit wrote it, `session_id` unless a session saved it, with its step `session_seq`.

    `digest` is the file's SHA-256. A `deleted` checkpoint stays on record; its content is gone. One that is `pinned`
    is kept when newer ones are written. `corrupt`: whether the file is missing or does not match its digest.
    """

    id: str
    fit_id: str | None
    graph_id: str
    step: int
    epoch: int
    digest: str
    size_bytes: int
    metrics: dict[str, Any]
    created_at: datetime
    is_best: bool
    deleted: bool
    pinned: bool = False
    session_id: str | None = None
    session_seq: int | None = None
    tenant: str = DEFAULT_TENANT
    corrupt: bool = field(default=False, metadata=COMPUTED)


@dataclass(frozen=True, slots=True)
class GradientRecord:
    """The gradient of a fit's loss by one parameter, at the parameters as they were after `step` steps: a .npy blob.

    `digest` is the file's SHA-256, `size_bytes` its length. One that was stored never changes. `corrupt`: whether the
    file is missing or does not match its digest.
    """

    fit_id: str
    step: int
    parameter: str
    dtype: str
    shape: list[int]
    digest: str
    size_bytes: int
    corrupt: bool = field(default=False, metadata=COMPUTED)


@dataclass(frozen=True, slots=True)
class IdempotencyRecord:
    """The first answer to `key` within `scope` (which route and caller it belongs to).

    `body_digest` is the SHA-256 of the request's body; `resource_id` the resource that the request created, if any.
    """

    scope: str
    key: str
    body_digest: str
    status: int
    response_body: str
    resource_id: str | None
    created_at: datetime
    tenant: str = DEFAULT_TENANT
