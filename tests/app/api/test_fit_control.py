"""Control of fits by a real server with real processes: what is asked comes about, and numbers do not mind."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import psutil
import pytest

from tests.support.patience import LONGEST_WAIT, PATIENCE

from .conftest import RECIPE, created

Begin = Callable[..., str]


def waited(http: httpx.Client, fit_id: str, **params: Any) -> dict[str, Any]:
    return dict(http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT, **params}).json())


def until(http: httpx.Client, fit_id: str, *states: str) -> dict[str, Any]:
    """Return the fit once it is in one of `states`."""
    answer = http.get(f"/v1/fits/{fit_id}")
    while answer.json()["state"] not in states:
        assert not answer.json()["terminal"], answer.text
        seen = {"If-None-Match": answer.headers["etag"]}
        answer = http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT, "until": "change"}, headers=seen)
    return dict(answer.json())


def ask(http: httpx.Client, fit_id: str, action: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    response = http.post(f"/v1/fits/{fit_id}:{action}", **({} if body is None else {"json": body}))
    assert response.status_code == 202, response.text
    return dict(response.json())


def rows(http: httpx.Client, fit_id: str) -> list[Any]:
    found = http.get(f"/v1/fits/{fit_id}/metrics", params={"limit": 1000}).json()["data"]
    assert [row["seq"] for row in found] == [*range(1, len(found) + 1)]
    return list(found)


@pytest.fixture
def begin(http: httpx.Client, long_fit: dict[str, Any]) -> Iterator[Begin]:
    """Begin a fit that takes longer than any test and wait for its first rows; it is killed when the test ends."""
    begun: list[str] = []

    def start(**changes: Any) -> str:
        fit_id: str = created(http.post("/v1/fits", json={**long_fit, **changes}))["id"]
        begun.append(fit_id)
        http.get(f"/v1/fits/{fit_id}/events", params={"max_events": 5})
        return fit_id

    yield start
    for fit_id in begun:
        http.post(f"/v1/fits/{fit_id}:kill")


def test_a_fit_rests_goes_on_and_ends_as_if_it_had_not(http: httpx.Client, fit: dict[str, Any], begin: Begin) -> None:
    fit_id = begin()
    assert ask(http, fit_id, "pause")["state"] in ("pausing", "paused")
    paused = until(http, fit_id, "paused")
    assert paused["attempts"][-1]["outcome"] == "drained"
    latest = http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()
    assert latest["step"] == paused["step"] > 0
    whole, part = rows(http, fit["id"]), rows(http, fit_id)
    assert part[: len(whole)] == whole[: len(part)]
    shorter = http.patch(f"/v1/fits/{fit_id}", json={"epochs": paused["step"] // 4 + 2})
    assert shorter.status_code == 200, shorter.text
    assert shorter.json()["reopened_at"] == paused["step"]
    ask(http, fit_id, "resume")
    done = waited(http, fit_id)
    assert (done["state"], done["step"]) == ("succeeded", done["total_steps"])
    assert len(done["attempts"]) == 2
    assert done["running_seconds"] > 0


def test_a_killed_fit_has_ended_at_once_and_can_go_on(http: httpx.Client, begin: Begin) -> None:
    fit_id = begin()
    workers = http.get("/v1/system").json()["workers"]
    process = psutil.Process(next(worker["pid"] for worker in workers if worker["fit"] == fit_id))
    killed = ask(http, fit_id, "kill")
    assert (killed["state"], killed["stop_reason"]) == ("cancelled", "killed")
    assert killed["attempts"][-1]["outcome"] == "killed_by_client"
    process.wait(PATIENCE)
    assert waited(http, fit_id) == killed
    assert ask(http, fit_id, "kill") == killed
    assert ask(http, fit_id, "resume")["reopened_at"] == killed["step"]
    resumed = until(http, fit_id, "running")
    assert (resumed["stop_reason"], resumed["attempt"]) == (None, 2)


def test_an_extended_fit_is_what_a_longer_one_would_have_been(
    http: httpx.Client, line: dict[str, Any], points: dict[str, Any]
) -> None:
    asked = {"graph": line["id"], "dataset": points["id"], **RECIPE, "validation": {"split": 0.25}}
    short, long = (created(http.post("/v1/fits", json={**asked, "epochs": epochs}))["id"] for epochs in (2, 5))
    former = waited(http, short)
    stream = f"/v1/fits/{short}/events"
    seen = http.get(stream).text.count("\nid: ") + 1
    headers = {"Idempotency-Key": f"extend-{short}"}
    first, again = (http.post(f"/v1/fits/{short}:extend", json={"epochs": 3}, headers=headers) for _ in range(2))
    assert first.status_code == again.status_code == 202, first.text
    assert first.json() == again.json()
    assert first.headers["location"] == again.headers["location"] == f"/v1/fits/{short}"
    assert again.headers["idempotent-replayed"] == "true"
    # A stream goes on past the former end, and one that had seen it from there.
    whole, rest = http.get(stream).text, http.get(stream, headers={"Last-Event-ID": str(seen)}).text
    extended = waited(http, short)
    assert (extended["state"], extended["step"], extended["request"]["epochs"]) == ("succeeded", 15, 5)
    assert extended["reopened_at"] == former["step"] == 6
    assert rows(http, short) == rows(http, waited(http, long)["id"])
    assert whole.count("event: end") == rest.count("event: end") == 1
    assert '"code":"reopened"' in whole
    assert rest.partition("\n\n")[2] in whole
    digests = [http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()["id"] for fit_id in (short, long)]
    tensors = [http.get(f"/v1/checkpoints/{each}/parameters/w", params={"format": "npy"}).content for each in digests]
    assert tensors[0] == tensors[1]


def test_a_fork_goes_on_where_its_origin_was(http: httpx.Client, fit: dict[str, Any]) -> None:
    shorter = created(http.post("/v1/fits", json={**fit["request"], "epochs": 2}))["id"]
    assert waited(http, shorter)["step"] == 8
    latest = http.get(f"/v1/fits/{shorter}/checkpoints/latest").json()
    fork = created(http.post("/v1/fits", json={"from_checkpoint": latest["id"], "epochs": 3}))
    assert (fork["step"], fork["origin"]["fit"], fork["origin"]["digest"]) == (8, shorter, latest["digest"])
    assert fork["links"]["origin"] == f"/v1/checkpoints/{latest['id']}"
    done = waited(http, fork["id"])
    assert (done["state"], done["step"], done["progress"]) == ("succeeded", 12, 1.0)
    values = [(row["step"], row["values"]) for row in rows(http, fork["id"])]
    assert values == [(row["step"], row["values"]) for row in rows(http, fit["id"]) if row["step"] > 8]
    (child,) = http.get(f"/v1/fits?origin={shorter}").json()["data"]
    assert child["id"] == fork["id"]
    assert done["links"]["children"] == f"/v1/fits?origin={fork['id']}"
    assert http.delete(f"/v1/fits/{shorter}").status_code == 204
    own = http.get(f"/v1/checkpoints/{fork['origin']['copy']}/parameters/w")
    assert own.status_code == 200, own.text


def test_a_fork_of_parameters_begins_with_them(http: httpx.Client, fit: dict[str, Any]) -> None:
    latest = http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    choice = {"checkpoint": latest["id"], "restore": "parameters"}
    asked = {"from_checkpoint": choice, "optimizer": {"kind": "adam", "lr": 0.001}, "epochs": 1, "batch_size": 16}
    fork = waited(http, created(http.post("/v1/fits", json=asked))["id"])
    assert (fork["state"], fork["step"]) == ("succeeded", 1)
    (row,) = rows(http, fork["id"])
    last = rows(http, fit["id"])[-1]
    assert row["values"]["loss"] < 2 * last["values"]["loss"]


def test_a_fit_that_starts_paused_waits_to_be_resumed(http: httpx.Client, fit: dict[str, Any]) -> None:
    asked = {**fit["request"], "start_paused": True}
    fit_id = created(http.post("/v1/fits", json=asked))["id"]
    paused = waited(http, fit_id, wait=0.2)
    assert (paused["state"], paused["attempts"]) == ("paused", [])
    ask(http, fit_id, "resume")
    assert rows(http, waited(http, fit_id)["id"]) == rows(http, fit["id"])


def test_whatever_a_crowd_asks_for_a_fit_ends_once(http: httpx.Client, begin: Begin) -> None:
    fit_id = begin()
    statuses: list[int] = []

    def press(actions: list[str]) -> None:
        with httpx.Client(base_url=http.base_url, timeout=PATIENCE, verify=False) as own:
            statuses.extend(own.post(f"/v1/fits/{fit_id}:{action}").status_code for action in actions)

    crowd = [["pause", "resume", "cancel"], ["cancel", "kill"], ["resume", "pause", "cancel"], ["pause", "cancel"]]
    threads = [threading.Thread(target=press, args=(actions,)) for actions in crowd]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*statuses} <= {202, 409}
    http.post(f"/v1/fits/{fit_id}:kill")
    assert waited(http, fit_id)["state"] == "cancelled"
    stream = http.get(f"/v1/fits/{fit_id}/events").text
    assert stream.count("event: end") == 1


REFUSED: dict[str, tuple[str, str, Any, int, str]] = {
    "nothing more": ("POST", ":extend", {}, 422, ""),
    "both units": ("POST", ":extend", {"epochs": 1, "steps": 1}, 422, ""),
    "no epochs": ("POST", ":extend", {"epochs": 0}, 422, "/epochs"),
    "a part of a step": ("POST", ":extend", {"steps": 1.5}, 422, "/steps"),
    "an unknown unit": ("POST", ":extend", {"hours": 1}, 422, "/hours"),
    "too many epochs": ("POST", ":extend", {"epochs": 10**9}, 422, "/epochs"),
    "an unknown field": ("PATCH", "", {"optimiser": {"lr": 1}}, 422, "/optimiser"),
    "a field of no recipe": ("PATCH", "", {"graph": "graph_1"}, 422, "/graph"),
    "a number for an object": ("PATCH", "", {"validation": 5}, 422, "/validation"),
    "a list for an object": ("PATCH", "", {"record": [1]}, 422, "/record"),
    "text for a count": ("PATCH", "", {"epochs": "5"}, 422, "/epochs"),
    "a dataset of no id": ("PATCH", "", {"validation": {"dataset": 5}}, 422, "/validation/dataset"),
    "a text that is too long": ("PATCH", "", {"schedule": {"kind": "x" * 5000}}, 422, "/schedule"),
    "an unknown priority": ("PATCH", "", {"resources": {"priority": "urgent"}}, 422, "/resources/priority"),
    "a deadline that is none": ("PATCH", "", {"resources": {"deadline": "soon"}}, 422, "/resources/deadline"),
    "a month that is none": (
        "PATCH", "", {"resources": {"deadline": "2030-13-01T00:00:00Z"}}, 422, "/resources/deadline"
    ),
    "a year beyond years": (
        "PATCH", "", {"resources": {"deadline": "9999-12-31T23:59:59-23:00"}}, 422, "/resources/deadline"
    ),
    "a past deadline": ("PATCH", "", {"resources": {"deadline": "2020-01-01T00:00:00Z"}}, 422, "/resources/deadline"),
    "no time at all": ("PATCH", "", {"resources": {"timeout_seconds": 0}}, 422, "/resources/timeout_seconds"),
    "hyperparameters after the end": ("PATCH", "", {"optimizer": {"lr": 0.5}}, 409, ""),
    "a rest after the end": ("POST", ":pause", None, 409, ""),
    "going on after success": ("POST", ":resume", None, 409, ""),
    "killing what has ended": ("POST", ":kill", None, 409, ""),
}  # fmt: skip


@pytest.mark.parametrize("fault", REFUSED)
def test_what_cannot_be_is_refused_with_its_place(http: httpx.Client, fit: dict[str, Any], fault: str) -> None:
    method, action, body, status, pointer = REFUSED[fault]
    sent = {} if body is None else {"json": body}
    response = http.request(method, f"/v1/fits/{fit['id']}{action}", **sent)
    assert response.status_code == status, response.text
    problem = response.json()
    if status == 422:
        assert pointer in [error["pointer"] for error in problem["errors"]], problem
    else:
        assert problem["code"] == "already_terminal"
    assert http.get(f"/v1/fits/{fit['id']}").json()["state"] == "succeeded"


FORKS: dict[str, tuple[Any, str, str]] = {
    "a number": (5, "/from_checkpoint", "type_mismatch"),
    "an unknown field": ({"checkpoint": "x", "step": 1}, "/from_checkpoint/step", "unknown_field"),
    "no checkpoint": ({"restore": "all"}, "/from_checkpoint", "missing_field"),
    "another way": ({"checkpoint": "x", "restore": "half"}, "/from_checkpoint/restore", "unknown_name"),
    "none that exists": ("ckpt_01m7xpv32a4ykd0nsmnkebvv3p", "/from_checkpoint", "not_found"),
}


@pytest.mark.parametrize("fault", FORKS)
def test_a_fork_of_nothing_is_refused_with_its_place(http: httpx.Client, fault: str) -> None:
    choice, pointer, code = FORKS[fault]
    response = http.post("/v1/fits", json={"from_checkpoint": choice})
    assert response.status_code == 422, response.text
    (error,) = response.json()["errors"]
    assert (error["pointer"], error["code"]) == (pointer, code)


def test_of_what_is_no_fit_nothing_is_asked(http: httpx.Client) -> None:
    for action in ("cancel", "kill", "pause", "resume"):
        assert http.post(f"/v1/fits/fit_01m7xpv32a4ykd0nsmnkebvv3p:{action}").status_code == 404
    assert http.post("/v1/fits/fit_01m7xpv32a4ykd0nsmnkebvv3p:extend", json={"epochs": 1}).status_code == 404
