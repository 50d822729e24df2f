"""Random programs of in-place operations, assignments and views give the right numbers, or are refused.

in_place_verdicts.py drew them and asked PyTorch, which need not be installed here.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

from tests.engine.golden.in_place_engine import judge_engine

GOLDEN = Path(__file__).parents[1] / "golden" / "data" / "in_place.json.gz"
MOST_STRICTER = 0.3
"""At most this share of what PyTorch accepts is refused."""


def test_a_program_that_writes_in_place_is_right_or_refused() -> None:
    counts: Counter[str] = Counter()
    for program, accepted, gradients in json.loads(gzip.decompress(GOLDEN.read_bytes())):
        outcome = judge_engine(program, accepted, gradients)
        assert not outcome.startswith("wrong"), f"{outcome}\n{json.dumps(program)}"
        counts[outcome] += 1
    assert counts["both refuse"] > 0
    assert counts["stricter"] <= MOST_STRICTER * (counts["stricter"] + counts["equal"])
