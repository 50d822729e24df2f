"""`adjoint fit`, `watch`, `bundle` and `replay`: train, follow, and repeat fits."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from adjoint_client import FitHandle, SweepHandle
from app.cli.connection import DEFAULT_URL, KeyFileOption, UrlOption, connect
from app.cli.terminal.progress import shown

DEFAULT_EPOCHS = 10
RANKING_LINES = 10

_InputFile = typer.Argument(exists=True, dir_okay=False, readable=True)


def fit(
    graph: Annotated[Path, _InputFile],
    data: Annotated[list[Path], _InputFile],
    *,
    columns: Annotated[
        str | None, typer.Option(help="Columns of a CSV file by name: x:float32[4]=length..width,label:class")
    ] = None,
    header: Annotated[
        bool | None, typer.Option(help="Whether line 1 of a CSV file names its columns; by default it decides itself.")
    ] = None,
    feed: Annotated[list[str] | None, typer.Option(metavar="INPUT=COLUMN", help="Feed an input; repeatable.")] = None,
    epochs: Annotated[int | None, typer.Option(help=f"Passes over the data (default {DEFAULT_EPOCHS}).")] = None,
    steps: Annotated[int | None, typer.Option(help="Training steps, in place of epochs.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Rows in a batch.")] = None,
    micro_batch_size: Annotated[int | None, typer.Option(help="Rows that are computed at a time.")] = None,
    optimizer: Annotated[str | None, typer.Option(help="Kind of optimizer: sgd, adam, adamw ...")] = None,
    lr: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    validation: Annotated[float | None, typer.Option(help="Part of the rows to hold out, 0 to 1.")] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Metric to report, as accuracy; repeatable.")] = None,
    early_stopping: Annotated[
        int | None, typer.Option(metavar="PATIENCE", help="End after this many evaluations without improvement.")
    ] = None,
    average: Annotated[str | None, typer.Option(help="Average of the weights to predict with: ema, swa.")] = None,
    precision: Annotated[
        str | None, typer.Option(help="Number formats: float32, float64, mixed_float16, mixed_bfloat16.")
    ] = None,
    replicas: Annotated[int | None, typer.Option(help="Processes that share each batch.")] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(metavar="PATH=VALUES", help="Fit every value, as optimizer.lr=0.1,0.01; repeatable: a grid."),
    ] = None,
    name: Annotated[str | None, typer.Option(help="A name for the fit, to find it by.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the start values and of the shuffling.")] = None,
    request: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="JSON file with any other field of a fit.")
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help="Where to put the last checkpoint (safetensors); of a sweep, the best variant's."),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Print the id of the fit and do not wait for it.")] = False,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Upload a graph (JSON) and data (CSV, JSON, NDJSON, npy, npz, safetensors), train, and show the progress.

    The rows of several data files, which have the same columns, are joined. Every other field of a fit goes into the
    file of --request; options given here take precedence.
    """
    fields: dict[str, Any] = {
        **(read_document(request) if request else {}),
        **_given(epochs=epochs, steps=steps, batch_size=batch_size, metrics=metric, seed=seed),
        **_given(feeds=read_feeds(feed) if feed else None, validation=validation),
        **_given(micro_batch_size=micro_batch_size, average=average, precision=precision, name=name),
    }
    if early_stopping is not None:
        fields["early_stopping"] = {**(fields.get("early_stopping") or {}), "patience": early_stopping}
    if replicas is not None:
        fields["resources"] = {**(fields.get("resources") or {}), "replicas": replicas}
    if optimizer or lr is not None:
        fields["optimizer"] = _given(kind=optimizer or "adam", lr=lr)
    if sweep:
        fields["sweep"] = {**(fields.get("sweep") or {"kind": "grid"}), "parameters": read_values(sweep)}
    if "steps" not in fields:
        fields.setdefault("epochs", DEFAULT_EPOCHS)
    console = Console()
    with connect(url, key_file) as client:
        rows = [client.upload(path, columns=columns, header=header) for path in data]
        handle = client.fit(read_document(graph), rows[0] if len(rows) == 1 else rows, **fields)
        if detach:
            console.print(handle.id, highlight=False)
            return
        follow(handle, console)
        if isinstance(handle, SweepHandle):
            show_ranking(handle, console)
            handle = handle.best()
        if output:
            console.print(
                f"checkpoint: {handle.checkpoint('latest').download(output)}", highlight=False, soft_wrap=True
            )


def show_ranking(sweep: SweepHandle, console: Console) -> None:
    """Print the best variants of a sweep, a line each."""
    for entry in sweep.variants()[:RANKING_LINES]:
        values = "  ".join(f"{path}={value}" for path, value in entry.parameters.items())
        value = "none" if entry.value is None else f"{entry.value:.6g}"
        console.print(f"{entry.rank:>4}  {entry.fit}  {value}  {values}", highlight=False, soft_wrap=True)


def read_document(path: Path) -> dict[str, Any]:
    """The JSON object in a file; a usage error names the file and the place of the fault."""
    try:
        document = json.loads(path.read_bytes())
    except ValueError as error:
        raise typer.BadParameter(f"{path} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise typer.BadParameter(f"{path} holds no JSON object")
    return document


def read_feeds(pairs: list[str]) -> dict[str, str]:
    """`x=features` as `{"x": "features"}`."""
    feeds = dict(pair.partition("=")[::2] for pair in pairs)
    if not all(feeds.values()):
        raise typer.BadParameter("--feed takes INPUT=COLUMN, as in --feed x=features")
    return feeds


def read_values(pairs: list[str]) -> dict[str, list[Any]]:
    """`optimizer.lr=0.1,0.01` as `{"optimizer.lr": [0.1, 0.01]}`; what is no JSON value is a text."""
    values = {path: list(map(_value, listed.split(","))) for path, _, listed in (pair.partition("=") for pair in pairs)}
    if not all(path and "" not in listed for path, listed in values.items()):
        raise typer.BadParameter("--sweep takes PATH=VALUES, as in --sweep optimizer.lr=0.1,0.01")
    return values


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


STOPPED_WATCHING = 130
"""Exit status after Ctrl-C, as shells expect it."""


def watch(
    fit: Annotated[str, typer.Argument(help="Id of the fit, fit_...")],
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Follow a fit until it ends."""
    with connect(url, key_file) as client:
        follow(client.get_fit(fit), Console())


def follow(handle: FitHandle, console: Console) -> None:
    """Show the progress of a fit until it ends; Ctrl-C stops only the watching, and says so.

    Raises:
        FitFailed: it ended badly.
    """
    try:
        with shown(console, handle.id) as show:
            result = handle.wait(progress=show)
    except KeyboardInterrupt:
        console.print(
            f"{handle.id} goes on; see it again with: adjoint watch {handle.id}", highlight=False, soft_wrap=True
        )
        raise typer.Exit(STOPPED_WATCHING) from None
    why = f": {result.stop_reason}" if result.stop_reason else ""
    console.print(f"{handle.id} {result.state} after {result.step} steps{why}", highlight=False, soft_wrap=True)


def bundle(
    fit: Annotated[str, typer.Argument(help="Id of a fit that has succeeded, fit_...")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", dir_okay=False, help="Where to put it; by default it is printed.")
    ] = None,
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Write the bundle of a fit, which `adjoint replay` runs again.

    It holds the graph and the request, and digests of the data and of the result.
    """
    with connect(url, key_file) as client:
        text = json.dumps(client.get_fit(fit).bundle(), indent=2) + "\n"
    if output is None:
        sys.stdout.write(text)
        return
    try:
        output.write_text(text, "utf-8")
    except OSError as error:
        raise typer.BadParameter(f"cannot write {output} ({error.strerror or error}); choose another file") from error


DIFFERS = 1
"""Exit status of a replay that did not come out equal."""


def replay(
    what: Annotated[
        str, typer.Argument(metavar="FIT_OR_BUNDLE_FILE", help="Id of a fit, fit_..., or a file of adjoint bundle.")
    ],
    url: UrlOption = DEFAULT_URL,
    key_file: KeyFileOption = None,
) -> None:
    """Run a fit again from its bundle and compare bit for bit: exit status 0 if all is equal, else 1."""
    console = Console()
    path = Path(what)
    with connect(url, key_file) as client:
        handle = client.replay(read_document(path) if path.is_file() else what)
        follow(handle, console)
        verdict = handle.verdict
    if verdict is None:
        outcome = f"there is no verdict, since the replay has {handle.info.state}"
    elif verdict:
        outcome = "equal, bit for bit"
    else:
        row = "" if verdict.first_row is None else f"; the first metric row that differs is {verdict.first_row}"
        outcome = f"not equal: {', '.join(verdict.differences)}{row}"
    console.print(outcome, highlight=False, soft_wrap=True)
    if not verdict:
        raise typer.Exit(DIFFERS)
