from collections.abc import Callable

import pytest

from app.domain.errors import NotFound
from app.domain.fit import TERMINAL, FitRecord, FitState
from app.domain.records import CheckpointRecord, GraphEntry, GraphRecord
from app.store.pages import PageRequest
from app.store.unit_of_work import Store


def test_a_graph_reads_back_as_it_was(store: Store, a_graph: Callable[..., GraphRecord]) -> None:
    with store.begin() as uow:
        uow.graphs.add(a_graph())
        assert uow.graphs.get("graph_1") == a_graph()


def test_lists_show_graphs_without_their_definitions(store: Store, a_graph: Callable[..., GraphRecord]) -> None:
    graph = a_graph(report={"parameter_count": 2**40, "shapes": {}})
    with store.begin() as uow:
        uow.graphs.add(graph)
        (entry,) = uow.graphs.list(PageRequest()).items
    assert entry == GraphEntry(graph.id, graph.name, graph.digest, 2**40, graph.created_at)


@pytest.mark.parametrize("state", FitState)
def test_a_graph_is_in_use_while_a_fit_with_it_is_not_terminal(
    state: FitState, store: Store, a_graph: Callable[..., GraphRecord], a_fit: Callable[..., FitRecord]
) -> None:
    with store.begin() as uow:
        uow.graphs.add(a_graph())
        assert not uow.graphs.in_use("graph_1")
        uow.fits.add(a_fit(state=state))
        assert uow.graphs.in_use("graph_1") == (state not in TERMINAL)
        uow.graphs.add(a_graph("graph_2"))
        assert not uow.graphs.in_use("graph_2")
        with pytest.raises(NotFound):
            uow.graphs.in_use("graph_3")


def test_a_graph_is_in_use_until_its_checkpoints_are_deleted(
    store: Store,
    a_graph: Callable[..., GraphRecord],
    a_fit: Callable[..., FitRecord],
    a_checkpoint: Callable[..., CheckpointRecord],
) -> None:
    with store.begin() as uow:
        uow.graphs.add(a_graph())
        uow.fits.add(a_fit(state=FitState.SUCCEEDED))
        uow.checkpoints.add(a_checkpoint())
        assert uow.graphs.in_use("graph_1")
        uow.checkpoints.delete("ckpt_1")
        assert not uow.graphs.in_use("graph_1")


def test_a_deleted_graph_is_not_found_and_its_fits_remain(
    store: Store, a_graph: Callable[..., GraphRecord], a_fit: Callable[..., FitRecord]
) -> None:
    with store.begin() as uow:
        uow.graphs.add(a_graph())
        uow.fits.add(a_fit(state=FitState.SUCCEEDED))
        uow.graphs.delete("graph_1")
    with store.begin() as uow:
        assert uow.fits.get("fit_1").graph_id == "graph_1"
        for call in (uow.graphs.get, uow.graphs.delete):
            with pytest.raises(NotFound, match="graph_1"):
                call("graph_1")


def test_equal_graphs_are_found_by_their_digest(store: Store, a_graph: Callable[..., GraphRecord]) -> None:
    with store.begin() as uow:
        for number, digest in enumerate("aaba", 1):
            uow.graphs.add(a_graph(f"graph_{number}", digest=digest * 64))
        found = [graph.id for graph in uow.graphs.with_digest("a" * 64, first="graph_2")]
        assert found == ["graph_2", "graph_1", "graph_4"]
        assert [graph.id for graph in uow.graphs.with_digest("b" * 64, first="graph_9")] == ["graph_3"]
