"""`adjoint datasets upload|download|append|select|split|join|profile`: datasets from files, to files, and of others."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.output import JsonOption, note, print_json, print_lines, terminal_width
from app.cli.predict import (
    DecimalOption,
    DelimiterOption,
    EncodingOption,
    MissingOption,
    check_ending,
)
from app.cli.terminal.table import Column, Document, table_lines
from app.cli.terminal.values import NONE, number

DatasetArgument = Annotated[str, typer.Argument(metavar="DATASET", help="Id, ds_...")]
FileArgument = Annotated[
    Path,
    typer.Argument(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="csv, json, ndjson, npy, npz, parquet, arrow, safetensors or zip of images.",
    ),
]
ColumnsOption = Annotated[str | None, typer.Option(help="Columns of a CSV file: x:float32[4]=a..d,species:class.")]
NameOption = Annotated[str | None, typer.Option(help="A name for the new dataset.")]
SeedOption = Annotated[int, typer.Option(help="Decides what is drawn.")]
_CONDITION = re.compile(r"(?P<column>[^=<>!\s].*?)\s*(?P<op>==|!=|<=|>=|<|>|=)\s*(?P<value>.*)")
_WORDS = re.compile(r"(?P<column>.+?)\s+(?P<op>in|not_in|missing|present)(?:\s+(?P<value>.*))?")


def upload(
    file: FileArgument,
    *,
    name: NameOption = None,
    columns: ColumnsOption = None,
    missing: MissingOption = "",
    delimiter: DelimiterOption = "auto",
    decimal: DecimalOption = "point",
    encoding: EncodingOption = "utf-8",
    image_size: Annotated[str | None, typer.Option(help="HEIGHTxWIDTH to which images are scaled.")] = None,
    image_mode: Annotated[
        Literal["L", "RGB", "RGBA"] | None, typer.Option(help="Channels of images; by default RGB.")
    ] = None,
    image_dtype: Annotated[
        Literal["uint8", "float32"] | None, typer.Option(help="Of images: 0 to 255 (the default), or 0 to 1.")
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Store a file as a dataset, and print its id."""
    words = tuple(missing.split(",")) if missing else ()
    check_ending(file)
    with connect(url, key_file) as client:
        made = client.upload(
            file,
            name=name,
            columns=columns,
            missing=words,
            delimiter=delimiter,
            decimal=decimal,
            encoding=encoding,
            image_size=image_size,
            image_mode=image_mode,
            image_dtype=image_dtype,
        )
    _print_made([made.to_dict()], as_json=as_json)


def download(
    dataset: DatasetArgument,
    file: Annotated[Path, typer.Argument(metavar="FILE", dir_okay=False, help="The file to write.")],
    *,
    format: Annotated[
        Literal["csv", "parquet", "arrow", "npz"] | None, typer.Option(help="By default by the ending of the file.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Write the rows of a dataset to a file, which can be uploaded again."""
    with connect(url, key_file) as client:
        try:
            client.download(dataset, file, format=format)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error


def append(
    dataset: DatasetArgument,
    file: FileArgument,
    *,
    columns: ColumnsOption = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Store the next version of a dataset: its rows, then those of a file with the same columns."""
    check_ending(file)
    with connect(url, key_file) as client:
        made = client.append_rows(dataset, file, columns=columns)
    _print_made([made.to_dict()], as_json=as_json)


def select(
    dataset: DatasetArgument,
    *,
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="'age >= 30', 'sex == female', 'port in [\"C\", \"S\"]', 'age missing'; several must all be met.",
        ),
    ] = None,
    start: Annotated[int, typer.Option(min=0, help="The first row, from 0.")] = 0,
    stop: Annotated[int | None, typer.Option(min=1, help="The row after the last one.")] = None,
    sample: Annotated[
        float | None, typer.Option(help="Draw a share of these rows, below 1, or this number of them.")
    ] = None,
    seed: SeedOption = 0,
    name: NameOption = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Store chosen rows of a dataset as another one."""
    conditions = [read_condition(each) for each in where or ()]
    rows = None if start == 0 and stop is None else (start, stop)
    with connect(url, key_file) as client:
        made = client.select_rows(dataset, rows=rows, where=conditions, sample=_amount(sample), seed=seed, name=name)
    _print_made([made.to_dict()], as_json=as_json)


def read_condition(text: str) -> tuple[str, str, Any]:
    """Return the column, the operator and the value of a condition; a value is JSON, or else a text.

    Raises:
        BadParameter: it is no condition.
    """
    match = _CONDITION.fullmatch(text.strip()) or _WORDS.fullmatch(text.strip())
    if match is None:
        raise typer.BadParameter(f"{text!r} is no condition; write COLUMN == VALUE, COLUMN in [...] or COLUMN missing")
    column, op, value = match["column"], match["op"], match["value"]
    try:
        read = None if value is None else json.loads(value)
    except ValueError:
        read = value
    return column, "==" if op == "=" else op, read


def split(
    dataset: DatasetArgument,
    *,
    test: Annotated[float, typer.Option(help="Share of the rows to test on, below 1, or their number.")] = 0.2,
    stratify: Annotated[
        str | None, typer.Option(help="A column whose values have the same shares in both parts.")
    ] = None,
    seed: SeedOption = 0,
    name: NameOption = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Store two parts of a dataset, to train on and to test on."""
    with connect(url, key_file) as client:
        parts = client.split_rows(dataset, _amount(test) or 0.0, seed=seed, stratify=stratify, name=name)
    _print_made([part.to_dict() for part in parts], as_json=as_json)


def _amount(value: float | None) -> float | None:
    """Return a share as it is, and a number of rows as a whole number."""
    return int(value) if value is not None and value.is_integer() else value


def join(
    datasets: Annotated[list[str], typer.Argument(metavar="DATASET...", help="Ids, ds_..., in order.")],
    *,
    name: NameOption = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Store the rows of datasets with the same columns, one after another."""
    with connect(url, key_file) as client:
        made = client.join_rows(datasets, name=name)
    _print_made([made.to_dict()], as_json=as_json)


def profile(
    dataset: DatasetArgument,
    *,
    target: Annotated[str | None, typer.Option(help="The column that is to be predicted.")] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Show what the rows of a dataset look like, and what deserves a look before training."""
    with connect(url, key_file) as client:
        found = client.profile(dataset, target).to_dict()
    if as_json:
        print_json(found)
        return
    print_lines(table_lines(_PROFILE, found["columns"], terminal_width()))
    findings = [f"{each['column'] or 'rows'}: {each['detail']}" for each in found["findings"]]
    print_lines(["", *findings] if findings else [])


def _number(key: str) -> Callable[[Document], str]:
    return lambda column: NONE if column[key] is None else number(column[key])


def _extreme(place: int) -> Callable[[Document], str]:
    return lambda column: number(column["quantiles"][place]["value"]) if column["quantiles"] else NONE


def _top(column: Document) -> str:
    return ", ".join(f"{each['value']} ({each['count']})" for each in column["top"]) or NONE


_PROFILE = (
    Column("COLUMN", lambda column: str(column["name"])),
    Column("KIND", lambda column: str(column["kind"])),
    Column("MISSING", lambda column: str(column["missing"]), right=True),
    Column("DISTINCT", lambda column: str(column["distinct"]), right=True),
    Column("MEAN", _number("mean"), right=True),
    Column("DEVIATION", _number("deviation"), right=True, optional=True),
    Column("MIN", _extreme(0), right=True, optional=True),
    Column("MAX", _extreme(-1), right=True, optional=True),
    Column("TOP", _top, shrinks_to=8, optional=True),
)


def _print_made(made: Sequence[Mapping[str, Any]], *, as_json: bool) -> None:
    """Print new datasets: their ids, for the next command, or all about them."""
    if as_json:
        print_json(made[0] if len(made) == 1 else [*made])
        return
    print_lines(str(each["id"]) for each in made)
    for each in made:
        note(f"{each['id']}: {each['name']}, {each['rows']} rows, {len(each['columns'])} columns")


COMMANDS: Sequence[Callable[..., None]] = (upload, download, append, select, split, join, profile)
