"""Datasets that are made of stored ones, and profiles: rows appended, chosen, sampled, split, joined."""

from typing import Any

import httpx
import numpy as np
import pytest

from tests.app.api.conftest import refused

HEADERS = {"Content-Type": "text/csv"}
ROWS = [
    (number, "" if number % 10 == 9 else "yes" if number % 10 < 2 else "no", number * 0.5, number % 3 == 0)
    for number in range(60)
]


def csv_of(rows: list[tuple[Any, ...]]) -> str:
    lines = [",".join(str(cell).lower() if isinstance(cell, bool) else str(cell) for cell in row) for row in rows]
    return "\n".join(["id,answer,value,flag", *lines]) + "\n"


def upload(http: httpx.Client, rows: list[tuple[Any, ...]], path: str = "/v1/datasets?name=sixty") -> dict[str, Any]:
    answer = http.post(path, content=csv_of(rows), headers=HEADERS)
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


@pytest.fixture(scope="module")
def sixty(http: httpx.Client) -> dict[str, Any]:
    return upload(http, ROWS)


def ids_of(http: httpx.Client, dataset: dict[str, Any]) -> list[int]:
    rows = http.get(f"/v1/datasets/{dataset['id']}/rows?limit=1000").json()["data"]
    return [row["id"] for row in rows]


def test_an_appended_version_leaves_the_old_one_as_it_is(http: httpx.Client, sixty: dict[str, Any]) -> None:
    path = f"/v1/datasets/{sixty['id']}"
    more = [(100, "perhaps", 1, True), (101, "yes", -2, False)]  # whole numbers, for a column of floats
    appended = upload(http, more, f"{path}:append")
    assert (appended["rows"], appended["version"], appended["name"]) == (62, 2, "sixty")
    assert appended["origin"]["datasets"] == [sixty["id"]]
    assert http.get(path).json() == sixty
    answer = next(column for column in appended["columns"] if column["name"] == "answer")
    assert answer["classes"] == ["no", "yes", "perhaps"]
    rows = http.get(f"/v1/datasets/{appended['id']}/rows?offset=59&limit=3").json()["data"]
    assert [row["answer"] for row in rows] == [None, 2, 1]
    assert (answer["missing"], [row["value"] for row in rows]) == (6, [29.5, 1, -2])
    again = upload(http, more, f"{path}:append")
    assert again["id"] != appended["id"]
    assert again["digest"] == appended["digest"] != sixty["digest"]
    manifest = http.get(f"/v1/datasets/{appended['id']}/content")
    assert manifest.json()["rows"] == 62
    listed = http.get("/v1/datasets", params={"origin": sixty["id"], "order": "asc"}).json()["data"]
    assert [each["id"] for each in listed[:2]] == [appended["id"], again["id"]]
    wrong = http.post(f"{path}:append", content="id,answer,value,other\n1,yes,x,2\n", headers=HEADERS)
    half = http.post(f"{path}:append", content=csv_of([(0.5, "yes", 1, True)]), headers=HEADERS)
    assert refused(half) == [("/columns/id", "type_mismatch")]
    assert refused(wrong) == [
        ("/columns/value", "type_mismatch"), ("/columns/flag", "missing_column"), ("/columns/other", "unknown_column")
    ]  # fmt: skip


WHERE = {
    "range": ({"rows": {"start": 5, "stop": 8}}, [5, 6, 7]),
    "text": ({"where": [{"column": "answer", "op": "==", "value": "yes"}], "rows": {"stop": 20}}, [0, 1, 10, 11]),
    "texts": ({"where": [{"column": "answer", "op": "not_in", "value": ["yes"]}], "rows": {"stop": 4}}, [2, 3]),
    "other texts": ({"where": [{"column": "answer", "op": "!=", "value": "no"}], "rows": {"stop": 11}}, [0, 1, 10]),
    "missing": ({"where": [{"column": "answer", "op": "missing"}]}, [9, 19, 29, 39, 49, 59]),
    "between": (
        {"where": [{"column": "id", "op": ">", "value": 9.5}, {"column": "value", "op": "<=", "value": 6}]},
        [10, 11, 12],
    ),
    "in": ({"where": [{"column": "id", "op": "in", "value": [3, 7.0, 7.5, 1e300]}]}, [3, 7]),
    "flag": ({"where": [{"column": "flag", "op": "==", "value": True}], "rows": {"stop": 7}}, [0, 3, 6]),
}


@pytest.mark.parametrize("case", WHERE)
def test_rows_are_chosen(http: httpx.Client, sixty: dict[str, Any], case: str) -> None:
    request, expected = WHERE[case]
    created = created_below(http.post(f"/v1/datasets/{sixty['id']}:select", json=request))
    assert ids_of(http, created) == expected
    assert created["origin"]["kind"] == "select"


def created_below(answer: httpx.Response) -> dict[str, Any]:
    assert answer.status_code == 201, answer.text
    assert answer.headers["location"] == f"/v1/datasets/{answer.json()['id']}"
    return dict(answer.json())


def test_a_sample_and_a_split_follow_from_the_seed(http: httpx.Client, sixty: dict[str, Any]) -> None:
    path = f"/v1/datasets/{sixty['id']}"
    samples = [
        ids_of(http, created_below(http.post(f"{path}:select", json={"sample": {"rows": 20, "seed": seed}})))
        for seed in (1, 1, 2)
    ]
    assert samples[0] == samples[1] != samples[2]
    assert all(found == sorted(set(found)) and len(found) == 20 for found in samples)
    assert samples[0] == sorted(np.argsort(np.random.PCG64(1).random_raw(60), kind="stable")[:20].tolist())
    split = created_below(http.post(f"{path}:split", json={"test": 0.25, "seed": 3, "stratify": "answer"}))
    train, test = ids_of(http, split["train"]), ids_of(http, split["test"])
    assert sorted(train + test) == list(range(60))
    assert len(test) == 15
    counts = [sum(ROWS[row][1] == answer for row in test) for answer in ("yes", "no", "")]
    assert counts == [3, 10, 2]  # of 3, 10.5 and 1.5
    joined = created_below(
        http.post("/v1/datasets:join", json={"datasets": [split["train"]["id"], split["test"]["id"]], "name": "all"})
    )
    assert (ids_of(http, joined), joined["name"]) == (train + test, "all")


REFUSED = {
    "nothing chosen": ({}, ("", "missing_field")),
    "unknown column": ({"where": [{"column": "valu", "op": "==", "value": 1}]}, ("/where/0/column", "unknown_column")),
    "unknown text": ({"where": [{"column": "answer", "op": "==", "value": "Yes"}]}, ("/where/0/value", "unknown_name")),
    "order of texts": ({"where": [{"column": "answer", "op": "<", "value": "b"}]}, ("/where/0/op", "type_mismatch")),
    "text for number": ({"where": [{"column": "id", "op": "<", "value": "7"}]}, ("/where/0/value", "type_mismatch")),
    "one for a list": ({"where": [{"column": "id", "op": "in", "value": 7}]}, ("/where/0/value", "type_mismatch")),
    "no rows": ({"where": [{"column": "id", "op": "<", "value": 0}]}, ("/where", "no_rows")),
    "too late": ({"rows": {"start": 60}}, ("/rows/start", "out_of_range")),
    "too many": ({"sample": {"rows": 61}}, ("/sample/rows", "out_of_range")),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_choice_that_cannot_be_made_is_refused(http: httpx.Client, sixty: dict[str, Any], case: str) -> None:
    request, expected = REFUSED[case]
    assert refused(http.post(f"/v1/datasets/{sixty['id']}:select", json=request)) == [expected]


def test_a_profile_describes_columns_and_finds_what_deserves_a_look(http: httpx.Client) -> None:
    generator = np.random.default_rng(0)
    noise = generator.normal(size=100).round(3)
    rows = [(k, "rare" if k in (7, 8) else "usual", noise[k], k % 2 == 0) for k in range(100)]
    dataset = upload(http, [*rows, (98, "usual", noise[98], True)])
    profile = http.get(f"/v1/datasets/{dataset['id']}/profile", params={"target": "answer"}).json()
    assert (profile["rows"], profile["rows_read"], profile["duplicates"]) == (101, 101, 1)
    columns = {column["name"]: column for column in profile["columns"]}
    quantiles = {each["share"]: each["value"] for each in columns["value"]["quantiles"]}
    values = np.array([*noise, noise[98]], np.float32)
    assert quantiles[0.5] == pytest.approx(np.quantile(values, 0.5, method="inverted_cdf"))
    assert sum(columns["value"]["histogram"]["counts"]) == 101
    assert columns["id"]["histogram"]["counts"] == np.histogram([*range(100), 98], 24)[0].tolist()
    assert columns["value"]["deviation"] == pytest.approx(values.std(dtype=np.float64))
    eta = columns["value"]["correlation"]
    means = [values[[7, 8]].mean(), np.delete(values, [7, 8]).mean()]
    between = (2 * (means[0] - values.mean()) ** 2 + 99 * (means[1] - values.mean()) ** 2) / 101
    assert (eta["measure"], eta["value"]) == ("correlation_ratio", pytest.approx(np.sqrt(between / values.var()), 1e-4))
    assert profile["target"]["classes"] == [{"value": "usual", "count": 99}, {"value": "rare", "count": 2}]
    found = {(finding["code"], finding["column"]) for finding in profile["findings"]}
    assert found == {("imbalanced_target", "answer"), ("rare_classes", "answer"), ("duplicate_rows", None)}
    whole = upload(http, [(k, "same", 0.5, k % 2 == 0) for k in range(30)])
    profile = http.get(f"/v1/datasets/{whole['id']}/profile").json()
    found = {(finding["code"], finding["column"]) for finding in profile["findings"]}
    assert found == {("unique_column", "id"), ("constant_column", "answer"), ("constant_column", "value")}
    numbers = http.get(f"/v1/datasets/{whole['id']}/profile", params={"target": "id"}).json()
    assert numbers["target"]["kind"] == "class"
    assert refused(http.get(f"/v1/datasets/{whole['id']}/profile?target=ids")) == [("/target", "unknown_column")]
