"""Zip files of images: a column of images, and labels by their folders or by a CSV file that names them.

Where images lie in several folders beside each other, the name of its folder is the class of an image. A CSV file in
the archive has the names of the images in its first column, relative to the folder in which it lies itself; its other
columns become columns of the dataset, and rows are in its order. Where images are to be predicted, their names are a
column in place of those of their folders.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import PurePosixPath

import numpy as np

from app.ingest.columns import ColumnSet
from app.ingest.csv import read_named_rows
from app.ingest.image_column import ImageColumn
from app.ingest.images import ENDINGS, ImagePlace
from app.ingest.limits import IngestError, IngestLimits, IngestOptions, too_large
from app.ingest.values import CLASS, ColumnPlan, ValueColumn
from app.ingest.zip_directory import Member, Rules, member_source, read_directory

IMAGE, LABEL, FILE = "image", "label", "file"
"""Names of the columns."""
_PATH = re.compile(
    r"(?![A-Za-z]:)(?:(?!\.{1,2}/)[^/\\\x00-\x1f\x7f]{1,200}/){0,16}(?:(?!\.{1,2}\Z)[^/\\\x00-\x1f\x7f]{1,200})?"
)
"""Folders and a name, neither of which leads upwards; a folder ends with `/`."""
_OF_SYSTEMS = re.compile(r"(?:.*/)?(?:__MACOSX/.*|\.DS_Store|Thumbs\.db|desktop\.ini)", re.DOTALL)
"""What programs that write archives add to them."""
_SHOWN = 64
"""How many characters of a name messages show, from its end."""


@dataclass(frozen=True, slots=True)
class _Entry:
    """A member of the archive and its place there, by which errors name it."""

    member: Member
    number: int

    @property
    def path(self) -> PurePosixPath:
        return PurePosixPath(self.member.name)

    @property
    def place(self) -> ImagePlace:
        name = self.member.name
        return ImagePlace(f"/members/{self.number}", repr(name if len(name) <= _SHOWN else f"...{name[-_SHOWN:]}"))


def read_image_zip(file: BufferedReader, size_bytes: int, columns: ColumnSet, options: IngestOptions) -> None:
    """Read the images as the column `image` and what labels them as further columns."""
    column = ImageColumn(IMAGE, columns, options)
    images, tables = _members(file, size_bytes, columns.limits)
    if tables:
        images = _read_labels(file, tables, images, columns, options)
    elif options.image_names:
        columns.reserve([IMAGE, FILE])
    else:
        _write_folders(images, columns)
    if options.image_names:
        _write_names(images, columns)
    for entry in images:
        data = _read(file, entry)
        _check_ending(data, entry)
        column.add(data, entry.place, len(images))


def _read(file: BufferedReader, entry: _Entry) -> bytes:
    try:
        with member_source(file, entry.member, entry.number) as source:
            return source.read(source.remaining)
    except IngestError as error:
        raise entry.place.error(error.code, error.detail) from None


def _members(file: BufferedReader, size_bytes: int, limits: IngestLimits) -> tuple[list[_Entry], list[_Entry]]:
    """Return the images and the CSV files."""
    rules = Rules(
        limits.max_images,
        lambda name: bool(name) and _PATH.fullmatch(name) is not None,
        "a member must be a plain file or a folder, within the archive",
        "write the archive with zip -r, or by the menu of the file manager (methods 0 and 8)",
    )
    images: list[_Entry] = []
    tables: list[_Entry] = []
    for number, member in enumerate(read_directory(file, size_bytes, limits, rules)):
        entry = _Entry(member, number)
        if member.name.endswith("/") or _OF_SYSTEMS.fullmatch(member.name):
            continue
        ending = entry.path.suffix.lower()
        if ending not in ENDINGS and ending != ".csv":
            detail = "only images (.png, .jpg, .jpeg) and a CSV file are taken; leave other files out"
            raise entry.place.error("bad_name", detail)
        most = limits.max_image_bytes if ending in ENDINGS else limits.max_json_bytes
        if member.size_bytes > most:
            raise too_large("expanded_too_large", entry.place.pointer, f"bytes in {entry.place.name}", most)
        (images if ending in ENDINGS else tables).append(entry)
    if not images:
        raise IngestError("no_rows", "", "the archive holds no images; a data set needs at least one")
    return images, tables


def _check_ending(data: bytes, entry: _Entry) -> None:
    """Refuse an image that is of another kind than its name says."""
    if not data.startswith(ENDINGS[entry.path.suffix.lower()]):
        detail = "the image is not what the ending of its name says (.png, .jpg); give it the right one"
        raise entry.place.error("bad_image", detail)


def _write_folders(images: Sequence[_Entry], columns: ColumnSet) -> None:
    """Write the names of the folders as classes, if there are several."""
    folders = {entry.path.parent for entry in images}
    if len(folders) == 1:
        return
    if len({folder.parent for folder in folders}) > 1 or PurePosixPath() in folders:
        detail = "images lie at different depths; put those of each class in a folder, side by side, or add a CSV file"
        raise IngestError("bad_labels", "", detail)
    columns.reserve([IMAGE, LABEL])
    label = ValueColumn(ColumnPlan(LABEL, CLASS), columns)
    label.add([entry.path.parent.name for entry in images], lambda index: f"member {images[index].number + 1}")
    label.finish()


def _write_names(images: Sequence[_Entry], columns: ColumnSet) -> None:
    """Write the names of the images as classes, of which each image has its own."""
    names = [entry.member.name for entry in images]
    order = sorted(range(len(names)), key=names.__getitem__)
    codes = np.empty(len(names), np.int64)
    codes[order] = np.arange(len(names))
    writer = columns.open(FILE, codes.dtype, ())
    writer.append(codes)
    writer.classes = tuple(sorted(names))


def _read_labels(
    file: BufferedReader, tables: Sequence[_Entry], images: Sequence[_Entry], columns: ColumnSet, options: IngestOptions
) -> list[_Entry]:
    """Write the other columns of the CSV file, and return the images in the order of its rows."""
    if len(tables) > 1:
        raise tables[1].place.error("bad_labels", "the archive has several CSV files; leave one of them")
    table = tables[0]
    path = columns.target / "labels.tmp"
    path.write_bytes(_read(file, table))
    with path.open("rb") as opened:
        path.unlink()
        names = read_named_rows(opened, columns, options, taken=(IMAGE, FILE) if options.image_names else (IMAGE,))
    by_path = {entry.path: entry for entry in images}
    folder = table.path.parent
    ordered = list(_find(names, by_path, folder))
    unnamed = by_path.keys() - {entry.path for entry in ordered}
    if unnamed:
        first = min((by_path[path] for path in unnamed), key=lambda entry: entry.number)
        detail = "the CSV file does not name this image in its first column; add it there, or leave it out"
        raise first.place.error("bad_labels", detail)
    return ordered


def _find(names: Sequence[str], by_path: dict[PurePosixPath, _Entry], folder: PurePosixPath) -> Iterator[_Entry]:
    seen: set[PurePosixPath] = set()
    for row, name in enumerate(names, 1):
        path = folder / name
        if path not in by_path:
            detail = f"row {row} of the CSV file: its first column names no image; write names with their endings"
            raise IngestError("bad_labels", "", f"{detail}, relative to the CSV file")
        if path in seen:
            raise IngestError("bad_labels", "", f"row {row} of the CSV file: an earlier row names the same image")
        seen.add(path)
        yield by_path[path]
