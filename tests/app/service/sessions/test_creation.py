import asyncio
from typing import Any

import pytest

import engine
from app.domain.errors import Draining, Invalid, SessionsFull, TooLarge
from app.domain.session import SessionState
from app.service.resources.memory import PROCESS_BYTES
from app.service.sessions.state import SessionView
from tests.support.sessions_harness import GRAPH, MOST, SessionsHarness


def test_a_session_is_stored_with_all_that_it_is(harness: SessionsHarness) -> None:
    kept: list[SessionView] = []
    graph = harness.graph()
    request = {"graph": graph, "optimizer": {"kind": "sgd", "lr": 0.1}, "seed": 7, "labels": {"team": "a"}}
    view = harness.sessions.create(request, lambda _work, created: kept.append(created))
    assert kept == [view]
    session = harness.stored(view.session.id)
    assert session == view.session
    assert (session.state, session.graph_id, session.labels) == (SessionState.ACTIVE, graph, {"team": "a"})
    assert session.request["optimizer"] == {"kind": "sgd", "lr": 0.1}
    assert session.request["parameters"] == [{"name": "w", "shape": [2], "dtype": "float32"}]
    assert harness.create(precision="float64").request["parameters"][0]["dtype"] == "float64"
    assert harness.create(start_paused=True).state is SessionState.PAUSED


def test_a_graph_that_comes_with_it_is_stored_with_it(harness: SessionsHarness) -> None:
    session = harness.create(graph=GRAPH)
    with harness.store.begin() as work:
        assert work.graphs.get(session.graph_id).definition["parameters"].keys() == {"w"}


@pytest.mark.parametrize(
    ("request_", "pointer", "code"),
    [
        ({"graph": "graph_01m7xpv32a4ykd0nsmnkebvv3p"}, "/graph", "not_found"),
        ({"graph": {"inputs": {}}}, "/graph", None),
        ({"checkpoint": "ckpt_01m7xpv32a4ykd0nsmnkebvv3p"}, "/checkpoint", "not_found"),
        ({"dataset": "ds_01m7xpv32a4ykd0nsmnkebvv3p"}, "/dataset", "not_found"),
        ({"optimizer": "adamant"}, "/optimizer", None),
        ({"optimizer": {"kind": "lbfgs"}}, "/optimizer", "conflict"),
        ({"optimizer": {"kind": "sgd", "speed": 1}}, "/optimizer", "attribute_invalid"),
        ({"clip": {"norm": -1.0}}, "/clip/norm", None),
        ({"restore": "all"}, "/restore", "conflict"),
        ({"feeds": {"z": "y"}}, "/feeds/z", "unknown_name"),
        ({"resources": {"affinity": [100_000]}}, "/resources/affinity/0", "unknown_cpu"),
    ],
    ids=str,
)
def test_what_cannot_be_begun_is_refused_with_a_pointer(
    request_: dict[str, Any], pointer: str, code: str | None, harness: SessionsHarness
) -> None:
    with pytest.raises(Invalid) as refused:
        harness.create(**{"graph": GRAPH, **request_} if "checkpoint" not in request_ else request_)
    (finding,) = [each for each in refused.value.findings if each.pointer.startswith(pointer)]
    assert code is None or finding.code == code
    with harness.store.begin() as work:
        assert work.sessions.open() == ()


@pytest.mark.parametrize(
    ("columns", "feeds", "pointer", "code"),
    [
        ({"x": (2,), "y": ()}, {"x": "z"}, "/feeds/x", "unknown_column"),
        ({"z": (2,), "y": ()}, {}, "/dataset", "unknown_column"),
        ({"x": (), "y": ()}, {}, "/dataset", "shape_mismatch"),
    ],
)
def test_rows_that_do_not_fit_the_graph_are_refused(
    columns: dict[str, tuple[int, ...]], feeds: dict[str, str], pointer: str, code: str, harness: SessionsHarness
) -> None:
    with pytest.raises(Invalid) as refused:
        harness.create(dataset=harness.dataset(**columns), feeds=feeds)
    assert [(finding.pointer, finding.code) for finding in refused.value.findings] == [(pointer, code)]


STATIC = {"kind": "static", "static": {"dims": {"batch": 10**9}}}


@pytest.mark.parametrize(
    ("most", "request_", "pointer", "term"),
    [(1000, {}, "/graph", "parameter_bytes 50, process_bytes"), (10**9, STATIC, "/dims", "input_bytes 15000000000")],
)
def test_a_session_that_does_not_fit_into_memory_is_refused_with_the_sum(
    most: int,
    request_: dict[str, Any],
    pointer: str,
    term: str,
    harness: SessionsHarness,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.service.resources.memory.memory_budget", lambda: most)
    with pytest.raises(TooLarge, match=term) as refused:
        harness.create(**request_)
    assert refused.value.code == "memory_exceeded"
    assert refused.value.extensions["limit"] == most
    assert [finding.pointer for finding in refused.value.findings] == [pointer]


def test_what_the_process_of_a_session_takes_is_kept_with_it(harness: SessionsHarness) -> None:
    executor = engine.executors()[-1]
    assert harness.create().memory_bytes == harness.create().memory_bytes == 50 + PROCESS_BYTES[executor]
    numpy = harness.create(resources={"executor": "numpy"})
    assert harness.stored(numpy.id).memory_bytes == 50 + PROCESS_BYTES["numpy"]


def test_only_so_many_sessions_are_open_at_a_time(harness: SessionsHarness) -> None:
    sessions = [harness.create() for _ in range(MOST)]
    with pytest.raises(SessionsFull, match=f"{MOST} sessions are open"):
        harness.create()
    asyncio.run(harness.sessions.close(sessions[0].id))
    harness.create()


def test_a_server_that_is_stopping_begins_none(harness: SessionsHarness) -> None:
    harness.notifier.close()
    with pytest.raises(Draining):
        harness.create()


@pytest.mark.parametrize(
    ("request_", "restore"),
    [({"optimizer": "sgd"}, "all"), ({"optimizer": "adam"}, "parameters"), ({"restore": "parameters"}, "parameters")],
    ids=str,
)
def test_of_a_checkpoint_everything_is_taken_that_fits(
    request_: dict[str, Any], restore: str, harness: SessionsHarness
) -> None:
    graph = harness.graph()
    checkpoint = harness.checkpoint(graph)
    session = harness.create(checkpoint=checkpoint.id, **request_)
    assert session.graph_id == graph
    assert session.request["restore"] == restore
    with harness.store.begin() as work:
        own = work.checkpoints.of_step(session.id, 0)
    assert own is not None
    assert (own.digest, own.session_id) == (checkpoint.digest, session.id)


def test_everything_of_a_checkpoint_of_another_optimizer_cannot_be_asked_for(harness: SessionsHarness) -> None:
    checkpoint = harness.checkpoint(harness.graph())
    with pytest.raises(Invalid, match='"restore": "parameters"') as refused:
        harness.create(checkpoint=checkpoint.id, optimizer="adam", restore="all")
    assert [finding.pointer for finding in refused.value.findings] == ["/restore"]


def test_the_checkpoint_that_a_session_began_with_may_go_and_its_own_goes_with_the_session(
    harness: SessionsHarness,
) -> None:
    checkpoint = harness.checkpoint(harness.graph())
    session = harness.create(checkpoint=checkpoint.id, optimizer="sgd")
    with harness.store.begin() as work:
        work.checkpoints.delete(checkpoint.id)
    harness.sweeper.discard([checkpoint.digest])
    assert harness.blobs.local_path(checkpoint.digest).is_file()
    asyncio.run(harness.sessions.close(session.id))
    assert checkpoint.digest not in {*harness.blobs.digests()}


def test_a_session_goes_on_as_the_one_whose_checkpoint_it_begins_with(harness: SessionsHarness) -> None:
    first = harness.create(optimizer={"kind": "adam", "lr": 0.5}, clip={"norm": 2.0})
    saved = harness.run(first.id, "save").checkpoint
    assert saved is not None
    second = harness.create(checkpoint=saved.id)
    assert second.request["optimizer"] == {"kind": "adam", "lr": 0.5}
    assert second.request["clip"] == {"norm": 2.0}
    assert second.request["restore"] == "all"
