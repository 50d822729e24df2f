"""Changes of fits that exist: more epochs or steps, labels, priorities."""

from typing import Any

import pytest

from app.domain.clock import rfc3339
from app.domain.errors import Conflict, Invalid, PreconditionFailed, TooLarge
from app.domain.fit import FitRecord, FitState
from app.service.fits.admission import Admission, Candidate
from app.service.fits.fits import Fits
from app.service.fits.revision import Extension, FitRevision, apply_merge_patch
from app.service.fits.view import FitView
from app.service.resources.datasets import Datasets
from app.store.unit_of_work import Store
from tests.app.service.conftest import IdleWorkerPool
from tests.app.service.stages import WAYS, bring, checkpointed, read_journal
from tests.support.manual_clock import ManualClock

SGD: dict[str, Any] = {"kind": "sgd", "lr": 0.5, "momentum": 0.9}
ENDED = ("succeeded", "failed", "cancelled", "killed")


@pytest.fixture
def fit_id(fits: Fits, request_: dict[str, Any]) -> str:
    return fits.submit({**request_, "optimizer": SGD, "labels": {"a": "1", "b": "2"}}, nothing).fit.id


def nothing(_work: Any, _thing: Any) -> None:
    """Keep nothing."""


def anything(_view: FitView) -> None:
    """Let every version pass."""


def stored(store: Store, fit_id: str) -> FitRecord:
    with store.begin() as work:
        return work.fits.get(fit_id)


def at_step(store: Store, fit_id: str, stage: str, step: int) -> None:
    """Bring a fit to a stage, with a checkpoint of its last step."""
    bring(store, fit_id, stage, step=step, attempt=1)
    checkpointed(store, fit_id, step)


@pytest.mark.parametrize(
    ("stage", "step", "extension", "asked", "total"),
    [
        ("succeeded", 8, Extension("epochs", 2), {"epochs": 6}, 12),
        ("succeeded", 8, Extension("steps", 5), {"steps": 13}, 13),
        # It stopped early: so many more than it has made.
        ("succeeded", 4, Extension("epochs", 1), {"epochs": 3}, 6),
        # What was begun counts as made.
        ("cancelled", 3, Extension("epochs", 1), {"epochs": 3}, 6),
        ("failed", 3, Extension("steps", 1), {"steps": 4}, 4),
        ("killed", 0, Extension("epochs", 1), {"epochs": 1}, 2),
    ],
)
def test_a_fit_that_has_ended_goes_on_for_more(
    revision: FitRevision,
    store: Store,
    worker_pool: IdleWorkerPool,
    fit_id: str,
    stage: str,
    step: int,
    extension: Extension,
    asked: dict[str, int],
    total: int,
) -> None:
    at_step(store, fit_id, stage, step)
    woken = worker_pool.woken
    fit = revision.extend(fit_id, extension, nothing).fit
    assert (fit.state, fit.total_steps, fit.reopened_at, fit.finished_at) == (FitState.QUEUED, total, step, None)
    assert {name: fit.request[name] for name in ("epochs", "steps") if name in fit.request} == asked
    assert fit.request["record"] == {"every_steps": 1}
    assert worker_pool.woken == woken + 1
    kinds = [kind for kind, _ in read_journal(store, fit_id)]
    assert "end" not in kinds
    assert kinds[-2:] == ["log", "state"]


def test_rows_come_as_often_as_before_when_a_fit_grows(
    revision: FitRevision, fits: Fits, store: Store, request_: dict[str, Any]
) -> None:
    fit_id = fits.submit({**request_, "epochs": 10_000}, nothing).fit.id
    at_step(store, fit_id, "succeeded", 20_000)
    assert revision.extend(fit_id, Extension("epochs", 10_000), nothing).fit.request["record"] == {"every_steps": 2}


def test_a_budget_of_steps_grows_with_the_fit(
    revision: FitRevision, fits: Fits, store: Store, request_: dict[str, Any]
) -> None:
    fit_id = fits.submit({**request_, "budget": {"steps": 5}}, nothing).fit.id
    at_step(store, fit_id, "succeeded", 5)
    assert revision.extend(fit_id, Extension("steps", 4), nothing).fit.request["budget"] == {"steps": 9}


@pytest.mark.parametrize(
    "stage", [stage for stage in WAYS if stage not in ("succeeded", "failed", "cancelled", "killed")]
)
def test_what_goes_on_is_not_extended(revision: FitRevision, store: Store, fit_id: str, stage: str) -> None:
    before = bring(store, fit_id, stage)
    with pytest.raises(Conflict, match=str(before.state)) as caught:
        revision.extend(fit_id, Extension("epochs", 1), nothing)
    assert caught.value.code == "not_terminal"
    assert stored(store, fit_id) == before


def test_a_finished_fit_without_its_last_checkpoint_is_not_extended(
    revision: FitRevision, store: Store, fit_id: str
) -> None:
    bring(store, fit_id, "succeeded", step=8)
    checkpointed(store, fit_id, 6)
    with pytest.raises(Conflict, match="the last one is of step 6") as caught:
        revision.extend(fit_id, Extension("epochs", 1), nothing)
    assert caught.value.code == "no_checkpoint_here"


def test_more_than_a_server_takes_is_refused_where_the_client_said_it(
    revision: FitRevision, store: Store, datasets: Datasets, fit_id: str, request_: dict[str, Any]
) -> None:
    at_step(store, fit_id, "succeeded", 8)
    with pytest.raises(Invalid) as caught:
        revision.extend(fit_id, Extension("epochs", 10**6), nothing)
    assert [finding.pointer for finding in caught.value.findings] == ["/epochs"]
    datasets.delete(request_["dataset"])
    with pytest.raises(Conflict) as gone:
        revision.extend(fit_id, Extension("epochs", 1), nothing)
    assert gone.value.code == "input_missing"
    assert stored(store, fit_id).state is FitState.SUCCEEDED


def test_a_fit_is_admitted_again_when_it_is_extended(
    revision: FitRevision, store: Store, fit_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_step(store, fit_id, "succeeded", 8)
    monkeypatch.setattr("app.service.resources.memory.memory_budget", lambda: 1000)
    with pytest.raises(TooLarge):
        revision.extend(fit_id, Extension("epochs", 1), nothing)


def test_labels_are_merged_and_decide_whose_turn_it_is(revision: FitRevision, store: Store, fit_id: str) -> None:
    bring(store, fit_id, "succeeded")
    fit = revision.update(fit_id, {"labels": {"a": None, "team": "blue"}}, anything, dict).fit
    assert (fit.labels, fit.share) == ({"b": "2", "team": "blue"}, "blue")
    with pytest.raises(Invalid, match="64"):
        revision.update(fit_id, {"labels": {str(key): "" for key in range(70)}}, anything, dict)
    assert stored(store, fit_id) == fit


def test_nothing_changes_if_the_fit_is_not_as_it_was_seen(revision: FitRevision, store: Store, fit_id: str) -> None:
    def refuse(_view: FitView) -> None:
        raise PreconditionFailed("changed")

    with pytest.raises(PreconditionFailed):
        revision.update(fit_id, {"labels": {"b": None}, "epochs": 1}, refuse, dict)
    assert stored(store, fit_id).version == 1


@pytest.mark.parametrize("stage", WAYS)
def test_priority_and_limits_of_time_may_change_at_every_stage(
    revision: FitRevision, store: Store, clock: ManualClock, fit_id: str, stage: str
) -> None:
    bring(store, fit_id, stage)
    moment = rfc3339(clock.now().replace(microsecond=0, year=2030))
    fit = revision.update(
        fit_id, {"resources": {"priority": "high", "timeout_seconds": 5, "deadline": moment}}, anything, dict
    ).fit
    assert fit.request["resources"] == {"priority": "high", "timeout_seconds": 5, "deadline": moment}
    assert fit.deadline_at is not None
    assert (fit.priority, rfc3339(fit.deadline_at), fit.reopened_at) == (1, moment, None)
    fit = revision.update(fit_id, {"resources": {"priority": None, "deadline": None}}, anything, dict).fit
    assert (fit.priority, fit.deadline_at, fit.request["resources"]) == (0, None, {"timeout_seconds": 5})
    with pytest.raises(Invalid) as caught:
        revision.update(fit_id, {"resources": {"deadline": rfc3339(clock.now())}}, anything, dict)
    assert [finding.pointer for finding in caught.value.findings] == ["/resources/deadline"]


def test_before_its_first_process_a_fit_may_become_any_other(revision: FitRevision, store: Store, fit_id: str) -> None:
    changes = {"batch_size": 1, "optimizer": {"kind": "adam", "momentum": None}, "seed": 5, "epochs": None, "steps": 9}
    fit = revision.update(fit_id, changes, anything, dict).fit
    assert (fit.total_steps, fit.reopened_at, fit.state) == (9, None, FitState.QUEUED)
    assert fit.request["optimizer"] == {"kind": "adam", "lr": 0.5}
    assert "epochs" not in fit.request
    assert read_journal(store, fit_id)[-1][1]["code"] == "changed"


@pytest.mark.parametrize("stage", ["starting", "running", "pausing", "cancelling", "interrupted"])
def test_hyperparameters_do_not_change_under_a_process(
    revision: FitRevision, store: Store, fit_id: str, stage: str
) -> None:
    before = bring(store, fit_id, stage)
    for changes in ({"optimizer": {"lr": 0.1}}, {"resources": {"threads": 2}}):
        with pytest.raises(Conflict, match="pause it first") as caught:
            revision.update(fit_id, changes, anything, dict)
        assert caught.value.code == "not_paused"
    assert stored(store, fit_id) == before


def test_what_waits_to_go_on_is_paused_before_it_changes(revision: FitRevision, store: Store, fit_id: str) -> None:
    bring(store, fit_id, "queued", attempt=1)
    with pytest.raises(Conflict) as caught:
        revision.update(fit_id, {"optimizer": {"lr": 0.1}}, anything, dict)
    assert caught.value.code == "not_paused"


def test_what_has_ended_is_extended_or_forked_instead(revision: FitRevision, store: Store, fit_id: str) -> None:
    bring(store, fit_id, "succeeded")
    with pytest.raises(Conflict, match="extend") as caught:
        revision.update(fit_id, {"epochs": 9}, anything, dict)
    assert caught.value.code == "already_terminal"


def test_a_paused_fit_goes_on_otherwise_from_where_it_stands(revision: FitRevision, store: Store, fit_id: str) -> None:
    at_step(store, fit_id, "paused", 3)
    fit = revision.update(fit_id, {"optimizer": {"lr": 0.1}, "epochs": 5, "clip": {"norm": 1.0}}, anything, dict).fit
    assert (fit.state, fit.total_steps, fit.reopened_at) == (FitState.PAUSED, 10, 3)
    assert fit.request["optimizer"] == {"kind": "sgd", "lr": 0.1, "momentum": 0.9}
    assert fit.request["record"] == {"every_steps": 1}
    kind, body = read_journal(store, fit_id)[-1]
    assert (kind, body["code"]) == ("log", "changed")
    assert "from step 3 on with another clip, epochs, optimizer" in body["text"]


def test_to_ask_for_what_is_there_already_changes_nothing(revision: FitRevision, store: Store, fit_id: str) -> None:
    before = bring(store, fit_id, "running")
    same = {"optimizer": {"lr": 0.5}, "labels": {"a": "1"}, "clip": None, "resources": {"priority": None}}
    assert revision.update(fit_id, same, anything, dict).fit.request["optimizer"] == SGD
    assert stored(store, fit_id).reopened_at == before.reopened_at
    assert not [kind for kind, _ in read_journal(store, fit_id) if kind == "log"]


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"batch_size": 3}, "/batch_size"),
        ({"optimizer": {"kind": "adam", "momentum": None}}, "/optimizer/kind"),
        ({"seed": 1}, "/seed"),
        ({"epochs": 1}, "/epochs"),
        ({"optimizer": {"lr": "fast"}}, "/optimizer/lr"),
        ({"schedule": {"kind": "cosin"}}, "/schedule"),
    ],
)
def test_a_paused_fit_keeps_what_its_checkpoint_rests_on(
    revision: FitRevision, store: Store, fit_id: str, changes: dict[str, Any], pointer: str
) -> None:
    at_step(store, fit_id, "paused", 3)
    before = stored(store, fit_id)
    with pytest.raises(Invalid) as caught:
        revision.update(fit_id, changes, anything, dict)
    assert pointer in [finding.pointer for finding in caught.value.findings]
    assert stored(store, fit_id) == before


@pytest.mark.parametrize("checkpoint_step", [None, 2])
def test_rows_that_were_read_are_not_made_again_otherwise(
    revision: FitRevision, store: Store, fit_id: str, checkpoint_step: int | None
) -> None:
    bring(store, fit_id, "paused", step=3, attempt=1)
    if checkpoint_step is not None:
        checkpointed(store, fit_id, checkpoint_step)
    with pytest.raises(Conflict, match="resume it and pause it again") as caught:
        revision.update(fit_id, {"optimizer": {"lr": 0.1}}, anything, dict)
    assert caught.value.code == "no_checkpoint_here"
    # Threads do not decide about rows.
    assert revision.update(fit_id, {"resources": {"threads": 1}}, anything, dict).fit.reopened_at is None


def test_a_change_waits_for_one_that_came_first(
    revision: FitRevision, store: Store, fit_id: str, admission: Admission, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a change is checked the fit is begun: it may not change any more."""
    admit = admission.fit
    began: list[FitRecord] = []

    def slow(candidate: Candidate) -> Any:
        if not began:
            began.append(bring(store, fit_id, "running"))
        return admit(candidate)

    monkeypatch.setattr(admission, "fit", slow)
    with pytest.raises(Conflict) as caught:
        revision.update(fit_id, {"optimizer": {"lr": 0.1}}, anything, dict)
    assert caught.value.code == "not_paused"
    assert stored(store, fit_id) == began[0]


def test_a_sweep_keeps_its_variants_and_a_variant_its_request(
    revision: FitRevision, fits: Fits, store: Store, request_: dict[str, Any]
) -> None:
    sweep = {"kind": "grid", "parameters": {"optimizer.lr": [0.1, 0.2]}}
    sweep_id = fits.submit({**request_, "optimizer": SGD, "sweep": sweep}, nothing).fit.id
    with store.begin() as work:
        variant = work.fits.variants(sweep_id)[0].id
    asked: list[tuple[str, dict[str, Any], str]] = [
        (sweep_id, {"epochs": 1}, "is_sweep"),
        (variant, {"epochs": 1}, "is_variant"),
        (variant, {"resources": {"priority": "low"}}, "is_variant"),
    ]
    for fit_id, changes, code in asked:
        with pytest.raises(Conflict) as caught:
            revision.update(fit_id, changes, anything, dict)
        assert caught.value.code == code
    assert revision.update(sweep_id, {"resources": {"priority": "low"}}, anything, dict).fit.priority == -1
    assert revision.update(variant, {"labels": {"a": "b"}}, anything, dict).fit.labels == {"a": "b"}
    bring(store, sweep_id, "succeeded")
    with pytest.raises(Conflict) as caught:
        revision.extend(variant, Extension("epochs", 1), nothing)
    assert caught.value.code == "is_variant"


# The examples of RFC 7396, appendix A, as far as they are about objects.
CASES: list[tuple[Any, Any, Any]] = [
    ({"a": "b"}, {"a": "c"}, {"a": "c"}),
    ({"a": "b"}, {"b": "c"}, {"a": "b", "b": "c"}),
    ({"a": "b"}, {"a": None}, {}),
    ({"a": "b", "b": "c"}, {"a": None}, {"b": "c"}),
    ({"a": ["b"]}, {"a": "c"}, {"a": "c"}),
    ({"a": "c"}, {"a": ["b"]}, {"a": ["b"]}),
    ({"a": {"b": "c"}}, {"a": {"b": "d", "c": None}}, {"a": {"b": "d"}}),
    ({"a": [{"b": "c"}]}, {"a": [1]}, {"a": [1]}),
    ({"e": None}, {"a": 1}, {"e": None, "a": 1}),
    ({}, {"a": {"bb": {"ccc": None}}}, {"a": {"bb": {}}}),
    ("text", {"a": 1}, {"a": 1}),
]


@pytest.mark.parametrize(("target", "patch", "result"), CASES)
def test_changes_are_merged_as_the_rfc_says(target: Any, patch: Any, result: Any) -> None:
    assert apply_merge_patch(target, patch) == result
