"""`adjoint predict`: run a trained model on rows from a file."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjoint_client import CheckpointHandle, Client
from app.cli.connection import DEFAULT_URL, STANDARD_INPUT, KeyFileOption, UrlOption, connect
from app.cli.output import JsonOption, print_json, print_lines, terminal_width
from app.cli.resources import CHECKPOINTS, FITS
from app.cli.terminal.table import Column, Document, table_lines
from app.cli.terminal.values import number

if TYPE_CHECKING:
    from app.cli.rows import Array, Arrays, Inputs

SMALLEST_SHOWN = 12
DEFAULT_DTYPE = "float32"


def predict(
    model: Annotated[
        str,
        typer.Argument(metavar="FIT_OR_CHECKPOINT", help=f"Id, {FITS.prefix}... (its latest checkpoint) or ckpt_..."),
    ],
    data: Annotated[
        str,
        typer.Argument(help=f"File of rows: csv, json, npy, npz or safetensors; {STANDARD_INPUT} reads JSON."),
    ],
    *,
    best: Annotated[bool, typer.Option("--best", help="Use the best checkpoint of the fit, not the latest.")] = False,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a CSV file with a header line: a,b,c or a..c; by default all.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="Write a file: npy, npz or json.")
    ] = None,
    as_json: JsonOption = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Predict with a model, for each row of a file.

    A csv or npy file, or a list in JSON, holds one input. An object in JSON, an npz or safetensors file holds inputs by
    name. Rows are given the shape of the input that they fit.
    """
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
