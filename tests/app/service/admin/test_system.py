from pathlib import Path
from typing import Any

import pytest

from app.domain.access import acting_for
from app.service.admin.system import GATHERED_SECONDS, PROBE_SECONDS, NotReady, System
from app.service.resources.memory import memory_budget, memory_needed
from app.service.resources.notifier import Notifier
from app.service.resources.storage import DiskSpace
from app.store.blobs.store import Usage
from app.store.unit_of_work import Store


@pytest.fixture
def system(store: Store, notifier: Notifier, worker_pool: Any, tmp_path: Path) -> System:
    return System(store, notifier, worker_pool, DiskSpace(tmp_path, 0))


def test_a_server_is_ready_until_it_stops(system: System, notifier: Notifier) -> None:
    system.check_ready()
    notifier.close()
    with pytest.raises(NotReady, match="stopping"):
        system.check_ready()


def test_a_server_without_space_is_not_ready(
    store: Store, notifier: Notifier, worker_pool: Any, tmp_path: Path
) -> None:
    with pytest.raises(NotReady, match="bytes free"):
        System(store, notifier, worker_pool, DiskSpace(tmp_path, 2**62)).check_ready()


def test_a_server_whose_quota_is_used_up_is_not_ready(
    store: Store, notifier: Notifier, worker_pool: Any, tmp_path: Path
) -> None:
    system = System(store, notifier, worker_pool, DiskSpace(tmp_path, 0, Usage(10, 10)))
    assert system.overview().stored_bytes == 10
    with pytest.raises(NotReady, match="ADJOINT_STORAGE_QUOTA_BYTES"):
        system.check_ready()


def test_a_server_that_can_start_no_fit_is_not_ready(system: System, worker_pool: Any) -> None:
    worker_pool.wrong = "there is no process to fork workers from"
    with pytest.raises(NotReady, match="no fit can be started: there is no process"):
        system.check_ready()


def test_callers_without_a_key_get_no_reason_and_cause_one_check(
    system: System, worker_pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("app.service.admin.system.time.monotonic", lambda: now)
    system.check_ready_for_anyone()
    worker_pool.wrong = "/data is gone"
    system.check_ready_for_anyone()
    now += PROBE_SECONDS
    with pytest.raises(NotReady) as refused:
        system.check_ready_for_anyone()
    assert "/data" not in refused.value.detail


def test_the_overview_counts_fits(system: System) -> None:
    overview = system.overview()
    assert (overview.queued, overview.running, list(overview.workers)) == (0, 0, [])
    assert overview.fingerprint["executor"]


def test_an_overview_is_gathered_again_when_anything_changes_and_after_a_while(
    system: System, store: Store, worker_pool: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("app.service.admin.system.time.monotonic", lambda: now)
    assert system.known_overview() is None
    first = system.overview()
    assert system.known_overview() is first
    assert system.overview() is first
    with store.read():
        pass
    assert system.known_overview() is first

    with store.begin():
        pass
    assert system.known_overview() is None
    second = system.overview()
    worker_pool.states.append((17, "running"))
    assert system.known_overview() is None
    third = system.overview()
    assert third is not second

    with acting_for("other"):
        assert system.known_overview() is None
        assert system.overview().tenant.name == "other"
    assert system.known_overview() is third
    now += GATHERED_SECONDS
    assert system.known_overview() is None


def test_a_change_that_is_rolled_back_changes_no_overview(system: System, store: Store) -> None:
    version = store.version
    with pytest.raises(ZeroDivisionError), store.begin():
        _ = 1 / 0
    assert store.version is version


def test_an_overview_counts_a_change_that_was_made_while_it_was_gathered(
    system: System, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    gather = system._gather

    def interrupted() -> Any:
        overview = gather()
        with store.begin():
            pass
        return overview

    monkeypatch.setattr(system, "_gather", interrupted)
    system.overview()
    assert system.known_overview() is None


def test_overviews_of_few_tenants_are_kept(system: System, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.service.admin.system.GATHERED_MAX", 2)
    for tenant in ("a", "b", "c"):
        with acting_for(tenant):
            system.overview()
    kept = []
    for tenant in ("a", "b", "c"):
        with acting_for(tenant):
            kept.append(system.known_overview() is not None)
    assert kept == [False, True, True]


def test_that_a_server_is_ready_counts_for_a_moment_unless_it_stops_or_can_start_no_fit(
    system: System, worker_pool: Any, notifier: Notifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("app.service.admin.system.time.monotonic", lambda: now)
    assert not system.is_known_ready()
    system.check_ready()
    assert system.is_known_ready()
    worker_pool.wrong = "there is no process to fork workers from"
    assert not system.is_known_ready()
    with pytest.raises(NotReady):
        system.check_ready()
    worker_pool.wrong = None
    assert not system.is_known_ready()
    system.check_ready()
    now += PROBE_SECONDS
    assert not system.is_known_ready()
    system.check_ready()
    notifier.close()
    assert not system.is_known_ready()


def test_rows_are_not_counted_since_they_are_mapped() -> None:
    small = memory_needed({"state_bytes": 1000, "plan_bytes": 1000, "data_bytes": 0}, "numpy")
    assert memory_needed({"state_bytes": 1000, "plan_bytes": 1000, "data_bytes": 10**12}, "numpy") == small
    assert memory_needed({"state_bytes": 10**9, "plan_bytes": 1000}, "native") > 10**9 > small
    assert memory_budget() > small
