"""A law: whatever the table, its dialect and its preprocessing, the server computes what plain Python does.

A table is drawn with labels, types, missing values and transforms; it is uploaded, trained on, predicted and evaluated
in several formats, and trained on again with a pause. `LAW_SEED` of the test report repeats a draw.
"""

import csv
import io
import json
import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import httpx
import numpy as np
import pytest

from tests.extent import FULL
from tests.support.patience import LONGEST_WAIT
from tests.support.table_oracle import transformed

from .conftest import created

DRAWS = int(os.environ.get("LAW_DRAWS", "60" if FULL else "2"))
LABELS = (
    "age", "Age", "Alter (Jahre)", "50 %", "2019", "größe", "GRÖSSE", "a,b", 'say "x"', "km/h", "年齢", "x;y", "p|q",
    "a.b-c", "Ж", " spaced ", "naïve", "a_b", "a b", "_1", "id", "row",
)  # fmt: skip
WORDS = (
    "rot",
    "grün, hell",
    "a;b",
    'sagt "ja"',
    "x|y",
    "Ä",
    "two words",
    "z",
    "ß",
    "Q",
    "d'or",
    "e-f",
    "日本",
    "Łódź",
    "#1",
)


@dataclass
class Drawn:
    """A column: its label, its values, its kind and options, and whether its values are whole numbers."""

    label: str
    values: list[Any]
    kind: str
    options: dict[str, Any]


def draw_column(rng: random.Random, label: str, rows: int) -> Drawn:
    kind = rng.choice(("number", "number", "category", "category", "date", "boolean", "text"))
    holes = rng.choice((0.0, 0.0, 0.1, 0.4))
    values, options = _DRAW[kind](rng, rows, bool(holes))
    values = [None if rng.random() < holes and row > 3 else value for row, value in enumerate(values)]
    return Drawn(label, values, kind, options)


def draw_numbers(rng: random.Random, rows: int, missing: bool) -> tuple[list[Any], dict[str, Any]]:
    make: Callable[[], Any] = rng.choice(
        (
            lambda: rng.randrange(-5, 6), lambda: rng.gauss(0, 1), lambda: rng.lognormvariate(3, 2),
            lambda: round(rng.uniform(-1e6, 1e6), 2), lambda: rng.choice((0, 1)), lambda: rng.randrange(10**12),
        )
    )  # fmt: skip
    options: dict[str, Any] = {"scale": rng.choice(("none", "standard", "minmax", "robust", "log", "quantile"))}
    if missing or rng.random() < 0.3:
        options |= {
            "impute": rng.choice(("mean", "median", "most_frequent", "constant")),
            "indicator": rng.random() < 0.5,
        }
        options |= {"value": 2.5} if options["impute"] == "constant" else {}
    return [make() for _ in range(rows)], options


def draw_categories(rng: random.Random, rows: int, missing: bool) -> tuple[list[Any], dict[str, Any]]:
    words: Sequence[Any] = rng.sample(WORDS, rng.randrange(2, 9))
    if not missing and rng.random() < 0.3:
        words = range(rng.randrange(-3, 3), 7)
    options: dict[str, Any] = {"encode": rng.choice(("one_hot", "one_hot", "index"))}
    options |= {"min_frequency": rng.choice((1, 1, 3, 8)), "missing": rng.choice(("level", "most_frequent"))}
    options |= {"max_levels": rng.randrange(1, 5)} if rng.random() < 0.3 else {}
    return [rng.choice(words) for _ in range(rows)], options


def draw_dates(rng: random.Random, rows: int, missing: bool) -> tuple[list[Any], dict[str, Any]]:
    form = rng.choice(("iso", "time", "zone", "dmy", "mdy"))

    def one() -> str:
        year, month, day = rng.randrange(1850, 2100), rng.randrange(1, 13), rng.randrange(1, 29)
        clock = f"{rng.randrange(24):02}:{rng.randrange(60):02}:{rng.randrange(60):02}"
        zone = f"{rng.choice('+-')}{rng.randrange(12):02}:00"
        return {
            "iso": f"{year}-{month:02}-{day:02}", "time": f"{year}-{month:02}-{day:02}T{clock}",
            "zone": f"{year}-{month:02}-{day:02}T{clock}{zone}", "dmy": f"{day:02}.{month:02}.{year}",
            "mdy": f"{month:02}/{day:02}/{year}",
        }[form]  # fmt: skip

    parts = rng.sample(
        ("year", "month", "day", "weekday", "yearday", "hour", "minute", "timestamp"), rng.randrange(1, 4)
    )
    options = {"parts": parts, "cycles": rng.sample(("month", "day", "weekday", "yearday", "hour"), rng.randrange(3))}
    options |= {"order": form} if form in ("dmy", "mdy") else {}
    options |= {"missing": "mean", "indicator": rng.random() < 0.5} if missing else {}
    return [one() for _ in range(rows)], options


def draw_booleans(rng: random.Random, rows: int, missing: bool) -> tuple[list[Any], dict[str, Any]]:
    words = rng.choice((("yes", "no"), ("true", "false"), ("on", "off"), (1, 0), ("ja", "nein"), ("Y", "N")))
    options: dict[str, Any] = {"true": ["ja"], "false": ["nein"]} if words[0] == "ja" else {}
    options |= {"missing": rng.choice(("half", "most_frequent")), "indicator": rng.random() < 0.5} if missing else {}
    return [rng.choice(words) for _ in range(rows)], options


def draw_texts(rng: random.Random, rows: int, missing: bool) -> tuple[list[Any], dict[str, Any]]:
    del missing
    units = rng.choice(("characters", "bytes", "words"))
    options = {"units": units, "length": rng.randrange(1, 9), "output": rng.choice(("ids", "ids", "lengths"))}
    options |= {"max_vocabulary": rng.randrange(1, 9)} if units != "bytes" else {}
    return [" ".join(rng.choice(WORDS) for _ in range(rng.randrange(1, 4))) for _ in range(rows)], options


_DRAW = {
    "number": draw_numbers, "category": draw_categories, "date": draw_dates, "boolean": draw_booleans,
    "text": draw_texts,
}  # fmt: skip


@dataclass
class File:
    """A table as the body of a request."""

    content: bytes
    kind: str
    query: dict[str, str]


def as_csv(rng: random.Random, columns: Sequence[Drawn]) -> File:
    delimiter, name = rng.choice(((",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar")))
    decimal = "comma" if delimiter != "," and rng.random() < 0.5 else "point"
    blank = rng.choice(("", "", "NA", "?"))
    names = sorted({text for each in columns for text in (each.label, *each.values) if isinstance(text, str)})
    encoding = next((e for e in rng.sample(("latin-1", "windows-1252"), 2) if encodes(names, e)), "utf-8")
    text = io.StringIO()
    writer = csv.writer(text, delimiter=delimiter, lineterminator=rng.choice(("\n", "\r\n")))
    writer.writerow([each.label for each in columns])

    def cell(value: Any) -> str:
        if value is None:
            return blank
        return repr(value).replace(".", ",") if isinstance(value, float) and decimal == "comma" else str(value)

    writer.writerows([cell(each.values[row]) for each in columns] for row in range(len(columns[0].values)))
    content = text.getvalue().encode(encoding)
    content = b"\xef\xbb\xbf" + content if encoding == "utf-8" and rng.random() < 0.3 else content
    query = {"delimiter": name, "decimal": decimal, "encoding": encoding, "header": "true"}
    return File(content, "text/csv", query | ({"missing": blank} if blank else {}))


def encodes(texts: Sequence[str], encoding: str) -> bool:
    try:
        "".join(texts).encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def as_ndjson(_: random.Random, columns: Sequence[Drawn]) -> File:
    lines = (json.dumps({each.label: each.values[row] for each in columns}) for row in range(len(columns[0].values)))
    return File("\n".join(lines).encode() + b"\n", "application/x-ndjson", {})


def as_parquet(_: random.Random, columns: Sequence[Drawn]) -> File:
    arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    whole = [each.kind == "number" and None in each.values for each in columns]
    table = {
        each.label: [None if v is None else float(v) for v in each.values] if floats else each.values
        for each, floats in zip(columns, whole, strict=True)
    }
    file = io.BytesIO()
    parquet.write_table(arrow.table(table), file)
    return File(file.getvalue(), "application/vnd.apache.parquet", {})


FORMATS = (as_csv, as_csv, as_ndjson, as_parquet)


class Law:
    """One table on its way through the server."""

    def __init__(self, http: httpx.Client, seed: int) -> None:
        self.http = http
        self.rng = rng = random.Random(seed)
        self.rows = rng.randrange(24, 90)
        labels = rng.sample(LABELS, rng.randrange(2, 7))
        self.target = Drawn("The target %", [rng.gauss(0, 1) for _ in range(self.rows)], "number", {})
        if rng.random() < 0.5:
            self.target.values = [rng.choice(("oui", "non", "peut-être")) for _ in range(self.rows)]
            self.target.values[:3] = "oui", "non", "peut-être"
        self.columns = [draw_column(rng, label, self.rows) for label in labels]
        self.held_out = rng.choice((0.0, 0.25))
        self.train = self.rows - (round(self.rows * self.held_out) if self.held_out else 0)
        self.expected = self.by_oracle(range(self.rows))

    @property
    def classes(self) -> list[str]:
        return sorted(set(self.target.values)) if isinstance(self.target.values[0], str) else []

    def by_oracle(self, rows: Sequence[int]) -> np.ndarray[Any, Any]:
        """Return the features of rows in plain Python."""
        parts = [
            transformed(c.kind, c.options, c.values[: self.train], [c.values[row] for row in rows], c.values)
            for c in self.columns
        ]
        return np.array([[number for part in parts for number in part[row]] for row in range(len(rows))])

    def run(self) -> None:
        every = [*self.columns, self.target]
        file = self.rng.choice(FORMATS)(self.rng, every)
        answer = self.http.post("/v1/datasets", params=file.query, content=file.content, headers=kind(file))
        dataset = created(answer)
        assert [column["label"] for column in dataset["columns"]] == [each.label for each in every]
        done, again = (self.trained(dataset["id"], pause=pause) for pause in (False, True))
        weights, meta = self.state(done)
        other, meta_again = self.state(again)
        assert weights == other, "a fit that was paused ends with other bits"
        assert meta == meta_again
        here = f"/v1/checkpoints/{done}"
        stored = self.http.post(f"{here}:predict?format=npz", json={"dataset": dataset["id"], "raw": True})
        self.check(stored, range(self.rows), weights)
        # A table with some rows, its columns in another order, in another format.
        rows = sorted(self.rng.sample(range(self.rows), self.rng.randrange(1, self.rows)))
        some = [Drawn(c.label, [c.values[row] for row in rows], c.kind, c.options) for c in self.columns]
        self.rng.shuffle(some)
        readable = [c for c in some if any(value is not None for value in c.values)]
        if len(readable) == len(some):
            file = self.rng.choice(FORMATS)(self.rng, some)
            query = {**file.query, "format": "npz", "raw": "true"}
            self.check(
                self.http.post(f"{here}:predict", params=query, content=file.content, headers=kind(file)), rows, weights
            )
        given = {c.label: c.values for c in some}
        raw = self.http.post(f"{here}:predict", json={"inputs": given})
        assert raw.status_code == 200, raw.text
        features = raw.json()["outputs"]["features"]
        near(np.reshape(features["data"], features["shape"]), self.by_oracle(rows))
        self.evaluated(here, dataset["id"], weights)

    def trained(self, dataset: str, *, pause: bool) -> str:
        """Train, and return the id of the last checkpoint."""
        width = self.expected.shape[1]
        count = len(self.classes)
        inputs: dict[str, Any] = {"x": {"shape": ["batch", width], "dtype": "float64"}}
        inputs["y"] = {"shape": ["batch"], "dtype": "int64" if count else "float64"}
        shape = [width, count] if count else [width]
        loss = "cross_entropy(pred, y)" if count else "mean((pred - y) ** 2)"
        graph = {
            "inputs": inputs,
            "parameters": {
                "w": {"shape": shape, "dtype": "float64", "init": {"kind": "normal", "std": 0.1}},
                "b": {"shape": shape[1:], "dtype": "float64"},
            },
            "program": f"features = x * 1.0\npred = x @ w + b\nloss = {loss}",
            "outputs": ["pred", "features"],
        }
        section = [{"column": c.label, "kind": c.kind, **c.options} for c in self.columns]
        request = {
            "graph": graph, "dataset": dataset, "columns": {"x": section}, "feeds": {"y": self.target.label},
            "optimizer": {"kind": "adam", "lr": 1e-3}, "epochs": 200, "batch_size": 8, "seed": self.rows,
        }  # fmt: skip
        if self.held_out:
            request["validation"] = {"split": self.held_out, "order": "last"}
        fit = created(self.http.post("/v1/fits", json={**request, "start_paused": pause}))["id"]
        if pause:
            self.http.post(f"/v1/fits/{fit}:resume")
            self.http.get(f"/v1/fits/{fit}/events", params={"max_events": 4})
            if self.http.post(f"/v1/fits/{fit}:pause").status_code == 202:
                until = {"wait": LONGEST_WAIT, "until": "change"}
                while (state := self.http.get(f"/v1/fits/{fit}", params=until).json()["state"]) not in ENDED:
                    pass
                if state == "paused":
                    self.http.post(f"/v1/fits/{fit}:resume")
        ended = self.http.get(f"/v1/fits/{fit}", params={"wait": LONGEST_WAIT}).json()
        assert ended["state"] == "succeeded", ended["error"]
        return str(self.http.get(f"/v1/fits/{fit}/checkpoints/latest").json()["id"])

    def state(self, checkpoint: str) -> tuple[dict[str, Any], Any]:
        """Return parameters as bytes and the preprocessing with its statistics."""
        content = self.http.get(f"/v1/checkpoints/{checkpoint}/content").content
        length = int.from_bytes(content[:8], "little")
        head = json.loads(content[8 : 8 + length])
        meta = json.loads(head.pop("__metadata__")["adjoint"])
        data = content[8 + length :]
        tensors = {
            name: (each["shape"], data[each["data_offsets"][0] : each["data_offsets"][1]])
            for name, each in head.items()
        }
        return tensors, meta["meta"]["columns"]

    def scores(self, rows: Sequence[int], weights: dict[str, Any]) -> np.ndarray[Any, Any]:
        w, b = (parameter(weights, name) for name in ("w", "b"))
        return np.asarray(self.by_oracle(rows) @ w + b)

    def check(self, answer: httpx.Response, rows: Sequence[int], weights: dict[str, Any]) -> None:
        assert answer.status_code == 200, answer.text
        found = np.load(io.BytesIO(answer.content))
        near(found["features"], self.by_oracle(rows))
        scores = self.scores(rows, weights)
        near(found["pred"], scores)
        if self.classes:
            best = np.sort(scores, axis=1)
            clear = best[:, -1] - best[:, -2] > 1e-9
            names = np.array(self.classes)[scores.argmax(axis=1)]
            assert (found["pred.class"] == names)[clear].all()

    def evaluated(self, here: str, dataset: str, weights: dict[str, Any]) -> None:
        answer = self.http.post(f"{here}:evaluate", json={"dataset": dataset})
        assert answer.status_code == 200, answer.text
        scores = self.scores(range(self.rows), weights)
        if self.classes:
            truth = np.array([self.classes.index(value) for value in self.target.values])
            top = scores.max(axis=1, keepdims=True)
            shares = scores - top - np.log(np.exp(scores - top).sum(axis=1, keepdims=True))
            loss = -shares[np.arange(self.rows), truth].mean()
            matrix = np.zeros((len(self.classes),) * 2, int)
            np.add.at(matrix, (truth, scores.argmax(axis=1)), 1)
            assert answer.json()["classification"]["confusion_matrix"] == matrix.tolist()
        else:
            loss = ((scores - np.array(self.target.values)) ** 2).mean()
        assert math.isclose(answer.json()["metrics"]["loss"], loss, rel_tol=1e-6), (answer.json()["metrics"], loss)


ENDED = ("paused", "succeeded", "failed", "cancelled")


def kind(file: File) -> dict[str, str]:
    return {"Content-Type": file.kind}


def parameter(weights: dict[str, Any], name: str) -> np.ndarray[Any, Any]:
    key = next(each for each in weights if each in (name, f"parameters/{name}", f"parameters.{name}"))
    shape, data = weights[key]
    return np.frombuffer(data, np.float64).reshape(shape)


def near(found: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
    scale = np.abs(expected).max(initial=1.0)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * scale)


@pytest.mark.parametrize("draw", range(DRAWS))
def test_a_table_is_computed_as_in_plain_python(http: httpx.Client, draw: int) -> None:
    Law(http, int(os.environ["LAW_SEED"]) + draw).run()
