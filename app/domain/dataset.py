"""A dataset as the service keeps it: the bytes that came, and one array for each column."""

from dataclasses import dataclass, field
from datetime import datetime

from app.domain.computed import COMPUTED
from app.domain.tenancy import DEFAULT_TENANT


@dataclass(frozen=True, slots=True)
class Column:
    """One column: `rows` values of `dtype`, each of `shape`.

    `blob` is the SHA-256 of its `.npy` file. `minimum`, `maximum` and `mean` leave missing values out and are None
    where no value is left; integers stay exact. `missing` counts NaN. `classes` names the codes of a text column.
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


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """An uploaded dataset. `digest` is the SHA-256 of the bytes as they came, which are kept; `format` names them.

    `corrupt` tells that the file of these bytes, or of a column, was found to be missing or not what its digest says.
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
    corrupt: bool = field(default=False, metadata=COMPUTED)
