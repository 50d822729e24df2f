from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import Conflict, NotFound
from app.domain.records import CheckpointRecord, DatasetRecord, GraphRecord
from app.domain.session import OPEN, SessionRecord, SessionState
from app.store.lists import Filters
from app.store.pages import PageRequest
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock

ASession = Callable[..., SessionRecord]
ENDED = [state for state in SessionState if state not in OPEN]


def add(store: Store, *sessions: SessionRecord) -> None:
    with store.begin() as work:
        for session in sessions:
            work.sessions.add(session)


def test_a_session_reads_back_as_it_was(store: Store, a_session: ASession) -> None:
    whole = a_session(
        state=SessionState.FAILED,
        finished_at=a_session().created_at,
        runtime={"threads": 1},
        error={"code": "session_damaged"},
        checkpoint_id="ckpt_1",
        bit_exact=False,
    )
    add(store, a_session(), whole := replace(whole, id="sess_2"))
    with store.begin() as work:
        assert work.sessions.get("sess_1") == a_session()
        assert work.sessions.get("sess_2") == whole
        with pytest.raises(NotFound, match="sess_3"):
            work.sessions.get("sess_3")


def test_a_change_counts_versions_and_is_reported(store: Store, a_session: ASession) -> None:
    add(store, a_session())
    reported: list[str] = []
    store.on_change(reported.append)
    with store.begin() as work:
        stored = work.sessions.update(replace(a_session(), state=SessionState.PAUSED))
    assert stored.version == 2
    assert reported == ["sess_1"]
    with store.begin() as work, pytest.raises(Conflict) as refused:
        work.sessions.update(replace(a_session(), state=SessionState.CLOSED))
    assert refused.value.code == "stale_version"


def test_sessions_are_listed_by_state_and_label(store: Store, a_session: ASession) -> None:
    add(
        store,
        a_session("sess_1"),
        a_session("sess_2", state=SessionState.PAUSED),
        a_session("sess_3", labels={"team": "b"}),
        a_session("sess_4", state=SessionState.CLOSED, labels={"team": "b"}),
    )

    def listed(**filters: Any) -> list[str]:
        with store.begin() as work:
            return [session.id for session in work.sessions.list(PageRequest(order="asc"), Filters(**filters)).items]

    assert listed() == ["sess_1", "sess_2", "sess_3", "sess_4"]
    assert listed(state=SessionState.ACTIVE) == ["sess_1", "sess_3"]
    assert listed(label=("team", "b")) == ["sess_3", "sess_4"]
    assert listed(state=SessionState.CLOSED, label=("team", "b")) == ["sess_4"]
    with store.begin() as work:
        assert work.sessions.count_open() == 3
        assert [session.id for session in work.sessions.open()] == ["sess_1", "sess_2", "sess_3"]


@pytest.mark.parametrize("state", SessionState)
def test_only_open_sessions_expire_once_their_time_is_over(
    state: SessionState, store: Store, a_session: ASession, clock: ManualClock
) -> None:
    add(store, a_session(state=state, ttl_seconds=60.0))

    def expired() -> list[str]:
        with store.begin() as work:
            return [session.id for session in work.sessions.expired()]

    clock.advance(59.9)
    assert expired() == []
    clock.advance(0.1)
    assert expired() == (["sess_1"] if state in OPEN else [])


def test_the_folders_of_open_and_of_failed_sessions_are_kept(store: Store, a_session: ASession) -> None:
    add(store, *(a_session(f"sess_{state}", state=state) for state in SessionState))
    with store.begin() as work:
        assert work.sessions.with_folders() == {"sess_active", "sess_paused", "sess_failed"}


@pytest.mark.parametrize("state", SessionState)
def test_what_an_open_session_uses_is_in_use(
    state: SessionState,
    store: Store,
    a_session: ASession,
    a_graph: Callable[..., GraphRecord],
    a_dataset: Callable[..., DatasetRecord],
) -> None:
    add(store, a_session(state=state))
    with store.begin() as work:
        work.graphs.add(a_graph())
        work.datasets.add(a_dataset())
        work.sessions.use("sess_1", "ds_1")
        work.sessions.use("sess_1", "ds_1")
        assert work.sessions.datasets("sess_1") == ("ds_1",)
        assert work.graphs.in_use("graph_1") is (state in OPEN)
        assert work.datasets.in_use("ds_1") is (state in OPEN)
        work.datasets.add(a_dataset("ds_2"))
        assert not work.datasets.in_use("ds_2")


def test_a_checkpoint_is_found_by_the_step_that_saved_it(
    store: Store, a_session: ASession, a_checkpoint: Callable[..., CheckpointRecord]
) -> None:
    add(store, a_session())
    beginning = a_checkpoint("ckpt_0", fit_id=None, session_id="sess_1", session_seq=0)
    saved = a_checkpoint("ckpt_1", fit_id=None, session_id="sess_1", session_seq=7)
    with store.begin() as work:
        for checkpoint in (beginning, saved):
            work.checkpoints.add(checkpoint)
        assert work.checkpoints.of_step("sess_1", 7) == saved
        assert work.checkpoints.of_step("sess_1", 8) is None
        assert work.checkpoints.saved("sess_1") == (7,)
        assert work.checkpoints.list(PageRequest(order="asc"), session="sess_1").items == (beginning, saved)
        work.checkpoints.delete("ckpt_1")
        assert work.checkpoints.of_step("sess_1", 7) == replace(saved, deleted=True)
        work.checkpoints.forget_step("ckpt_1")
        assert work.checkpoints.of_step("sess_1", 7) is None
        assert work.blob_references.includes(beginning.digest)
