"""Lists by label: what nothing has is told, since a misspelt label would be an empty list without a word."""

from typing import Any

import httpx
import pytest

GRAPH = {"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = mean((x * w) ** 2)"}
FIT = {
    "graph": GRAPH,
    "dataset": {"columns": {"x": [1.0, 2.0]}},
    "optimizer": {"kind": "sgd", "lr": 0.1},
    "steps": 1,
    "batch_size": 2,
}
REQUESTS = {"fits": FIT, "sessions": {"graph": GRAPH}}
ASKED = {
    "labelled_colour:red": (1, None),
    "labelled_colour:blue": (0, "no_match"),
    "labelled_color:red": (0, "unknown_name"),
}


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_label_that_nothing_has_is_told(http: httpx.Client, kind: str) -> None:
    made = http.post(f"/v1/{kind}", json={**REQUESTS[kind], "labels": {"labelled_colour": "red"}})
    assert made.status_code in (201, 202), made.text
    for label, (count, code) in ASKED.items():
        page: dict[str, Any] = http.get(f"/v1/{kind}", params={"label": label}).json()
        assert len(page["data"]) == count
        assert [finding["code"] for finding in page["findings"]] == ([] if code is None else [code])
    assert "did you mean 'labelled_colour'" in page["findings"][0]["detail"]
    in_another_state = {"label": "labelled_colour:red", "state": "failed"}
    assert http.get(f"/v1/{kind}", params=in_another_state).json()["findings"] == []
