"""A law: datasets that are derived at random, and lists of them, are what plain Python makes of the same rows.

Tables are drawn with missing values, appended to, selected from, sampled, split and joined in chains; every dataset
that was made stays as it is. `LAW_SEED` of the test report repeats a draw.
"""

import csv
import io
import operator
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import pytest

from tests.extent import FULL

from .conftest import created, refused

DRAWS = int(os.environ.get("LAW_DRAWS", "60" if FULL else "2"))
STEPS = 12
SPEC = "n:int64,f:float64,größe:class,b:bool,id:int64"
LABELS = ("n", "f", "größe", "b", "id")
TEXTS = ("a", "b", "ß", "d e", "true", "7")
FAR = (2**53, 2**53 + 1, -(2**53) - 1, 2**62)

Row = dict[str, Any]


@dataclass(frozen=True)
class Known:
    """A dataset, and what it has to be."""

    id: str
    rows: list[Row]
    version: int
    texts: tuple[str, ...]


def draw_rows(rng: random.Random, count: int) -> list[Row]:
    return [
        {
            "n": rng.choice(FAR) if rng.random() < 0.1 else rng.randrange(-5, 6),
            "f": None if rng.random() < 0.2 else rng.choice((rng.gauss(0, 1), float(rng.randrange(-3, 4)))),
            "größe": None if row and rng.random() < 0.2 else rng.choice(TEXTS),
            "b": rng.random() < 0.5,
            "id": rng.randrange(10**6),
        }
        for row in range(count)
    ]


def csv_of(rows: list[Row]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(LABELS)
    writer.writerows([["" if row[label] is None else row[label] for label in LABELS] for row in rows])
    return text.getvalue().encode()


def upload(http: httpx.Client, rows: list[Row], path: str = "/v1/datasets") -> dict[str, Any]:
    answer = http.post(path, content=csv_of(rows), headers={"Content-Type": "text/csv"}, params={"columns": SPEC})
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


def texts_of(rows: list[Row]) -> tuple[str, ...]:
    return tuple(sorted({row["größe"] for row in rows} - {None}))


def check(http: httpx.Client, known: Known) -> None:
    """Compare rows, classes and statistics of a stored dataset with those of the model."""
    dataset = http.get(f"/v1/datasets/{known.id}").json()
    columns = {column["label"]: column for column in dataset["columns"]}
    names = {column["name"]: label for label, column in columns.items()}
    rows = http.get(f"/v1/datasets/{known.id}/rows?limit=1000").json()["data"]
    for row in rows:
        for name, label in names.items():
            row[label] = row.pop(name)
        row["größe"] = None if row["größe"] is None else known.texts[int(row["größe"])]
    assert rows == known.rows
    assert (dataset["rows"], dataset["version"]) == (len(rows), known.version)
    assert tuple(columns["größe"]["classes"]) == known.texts
    for label in ("n", "f"):
        values = [row[label] for row in known.rows if row[label] is not None]
        facts = columns[label]
        assert facts["missing"] == len(rows) - len(values)
        assert (facts["minimum"], facts["maximum"]) == (min(values, default=None), max(values, default=None))


COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def meets(value: Any, op: str, wanted: Any) -> bool:
    if op in ("missing", "present") or value is None:
        return op == "missing" if value is None else op == "present"
    if op in ("in", "not_in"):
        return (value in wanted) == (op == "in")
    return COMPARE[op](value, wanted)


def draw_condition(rng: random.Random, known: Known) -> dict[str, Any]:
    label = rng.choice(("n", "f", "größe", "b"))
    ops = ["==", "!=", "in", "not_in", "missing", "present"]
    op = rng.choice(ops if label in ("größe", "b") else [*ops, "<", "<=", ">", ">="])

    def value() -> Any:
        if label == "größe":
            return rng.choice(known.texts)
        if label == "b":
            return rng.random() < 0.5
        return rng.choice((rng.randrange(-3, 4), rng.gauss(0, 1), rng.choice(FAR), float(2**53)))

    condition: dict[str, Any] = {"column": label, "op": op}
    if op in ("in", "not_in"):
        condition["value"] = [value() for _ in range(rng.randrange(1, 4))]
    elif op not in ("missing", "present"):
        condition["value"] = value()
    return condition


def drawn_first(count: int, seed: int) -> list[int]:
    """Return the numbers below `count` in the order in which they are drawn: by raw numbers of PCG64."""
    keys = np.random.PCG64(seed).random_raw(count).tolist()
    return sorted(range(count), key=keys.__getitem__)


def select(http: httpx.Client, rng: random.Random, known: Known) -> list[Known]:
    request: dict[str, Any] = {"where": [draw_condition(rng, known) for _ in range(rng.randrange(3))]}
    if rng.random() < 0.5 or not request["where"]:
        request["rows"] = {"start": rng.randrange(len(known.rows))}
        if rng.random() < 0.5:
            request["rows"]["stop"] = request["rows"]["start"] + rng.randrange(1, 40)
    start, stop = (request.get("rows", {}).get(name) for name in ("start", "stop"))
    kept = [
        row
        for row in known.rows[start or 0 : stop]
        if all(meets(row[each["column"]], each["op"], each.get("value")) for each in request["where"])
    ]
    if rng.random() < 0.4 and kept:
        count, seed = rng.randrange(1, len(kept) + 1), rng.randrange(2**32)
        request["sample"] = {"rows": count, "seed": seed}
        kept = [kept[place] for place in sorted(drawn_first(len(kept), seed)[:count])]
    answer = http.post(f"/v1/datasets/{known.id}:select", json=request)
    if not kept:
        assert refused(answer) == [("/where", "no_rows")]
        return []
    return [Known(created_dataset(answer), kept, 1, known.texts)]


def append(http: httpx.Client, rng: random.Random, known: Known) -> list[Known]:
    rows = draw_rows(rng, rng.randrange(1, 20))
    built = upload(http, rows, f"/v1/datasets/{known.id}:append")
    texts = (*known.texts, *(text for text in texts_of(rows) if text not in known.texts))
    return [Known(built["id"], known.rows + rows, known.version + 1, texts)]


def join(http: httpx.Client, rng: random.Random, known: Known, others: list[Known]) -> list[Known]:
    chosen = [known, *(rng.choice(others) for _ in range(rng.randrange(1, 3)))]
    answer = http.post("/v1/datasets:join", json={"datasets": [each.id for each in chosen]})
    texts = dict.fromkeys(text for each in chosen for text in each.texts)
    return [Known(created_dataset(answer), [row for each in chosen for row in each.rows], 1, tuple(texts))]


def split(http: httpx.Client, rng: random.Random, known: Known) -> list[Known]:
    count, seed = len(known.rows), rng.randrange(2**32)
    if count < 2:
        return []
    by_number = rng.random() < 0.5
    size = rng.randrange(1, count) if by_number else min(max(1, round(0.3 * count)), count - 1)
    request: dict[str, Any] = {"test": size if by_number else 0.3, "seed": seed}
    stratify = rng.choice((None, "größe", "b"))
    if stratify is not None:
        request["stratify"] = stratify
    answer = http.post(f"/v1/datasets/{known.id}:split", json=request)
    assert answer.status_code == 201, answer.text
    test = set(stratified(known, stratify, size, seed))
    parts = [[row for place, row in enumerate(known.rows) if (place in test) == wanted] for wanted in (False, True)]
    ids = (answer.json()[part]["id"] for part in ("train", "test"))
    return [Known(id_, rows, 1, known.texts) for id_, rows in zip(ids, parts, strict=True)]


def stratified(known: Known, column: str | None, size: int, seed: int) -> list[int]:
    """Return the places of the rows to test on: of each class its share, the largest remainders rounded up."""
    rows, texts = known.rows, known.texts
    order = drawn_first(len(rows), seed)
    if column is None:
        return order[:size]
    groups: dict[Any, list[int]] = {}
    for place in order:
        groups.setdefault(rows[place][column], []).append(place)
    exact = {group: len(places) * (size / len(rows)) for group, places in groups.items()}
    counts = Counter({group: int(share) for group, share in exact.items()})
    rest = size - counts.total()
    ranked = sorted(groups, key=lambda group: code(group, texts))
    for group in sorted(ranked, key=lambda group: -(exact[group] - counts[group]))[:rest]:
        counts[group] += 1
    return [place for group, places in groups.items() for place in places[: counts[group]]]


def code(value: Any, texts: tuple[str, ...]) -> int:
    """Return the number of a class; a missing text is before all others."""
    if value is None:
        return -1
    return texts.index(value) if isinstance(value, str) else int(value)


def created_dataset(answer: httpx.Response) -> str:
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


@pytest.mark.parametrize("draw", range(DRAWS))
def test_chains_of_derived_datasets_have_the_rows_of_the_model(http: httpx.Client, draw: int) -> None:
    rng = random.Random(f"{os.environ['LAW_SEED']}/{draw}/derivations")
    rows = draw_rows(rng, rng.randrange(2, 60))
    stored = [Known(upload(http, rows)["id"], rows, 1, texts_of(rows))]
    for _ in range(STEPS):
        # Tables stay short: what is compared is in one page of rows.
        source = rng.choice([each for each in stored if len(each.rows) < 300])
        step = rng.choice((select, select, append, split, join))
        stored += join(http, rng, source, stored[:2]) if step is join else step(http, rng, source)
        check(http, stored[-1])
    for known in stored:
        check(http, known)


ORDERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "created_at": lambda each: each["id"],
    "name": lambda each: each["name"],
    "rows": lambda each: each["rows"],
    "size_bytes": lambda each: each["size_bytes"],
}


@pytest.mark.parametrize("draw", range(DRAWS))
def test_lists_are_filtered_ordered_and_paged_as_the_model_is(http: httpx.Client, draw: int) -> None:
    rng = random.Random(f"{os.environ['LAW_SEED']}/{draw}/lists")
    mark = f"law {rng.randrange(10**9)} "
    names = [f"{mark}{rng.choice(('a', 'B', 'ab', 'ä', '_', '%', 'a%'))}" for _ in range(rng.randrange(3, 25))]
    known = []
    for name in names:
        body = {"name": name, "columns": {"x": [0] * rng.randrange(1, 4)}}
        known.append(created(http.post("/v1/datasets", json=body)))
    for _ in range(STEPS):
        order_by, order = rng.choice([*ORDERS]), rng.choice(("asc", "desc"))
        query: dict[str, Any] = {"order_by": order_by, "order": order, "limit": rng.randrange(1, 9)}
        prefix = mark + rng.choice(("", "", "a", "_", "%", "ä"))
        query["name_prefix"] = prefix
        wanted = [each for each in known if each["name"].startswith(prefix)]
        if rng.random() < 0.3:
            query["name"] = rng.choice(names)
            wanted = [each for each in wanted if each["name"] == query["name"]]
        for name, compare in (("created_after", operator.gt), ("created_before", operator.lt)):
            if rng.random() < 0.3:
                query[name] = rng.choice(known)["created_at"]
                wanted = [each for each in wanted if compare(each["created_at"], query[name])]
        wanted.sort(key=lambda each: (ORDERS[order_by](each), each["id"]), reverse=order == "desc")
        assert [each["id"] for each in listed(http, query)] == [each["id"] for each in wanted], query


def listed(http: httpx.Client, query: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    while True:
        page = http.get("/v1/datasets", params=query).json()
        found += page["data"]
        assert len(page["data"]) <= query["limit"]
        if not page["has_more"]:
            assert page["next_cursor"] is None
            return found
        query = {**query, "cursor": page["next_cursor"]}
