import json
import math
from typing import Any

import pytest

from app.store.json_text import LARGE, encode_json

VALUES: list[Any] = [
    None,
    [],
    {},
    [1, 2.5, math.inf, "\u00e9\n"],
    {"nodes": list(range(LARGE + 1)), "name": 'a "name"', "empty": {}},
    {"shapes": {f"h{number}": {"shape": [number, "batch"]} for number in range(3 * LARGE)}, "last": math.nan},
    {1: [[0.1]] * (2 * LARGE), None: True, "\u00e9": "x"},
]


@pytest.mark.parametrize("value", VALUES)
def test_pieces_are_the_text_of_the_standard_library(value: Any) -> None:
    assert encode_json(value) == json.dumps(value, separators=(",", ":"))
