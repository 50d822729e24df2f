"""What the client says about its file beside the bytes."""

from dataclasses import dataclass
from typing import Literal

Header = Literal["auto", "true", "false"]


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How a file is to be read.

    Attributes:
        columns_spec: columns of the dataset out of those of a CSV file, see `columns_spec`.
        column: name of the column that a `.npy` file becomes; None stands for `x`.
        header: whether line 1 of a CSV file names its columns, see `csv_header`.
    """

    columns_spec: str | None = None
    column: str | None = None
    header: Header = "auto"
