"""Columns of images: each image is decoded as it comes, and the column is opened with the shape of the first one."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from app.domain.column_labels import column_identifier
from app.ingest.columns import ColumnSet, ColumnWriter, pointer_to
from app.ingest.images import JPEG, PNG, ImageDecoder, ImagePlace, image_format
from app.ingest.limits import IngestError, IngestOptions


class ImageColumn:
    """Writes a column of images [channels, height, width] with the name `name`."""

    def __init__(self, name: str, columns: ColumnSet, options: IngestOptions) -> None:
        self._name, self._columns = name, columns
        self._options = options.of_images(column_identifier(name))
        format = image_format(self._options)
        self._dtype = format.dtype
        self._decoder = ImageDecoder(format, columns.limits)
        self._writer: ColumnWriter | None = None
        if format.size is not None:
            self._options = replace(self._options, size="{}x{}".format(*format.size))

    def add(self, data: bytes, place: ImagePlace, rows: int = 1) -> None:
        """Append the image in a file's bytes. `rows` is how many rows there will be, as far as that is known."""
        pixels = self._decoder.decode(data, place)
        if self._writer is None:
            self._columns.check_shape(self._name, self._dtype, (rows, *pixels.shape))
            self._writer = self._columns.open(self._name, self._dtype, pixels.shape)
            self._writer.images = self._options
        self._writer.append(pixels)


class BinaryColumn:
    """Writes a column of images out of Arrow arrays of bytes."""

    def __init__(self, name: str, columns: ColumnSet, options: IngestOptions) -> None:
        self._column = ImageColumn(name, columns, options)
        self._name = name
        self._most = columns.limits.max_image_bytes

    def take(self, array: Any, row: int) -> None:
        """Append the images of a batch that begins at `row`."""
        for number, value in enumerate(_buffers(array), row + 1):
            place = ImagePlace(pointer_to(self._name), f"row {number} of column {self._name!r}")
            if value is None:
                raise place.error("missing_value", "an image is missing; leave this row out")
            if value.size > self._most:
                detail = f"{place.name}: more than {self._most} bytes in an image; this server takes no more"
                raise IngestError("expanded_too_large", place.pointer, detail, limit=self._most)
            data = value.to_pybytes()
            if number == 1 and not data.startswith((PNG, JPEG)):
                detail = "bytes are taken as PNG or JPEG images, and these begin as neither"
                raise place.error("bad_dtype", f"{detail}; cast texts to string, or leave the column out")
            self._column.add(data, place)

    def finish(self) -> None:
        """Do nothing; a column of images is complete."""


def _buffers(array: Any) -> Iterator[Any]:
    """Yield the bytes of each value, None for a missing one, without copying all of them at once."""
    for value in array:
        yield value.as_buffer()
