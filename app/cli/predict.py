"""`adjoint predict`: run a trained model on rows from a file."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from adjoint_client import CheckpointHandle, Client
from adjoint_client.uploads import content_type
from app.cli.connection import DEFAULT_URL, STANDARD_INPUT, KeyFileOption, UrlOption, connect
from app.cli.output import JsonOption, print_json, print_lines, terminal_width
from app.cli.resources import CHECKPOINTS, DATASETS, FITS
from app.cli.terminal.table import Column, Document, table_lines
from app.cli.terminal.values import number

if TYPE_CHECKING:
    from app.cli.rows import Array, Arrays, Inputs

SMALLEST_SHOWN = 12
MATRIX_SHOWN = 10
"""Classes up to which the confusion matrix is shown."""

TABLES = frozenset({".ndjson", ".jsonl", ".parquet", ".arrow", ".arrows", ".feather", ".zip"})
"""Endings of files that are tables in any case."""

DEFAULT_DTYPE = "float32"

MissingOption = Annotated[str, typer.Option(help="Cells of a CSV file that stand for missing values: NA,?.")]
Delimiter = Literal["auto", "comma", "semicolon", "tab", "bar", ",", ";", "\t", "|"]
DelimiterOption = Annotated[Delimiter, typer.Option(help="What separates the cells of a CSV file.")]
DecimalOption = Annotated[
    Literal["point", "comma"], typer.Option(help="What begins the fraction of a number in a CSV file.")
]
EncodingOption = Annotated[Literal["utf-8", "latin-1", "windows-1252"], typer.Option(help="Encoding of a CSV file.")]


def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="FIT_OR_CHECKPOINT", help=f"Id, {FITS.prefix}... (its latest checkpoint) or ckpt_..."),
    ],
    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="File of rows: csv, json, npy, npz, ndjson, parquet, arrow, safetensors or zip of images; "
            f"{STANDARD_INPUT} reads JSON; or the id of a dataset, {DATASETS.prefix}...",
        ),
    ],
    *,
    best: Annotated[bool, typer.Option("--best", help="Use the best checkpoint of the fit, not the latest.")] = False,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Columns of a CSV file with a header line: a,b,c or a..c, by default all; or those of a table, as "
            "x:float32[4]=a..d,id:class."
        ),
    ] = None,
    missing: MissingOption = "",
    delimiter: DelimiterOption = "auto",
    decimal: DecimalOption = "point",
    encoding: EncodingOption = "utf-8",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", dir_okay=False, help="Write a file: csv, json, ndjson, npy, npz or parquet."),
    ] = None,
    id_column: Annotated[str | None, typer.Option(help="Column that identifies rows in the output.")] = None,
    probabilities: Annotated[
        bool, typer.Option("--probabilities", help="Include the probability of each class.")
    ] = False,
    top_k: Annotated[int | None, typer.Option(min=1, help="Number of the most probable classes to include.")] = None,
    raw: Annotated[bool, typer.Option("--raw", help="Include the values of outputs that predict classes.")] = False,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Predict with a model, for each row of a file or a stored dataset.

    A csv or npy file, or a list in JSON, holds one input. An object in JSON, an npz or safetensors file holds inputs by
    name. Rows are given the shape of the input that they fit.

    A stored dataset, an ndjson, parquet, arrow or zip file, and a csv file with columns such as x:float32[4]=a..d are
    tables: their columns feed the inputs of the same names, and the output has class names, probabilities and numbers
    in the units of the target, row by row. So it has with --id-column, --probabilities, --top-k or --raw, and written
    as csv, ndjson or parquet.
    """
    asked = {"id_column": id_column, "probabilities": probabilities or None, "top_k": top_k, "raw": raw or None}
    dialect = _dialect(missing, delimiter, decimal, encoding)
    if _is_table(data, columns, output) or dialect or any(value is not None for value in asked.values()):
        with connect(url, key_file) as client:
            _predict_table(_checkpoint(client, model, best), data, columns, output, asked | dialect, as_json=as_json)
        return
    # Only now: the other commands do without NumPy.
    from app.cli.rows import read_rows, shape_rows

    rows = read_rows(data, columns)
    with connect(url, key_file) as client:
        checkpoint = _checkpoint(client, model, best)
        outputs = checkpoint.predict(shape_rows(_declared(client, checkpoint), rows))
    if output is not None:
        _write(output, outputs)
    elif as_json:
        print_json({name: array.tolist() for name, array in outputs.items()})
    else:
        print_lines(_table(outputs))


def evaluate(
    model: Annotated[
        str,
        typer.Argument(metavar="FIT_OR_CHECKPOINT", help=f"Id, {FITS.prefix}... (its latest checkpoint) or ckpt_..."),
    ],
    data: Annotated[
        str, typer.Argument(metavar="DATA", help=f"Id of a dataset, {DATASETS.prefix}..., or a file of a table.")
    ],
    *,
    best: Annotated[bool, typer.Option("--best", help="Use the best checkpoint of the fit, not the latest.")] = False,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a CSV file, as x:float32[4]=a..d,label:class; by default all.")
    ] = None,
    missing: MissingOption = "",
    delimiter: DelimiterOption = "auto",
    decimal: DecimalOption = "point",
    encoding: EncodingOption = "utf-8",
    metric: Annotated[
        list[str] | None, typer.Option("--metric", help="Metric, for a stored dataset; by default those of the fit.")
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Compute the loss and the metrics of a model on a stored dataset or a table, and how well it predicts."""
    if metric and not data.startswith(DATASETS.prefix):
        raise typer.BadParameter("--metric is for stored datasets; upload the table first")
    source = _source(data)
    with connect(url, key_file) as client:
        checkpoint = _checkpoint(client, model, best)
        dialect = _dialect(missing, delimiter, decimal, encoding)
        found = checkpoint.evaluate(source, columns=columns, metrics=metric or None, **dialect).to_dict()
    if as_json:
        print_json(found)
        return
    metrics = [f"{name}: {_shown(value)}" for name, value in found["metrics"].items()]
    print_lines([f"rows: {found['rows']}", *metrics])
    if found["classification"] is not None:
        print_lines(_class_table(found["classification"]))


def _class_table(report: Mapping[str, Any]) -> list[str]:
    """Return a line for each class: its rows, its scores, and as which classes its rows are predicted."""
    columns = [
        Column("CLASS", lambda row: str(row["name"]), shrinks_to=SMALLEST_SHOWN),
        Column("ROWS", lambda row: str(row["support"]), right=True),
        *(Column(name.upper(), _share(name), right=True) for name in ("precision", "recall", "f1")),
    ]
    rows: list[dict[str, Any]] = [dict(each) for each in report["per_class"]]
    matrix = report["confusion_matrix"]
    if matrix is not None and len(matrix) <= MATRIX_SHOWN:
        for row, counts in zip(rows, matrix, strict=True):
            row["counts"] = counts
        columns += [Column(f"AS {name}", _count(place), right=True) for place, name in enumerate(report["classes"])]
    return table_lines(columns, rows, terminal_width())


def _share(name: str) -> Callable[[Document], str]:
    return lambda row: _shown(row[name])


def _count(place: int) -> Callable[[Document], str]:
    return lambda row: str(row["counts"][place])


def _value(name: str) -> Callable[[Document], str]:
    return lambda row: _cell(row[name])


def _shown(value: float | None) -> str:
    return "-" if value is None else number(value)


def _dialect(missing: str, delimiter: str, decimal: str, encoding: str) -> dict[str, Any]:
    """Return the options of a CSV file that are not the default."""
    given = {"delimiter": (delimiter, "auto"), "decimal": (decimal, "point"), "encoding": (encoding, "utf-8")}
    dialect: dict[str, Any] = {name: value for name, (value, default) in given.items() if value != default}
    return dialect | ({"missing": missing.split(",")} if missing else {})


def _source(data: str) -> str:
    """Return the id of a dataset, or the path of a file that is there."""
    if not data.startswith(DATASETS.prefix) and not Path(data).is_file():
        raise typer.BadParameter(f"there is no file {data}, and the id of a dataset starts with {DATASETS.prefix}")
    if not data.startswith(DATASETS.prefix):
        check_ending(Path(data))
    return data


def check_ending(file: Path) -> None:
    """Refuse a file whose name has no ending of a format that the server takes."""
    try:
        content_type(file)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


def _is_table(data: str, columns: str | None, output: Path | None) -> bool:
    kinds = {Path(data).suffix.lower(), "" if output is None else output.suffix.lower()}
    grouped = columns is not None and ":" in columns
    as_csv = output is not None and output.suffix.lower() == ".csv"
    return data.startswith(DATASETS.prefix) or grouped or as_csv or bool(kinds & TABLES)


def _predict_table(
    checkpoint: CheckpointHandle,
    data: str,
    columns: str | None,
    output: Path | None,
    asked: Mapping[str, Any],
    *,
    as_json: bool,
) -> None:
    try:
        found = checkpoint.predict_table(_source(data), output, columns=columns, **asked)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    if output is not None:
        return
    if as_json:
        print_json({name: array.tolist() for name, array in found.items()})
        return
    shown = [Column(name, _value(name), right=True) for name in found]
    count = len(next(iter(found.values())))
    rows = [{name: array[row] for name, array in found.items()} for row in range(count)]
    print_lines(table_lines(shown, rows, terminal_width()))


def _cell(value: Any) -> str:
    if getattr(value, "ndim", 0):
        return f"[{', '.join(map(_cell, value))}]"
    plain = value.item()
    return number(plain) if isinstance(plain, float) else str(plain)


def _checkpoint(client: Client, model: str, best: bool) -> CheckpointHandle:
    if model.startswith(CHECKPOINTS.prefix):
        return client.get_checkpoint(model)
    return client.get_fit(model).checkpoint("best" if best else "latest")


def _declared(client: Client, checkpoint: CheckpointHandle) -> "Inputs":
    """Return the shape of a row and the dtype of each input that has fixed extents."""
    definition = client.call("get_graph", graph_id=checkpoint.info.graph)["definition"]
    found: dict[str, tuple[tuple[int, ...], str]] = {}
    for name, declared in definition["inputs"].items():
        full = declared if isinstance(declared, Mapping) else {"shape": declared}
        shape = tuple(full["shape"][1:])
        if full["shape"] and all(isinstance(extent, int) for extent in shape):
            found[name] = (shape, full.get("dtype", DEFAULT_DTYPE))
    return found


def _table(outputs: "Arrays") -> list[str]:
    """Return a line for each row: a scalar as a number, more numbers as a list and the position of the largest."""
    columns = [Column("ROW", lambda row: str(row["row"]), right=True)]
    columns += [column for name, array in outputs.items() for column in _columns(name, array.ndim)]
    count = max((len(array) for array in outputs.values() if array.ndim), default=1)
    rows = [{"row": row, **{name: _row(array, row) for name, array in outputs.items()}} for row in range(count)]
    return table_lines(columns, rows, terminal_width())


def _columns(name: str, dimensions: int) -> Iterator[Column]:
    def value(show: Callable[[Any], str]) -> Callable[[Document], str]:
        return lambda row: show(row[name])

    if dimensions <= 1:
        yield Column(name, value(lambda scalar: number(scalar.item())), right=True)
        return
    yield Column(name, value(_listed), shrinks_to=SMALLEST_SHOWN)
    if dimensions == 2:
        yield Column("LARGEST", value(lambda vector: str(vector.argmax())), right=True)


def _row(array: "Array", row: int) -> Any:
    return array[row] if array.ndim else array


def _listed(values: "Array") -> str:
    return f"[{', '.join(number(value.item()) for value in values.ravel())}]"


def _write(path: Path, outputs: "Arrays") -> None:
    import numpy as np

    kind = path.suffix.lower()
    try:
        if kind == ".npz":
            np.savez(path, **outputs)  # type: ignore[arg-type]  # a name is no option
        elif kind == ".json":
            path.write_text(json.dumps({name: array.tolist() for name, array in outputs.items()}) + "\n", "utf-8")
        elif kind == ".npy" and len(outputs) == 1:
            np.save(path, next(iter(outputs.values())))
        else:
            raise typer.BadParameter(
                f"cannot write {len(outputs)} outputs to {path}; choose a .npz or .json file, or .npy for one output"
            )
    except OSError as error:
        raise typer.BadParameter(f"cannot write {path} ({error.strerror or error}); choose another file") from error
