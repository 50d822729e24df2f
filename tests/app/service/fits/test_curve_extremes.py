"""Extremes of long curves: as looking at every row would find them, however often rows were added in between."""

import json
import random
from collections.abc import Iterator

from app.service.fits.curve_extremes import BLOCK_ROWS, CurveExtremes

ROWS = 40 * BLOCK_ROWS + 7
BUCKETS = 8


def row(seq: int, loss: float | None) -> str:
    split = "validation" if seq % 10 == 0 else "train"
    values = {"loss": loss} if seq % 7 else {"other": 1.0}
    return json.dumps({"seq": seq, "split": split, "values": values})


def test_extremes_are_those_of_all_rows_of_a_stretch() -> None:
    draw = random.Random(5)
    losses = [None if draw.random() < 0.01 else draw.random() for _ in range(ROWS)]
    rows = [row(seq, loss) for seq, loss in enumerate(losses, 1)]
    read: list[int] = []

    def scan(_fit_id: str, after: int, last: int) -> Iterator[tuple[int, str]]:
        read.extend(range(after + 1, last + 1))
        return iter(enumerate(rows[after:last], after + 1))

    extremes = CurveExtremes(scan)
    for last in (BUCKETS * BLOCK_ROWS, ROWS - 1, ROWS):
        for split in (None, "train", "validation"):
            found = extremes.find("fit_1", "loss", split, last, BUCKETS)
            assert found == _expected(rows[:last], split)
    assert read == [*range(1, ROWS + 1)]


def _expected(rows: list[str], split: str | None) -> set[int]:
    size = -(-len(rows) // (BUCKETS * BLOCK_ROWS)) * BLOCK_ROWS
    stretches: dict[tuple[str, int], list[tuple[int, float | None]]] = {}
    for each in map(json.loads, rows):
        if split in (None, each["split"]) and "loss" in each["values"]:
            place = (each["split"], (each["seq"] - 1) // size)
            stretches.setdefault(place, []).append((each["seq"], each["values"]["loss"]))
    found: set[int] = set()
    for stretch in stretches.values():
        finite = [(value, seq) for seq, value in stretch if value is not None]
        found |= {min(finite)[1], max(finite)[1]} if finite else set()
        found |= {seq for seq, value in stretch if value is None and seq == _first_null(stretch)}
    return found


def _first_null(stretch: list[tuple[int, float | None]]) -> int:
    return next(seq for seq, value in stretch if value is None)
