"""The steps of the demo."""

import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from adjoint_client import CheckpointHandle, Client, Dataset, FitHandle
from app.cli.demo import dataset_path
from app.cli.demo.examples import Example
from app.cli.terminal.progress import shown

ADDRESS = "http://127.0.0.1:8000"

COMMANDS = (
    f"""curl -s {ADDRESS}/v1/fits -H 'Content-Type: application/json' -d '{{
  "graph": {{"inputs": {{"x": ["batch"], "y": ["batch"]}}, "parameters": {{"w": [], "b": []}},
            "program": "loss = mean((w * x + b - y) ** 2)"}},
  "dataset": {{"columns": {{"x": [0.0, 1.0, 2.0, 3.0], "y": [2.0, 5.0, 8.0, 11.0]}}}},
  "optimizer": {{"kind": "sgd", "lr": 0.1}}, "epochs": 200}}'""",
    f"curl -s '{ADDRESS}/v1/fits?limit=1'",
    f"curl -s --data-binary @app/cli/demo/iris.csv -H 'Content-Type: text/csv' '{ADDRESS}/v1/datasets?name=iris'",
    f"curl -s {ADDRESS}/v1/ops/matmul",
)

NEXT_STEPS = "\n".join(
    (
        f"make serve    # leaves a server running; its web page is at {ADDRESS}; then, in another terminal:",
        *COMMANDS,
        "make demo KEEP=1    # leaves this server and its web page open, with the fits that it has trained",
    )
)


@dataclass(frozen=True, slots=True)
class Split:
    """Two CSV files, and the tested rows once more as features and labels (the text of the last column)."""

    training: Path
    held_out: Path
    features: NDArray[np.float32]
    labels: list[str]


def split_csv(source: Path, share: float, seed: int, folder: Path) -> Split:
    """Put a `share` of the rows of `source`, picked by `seed`, into one file in `folder` and the rest into another."""
    header, *rows = source.read_text("utf-8").splitlines()
    random.Random(seed).shuffle(rows)  # noqa: S311 (the same rows each time, no secret)
    count = round(len(rows) * share)
    cells = [row.split(",") for row in rows[:count]]
    return Split(
        training=_write(folder / f"{source.stem}-training.csv", [header, *rows[count:]]),
        held_out=_write(folder / f"{source.stem}-held-out.csv", [header, *rows[:count]]),
        features=np.array([row[:-1] for row in cells], np.float32),
        labels=[row[-1] for row in cells],
    )


def _write(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


_ROWS_SHOWN = 8
_SHADES = " .:-=+*#%@"

_SQUARE = {
    "inputs": {"a": [], "b": []},
    "parameters": {"x": []},
    "program": "f = a * x ** 2 + b",
}


def show_derivative(console: Console, client: Client) -> None:
    """A gradient without a job."""
    console.rule("a gradient, computed at once", align="left")
    result = client.compute(_SQUARE, {"a": 3.0, "b": 4.0}, {"x": 2.0})
    slope = result.gradients["x"]
    assert slope is not None, "f depends on x"
    console.print(f"f = a * x ** 2 + b at a = 3, b = 4, x = 2:  f = {result.losses['f']:g}, df/dx = {slope.item():g}")


def run_example(console: Console, client: Client, task: Example, folder: Path) -> bool:
    """Upload, train, and test on rows that the model has not seen; return whether it does well enough on them."""
    console.rule(task.name, align="left")
    split = split_csv(dataset_path(task.name), task.held_out, task.split_seed, folder)
    training = client.upload(split.training, columns=task.columns)
    held_out = client.upload(split.held_out, columns=task.columns)
    graph = client.graph(task.graph())
    console.print(f"{training.rows} rows to learn from, {held_out.rows} held out; {graph.parameter_count} parameters")
    fit = client.fit(graph, training, validation=held_out, **task.fields)
    with shown(console, task.name) as show:
        fit.wait(progress=show)
    accuracy = _test(console, fit, task, split, held_out)
    _gradients(console, fit)
    _checkpoint(console, fit.checkpoint("latest"), folder / f"{task.name}.safetensors")
    return accuracy >= task.enough


def _test(console: Console, fit: FitHandle, task: Example, split: Split, held_out: Dataset) -> float:
    """Predict the held-out rows, show the first ones beside the truth, and return the accuracy."""
    rows = split.features.reshape(-1, *task.feature_shape)
    probabilities = _softmax(fit.predict(rows))
    names = held_out.columns[-1].classes or [str(code) for code in range(probabilities.shape[1])]
    predicted = [names[code] for code in probabilities.argmax(axis=1)]
    right: list[bool] = [guess == truth for guess, truth in zip(predicted, split.labels, strict=True)]
    accuracy = sum(right) / len(right)
    console.print(
        f"{task.name}: held-out accuracy {accuracy:.4f} ({sum(right)} of {len(right)} rows right;"
        f" at least {task.enough} expected)",
        soft_wrap=True,
    )
    # The mistakes come first: they are the most instructive.
    chosen = sorted(range(len(right)), key=lambda row: right[row])[:_ROWS_SHOWN]
    table = Table("truth", "prediction", "probability", title="some held-out rows", title_justify="left")
    for row in chosen:
        mark = "" if right[row] else "  (wrong)"
        table.add_row(split.labels[row], predicted[row] + mark, f"{probabilities[row].max():.3f}")
    console.print(table)
    if len(task.feature_shape) == 3:
        console.print(_picture(rows[chosen[0], 0]), markup=False, highlight=False)
    return accuracy


def _gradients(console: Console, fit: FitHandle) -> None:
    """Norms of the gradient by parameter, at the first step and at the last."""
    table = Table("parameter", "first step", "last step", title="norm of the gradient", title_justify="left")
    for name, norms in fit.gradients().items():
        table.add_row(name or "all together", f"{norms[0]:.4g}", f"{norms[-1]:.4g}")
    console.print(table)


def _checkpoint(console: Console, checkpoint: CheckpointHandle, path: Path) -> None:
    """Download a checkpoint, and look into it."""
    size = checkpoint.download(path).stat().st_size
    parameters = checkpoint.load()
    console.print(
        f"checkpoint of step {checkpoint.info.step}, downloaded: {path.name}, {size} bytes, with the parameters",
        soft_wrap=True,
    )
    for name, array in parameters.items():
        console.print(f"  {name}: {array.dtype}{list(array.shape)}", markup=False, highlight=False)


def _softmax(logits: NDArray[Any]) -> NDArray[np.float64]:
    weights = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return shares


def _picture(image: NDArray[np.float32]) -> str:
    """An image of brightness 0 to 16 in characters, two wide to look square."""
    steps = (image / 16 * (len(_SHADES) - 1)).round().astype(int)
    return "\n".join("  " + "".join(_SHADES[step] * 2 for step in row) for row in steps)
