"""Limits, options and errors of the readers of uploads."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from app.domain.errors import ApiError, Finding, Invalid, StorageFull, TooLarge


class IngestError(Exception):
    """A file that is not taken as a data set.

    `code` is stable snake case; `pointer` is a JSON pointer into what was uploaded (`/columns/x`, `/lines/3`, `""` for
    the whole file); `detail` says what is wrong and what to change, and never repeats bytes of the file. `limit` is
    set when the file is well-formed and merely exceeds a limit of this server.
    """

    def __init__(self, code: str, pointer: str, detail: str, limit: int | None = None) -> None:
        super().__init__(detail)
        self.code = code
        self.pointer = pointer
        self.detail = detail
        self.limit = limit


def too_large(code: str, pointer: str, what: str, limit: int) -> IngestError:
    """An error for something that exceeds `limit`; `what` names it with its unit ("rows", "bytes of header")."""
    return IngestError(code, pointer, f"more than {limit} {what}; this server takes no more", limit=limit)


def domain_error(error: IngestError) -> ApiError:
    """Return the same refusal as the service's other errors are."""
    findings = (Finding(error.pointer, error.code, error.detail),)
    if error.code == "storage_full":
        return StorageFull(error.detail)
    if error.limit is not None:
        return TooLarge(error.detail, limit=error.limit, code=error.code, findings=findings)
    return Invalid(error.detail, code=error.code, findings=findings)


KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class IngestLimits:
    """Limits of one ingest. The first block bounds the file, the second one the child process.

    The child gets `cpu_seconds` and `wall_seconds`, plus the time that the file's size takes at
    `slowest_bytes_per_second`: a large CSV file is slow to read, and is no attack.
    """

    max_expanded_bytes: int = 4 * GIB
    max_rows: int = 1_000_000_000
    max_columns: int = 10_000
    max_rank: int = 8
    max_members: int = 256
    max_ratio: int = 200
    max_depth: int = 64
    max_json_bytes: int = 64 * MIB
    max_header_bytes: int = 16 * MIB
    max_npy_header_bytes: int = 64 * KIB
    max_record_bytes: int = 4 * MIB
    max_classes: int = 10_000
    max_class_characters: int = 256
    max_images: int = 65_535
    max_image_bytes: int = 32 * MIB
    max_image_pixels: int = 24 * MIB

    memory_bytes: int = 512 * MIB
    open_files: int = 64
    cpu_seconds: int = 30
    wall_seconds: float = 60.0
    slowest_bytes_per_second: int = 4 * MIB
    usual_ratio: int = 10
    """How many times its size a compressed file is taken to hold, where time is allowed for it."""

    def cpu_budget(self, size_bytes: int) -> int:
        """CPU seconds for a file of `size_bytes`."""
        return self.cpu_seconds + size_bytes // self.slowest_bytes_per_second

    def wall_budget(self, size_bytes: int) -> float:
        """Seconds of wall-clock time for a file of `size_bytes`."""
        return self.wall_seconds + size_bytes / self.slowest_bytes_per_second


Header = Literal["auto", "true", "false"]
Packing = Literal["gzip", "zstd"]
"""How a file may be compressed."""


ImageMode = Literal["L", "RGB", "RGBA"]
"""Channels of images: grey, colours, colours and opacity, as Pillow names them."""
ImageDtype = Literal["uint8", "float32"]


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """How images become arrays.

    Attributes:
        size: HEIGHTxWIDTH to which they are scaled; None: they must be of one size.
        mode: their channels.
        dtype: uint8 from 0 to 255, or float32 from 0 to 1.
    """

    size: str | None = None
    mode: ImageMode = "RGB"
    dtype: ImageDtype = "uint8"


Delimiter = Literal["auto", "comma", "semicolon", "tab", "bar", ",", ";", "\t", "|"]
"""What separates the cells of a CSV file: a name, or the character itself."""


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """How a file is to be read.

    Attributes:
        columns_spec: columns of the dataset out of those of a CSV file, see `columns_spec`.
        column: name of the column that a `.npy` file becomes; None stands for `x`.
        header: whether line 1 of a CSV file names its columns, see `csv_header`.
        delimiter: the character between the cells of a CSV file, see `csv_dialect`.
        decimal: whether a point or a comma begins the fraction of a number in a CSV file.
        encoding: the encoding of a CSV file.
        missing: cells of a CSV file that stand for missing values, beside empty ones.
        image_size: HEIGHTxWIDTH to which images are scaled; None leaves that to `images`, as of the next two.
        image_mode: the channels of images.
        image_dtype: uint8 from 0 to 255, or float32 from 0 to 1.
        images: how the images of a column, by its identifier, are read where the three fields before leave it open.
        image_names: whether a zip file of images has a column of their file names instead of one of their folders.
        content_encoding: how the request declares the file to be compressed; None leaves that to its first bytes.
    """

    columns_spec: str | None = None
    column: str | None = None
    header: Header = "auto"
    missing: tuple[str, ...] = ()
    delimiter: Delimiter = "auto"
    decimal: Literal["point", "comma"] = "point"
    encoding: Literal["utf-8", "latin-1", "windows-1252"] = "utf-8"
    content_encoding: Packing | None = None
    image_size: str | None = None
    image_mode: ImageMode | None = None
    image_dtype: ImageDtype | None = None
    images: Mapping[str, ImageOptions] = field(default_factory=dict)
    image_names: bool = False

    def of_images(self, column: str) -> ImageOptions:
        """Return how the images of the column with the identifier `column` are read."""
        usual = self.images.get(column, ImageOptions())
        size = usual.size if self.image_size is None else self.image_size
        return ImageOptions(size, self.image_mode or usual.mode, self.image_dtype or usual.dtype)


LONGEST = 512


def check_array_name(name: str, where: str) -> None:
    """Refuse a name that is empty, too long, or holds what is no character; `where` names it in the message."""
    if not 0 < len(name) <= LONGEST:
        raise IngestError("bad_name", "", f"{where}: a name has 1 to {LONGEST} characters")
    if name.isascii() and name.isprintable():
        return
    if any(not _is_character(character) for character in name):
        raise IngestError("bad_name", "", f"{where}: a name holds no control characters and no halves of pairs")


def _is_character(character: str) -> bool:
    # Control characters are those below the space, and from DEL to the end of the second block of them.
    return character >= " " and not "\x7f" <= character <= "\x9f" and not "\ud800" <= character <= "\udfff"
