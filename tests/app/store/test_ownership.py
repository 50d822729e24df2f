"""A unit of work sees its tenant's rows, and the server's own those of all: by every way that leads to a row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from app.domain.access import acting_for, current_tenant
from app.domain.errors import NotFound
from app.store.pages import PageRequest
from app.store.unit_of_work import Store, UnitOfWork

PAGE = PageRequest()


@contextmanager
def work_for(store: Store, tenant: str) -> Iterator[UnitOfWork]:
    with acting_for(tenant), store.begin() as work:
        yield work


@pytest.fixture(params=["graphs", "datasets", "fits", "checkpoints", "sessions"])
def kind(request: pytest.FixtureRequest) -> str:
    """Return the name of a repository."""
    name: str = request.param
    return name


@pytest.fixture
def build(kind: str, request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Return what builds a record of that repository."""
    if kind == "checkpoints":  # which belong to a fit
        store: Store = request.getfixturevalue("store")
        with store.begin() as work:
            work.fits.add(request.getfixturevalue("a_fit")())
    created: Callable[..., Any] = request.getfixturevalue(f"a_{kind.removesuffix('s')}")
    return created


def test_what_a_tenant_adds_is_its_own(store: Store, kind: str, build: Callable[..., Any]) -> None:
    record = build()
    with work_for(store, "a") as work:
        getattr(work, kind).add(record)
        assert getattr(work, kind).get(record.id).tenant == "a"
        assert [each.id for each in getattr(work, kind).list(PAGE).items] == [record.id]
    with work_for(store, "b") as work:
        with pytest.raises(NotFound):
            getattr(work, kind).get(record.id)
        assert getattr(work, kind).list(PAGE).items == ()
        if hasattr(getattr(work, kind), "delete"):
            with pytest.raises(NotFound):
                getattr(work, kind).delete(record.id)
    with store.begin() as work:
        assert getattr(work, kind).get(record.id).tenant == "a"
        assert [each.id for each in getattr(work, kind).list(PAGE).items] == [record.id]


def test_what_the_server_adds_is_whose_it_says(store: Store, kind: str, build: Callable[..., Any]) -> None:
    with store.begin() as work:
        getattr(work, kind).add(build(tenant="a"))
    with work_for(store, "a") as work:
        assert getattr(work, kind).get(build().id) == build(tenant="a")


def test_a_list_goes_on_where_it_was_among_the_tenants_own(store: Store, kind: str, build: Callable[..., Any]) -> None:
    ids = [f"{build().id.partition('_')[0]}_{number}" for number in range(9)]
    for number, each in enumerate(ids):
        with work_for(store, "abc"[number % 3]) as work:
            getattr(work, kind).add(build(each))
    with work_for(store, "b") as work:
        first = getattr(work, kind).list(PageRequest(limit=2, order="asc"))
        second = getattr(work, kind).list(PageRequest(limit=2, cursor=first.next_cursor, order="asc"))
    assert [each.id for page in (first, second) for each in page.items] == ids[1::3]
    assert second.next_cursor is None


def test_an_update_leaves_a_row_to_whom_it_belongs(store: Store, a_fit: Callable[..., Any]) -> None:
    with work_for(store, "a") as work:
        work.fits.add(a_fit())
    with store.begin() as work:
        work.fits.update(a_fit(step=5, tenant="b"))
        assert (work.fits.get("fit_1").step, work.fits.get("fit_1").tenant) == (5, "a")


def test_equal_content_is_found_among_the_tenants_own(
    store: Store, a_graph: Callable[..., Any], a_dataset: Callable[..., Any], a_checkpoint: Callable[..., Any]
) -> None:
    for tenant in "ab":
        with work_for(store, tenant) as work:
            work.graphs.add(a_graph(f"graph_{tenant}"))
            work.datasets.add(a_dataset(f"ds_{tenant}"))
            work.checkpoints.add(a_checkpoint(f"ckpt_{tenant}", fit_id=None))
    with work_for(store, "b") as work:
        assert [each.id for each in work.graphs.with_digest("d" * 64, "graph_a")] == ["graph_b"]
        assert work.datasets.with_column("b" * 64) == ("ds_b",)
        assert [each.id for each in work.checkpoints.with_digest("e" * 64)] == ["ckpt_b"]
        assert work.checkpoints.latest("fit_1") is None


def test_an_answer_is_kept_for_the_tenant_who_got_it(store: Store) -> None:
    said: dict[str, Any] = {"body_digest": "d", "status": 201, "response_body": "{}"}
    for tenant in "ab":
        with work_for(store, tenant) as work:
            assert work.idempotency.find("key", "POST /v1/fits") is None
            work.idempotency.add("key", "POST /v1/fits", resource_id=tenant, **said)
    for tenant in "ab":
        with work_for(store, tenant) as work:
            kept = work.idempotency.find("key", "POST /v1/fits")
            assert kept is not None
            assert kept.resource_id == tenant


def test_what_a_tenant_stores_counts_once(
    store: Store, a_dataset: Callable[..., Any], a_checkpoint: Callable[..., Any]
) -> None:
    with work_for(store, "a") as work:
        for number in range(2):
            work.datasets.add(a_dataset(f"ds_{number}"))
            work.checkpoints.add(a_checkpoint(f"ckpt_{number}", fit_id=None))
        work.checkpoints.add(a_checkpoint("ckpt_3", fit_id=None, digest="f" * 64, deleted=True))
    with store.begin() as work:
        assert [work.blob_references.bytes_of(tenant) for tenant in "ab"] == [6000, 0]


def test_fits_that_wait_are_counted_by_tenant_and_together(store: Store, a_fit: Callable[..., Any]) -> None:
    for number, tenant in enumerate("aab"):
        with work_for(store, tenant) as work:
            work.fits.add(a_fit(f"fit_{number}"))
    with work_for(store, "b") as work:
        state = a_fit().state
        assert (work.fits.count([state]), work.fits.count_own([state])) == (3, 1)


def test_nobody_acts_for_a_tenant_that_was_acted_for_before() -> None:
    with acting_for("a"):
        with acting_for("b"):
            assert current_tenant() == "b"
        assert current_tenant() == "a"
    assert current_tenant() is None
