from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.domain.errors import NotFound
from app.domain.fit import TERMINAL, FitRecord, FitState
from app.domain.records import Column, DatasetRecord
from app.store.pages import PageRequest
from app.store.unit_of_work import Store

ADataset = Callable[..., DatasetRecord]


@pytest.mark.parametrize(
    "column",
    [
        Column("all missing", "float64", (2, 3), "f" * 64, None, None, None, missing=900),
        Column("wide", "uint64", (), "f" * 64, 0, 2**64 - 1, 2.0**63, missing=0),
        Column("unbounded", "float32", (), "f" * 64, float("-inf"), float("inf"), None, missing=1),
    ],
    ids=lambda column: column.name,
)
def test_a_dataset_reads_back_with_its_columns_in_order(store: Store, a_dataset: ADataset, column: Column) -> None:
    dataset = replace(a_dataset(), columns=(column, *a_dataset().columns))
    with store.begin() as uow:
        uow.datasets.add(dataset)
        assert uow.datasets.get("ds_1") == dataset


def test_a_page_of_datasets_holds_the_columns_of_each(store: Store, a_dataset: ADataset) -> None:
    one, two = a_dataset("ds_1"), a_dataset("ds_2", columns=a_dataset().columns[1:])
    with store.begin() as uow:
        uow.datasets.add(one)
        uow.datasets.add(two)
        assert uow.datasets.list(PageRequest(order="asc")).items == (one, two)
        assert uow.datasets.list(PageRequest(limit=1)).items == (two,)


@pytest.mark.parametrize(
    "request_",
    [
        {"dataset": "ds_1"},
        {"dataset": ["ds_3", "ds_1"]},
        {"dataset": "ds_3", "validation": {"dataset": "ds_1"}},
        {"dataset": "ds_3", "validation": {"dataset": ["ds_4", "ds_1"]}},
    ],
)
@pytest.mark.parametrize("state", FitState)
def test_a_dataset_is_in_use_while_a_fit_with_it_is_not_terminal(
    state: FitState, request_: dict[str, Any], store: Store, a_dataset: ADataset, a_fit: Callable[..., FitRecord]
) -> None:
    with store.begin() as uow:
        uow.datasets.add(a_dataset())
        assert not uow.datasets.in_use("ds_1")
        uow.fits.add(a_fit(state=state, request=request_))
        uow.fits.add(a_fit("fit_2", request={"dataset": "ds_5", "validation": None}))
        assert uow.datasets.in_use("ds_1") == (state not in TERMINAL)
        uow.datasets.add(a_dataset("ds_2"))
        assert not uow.datasets.in_use("ds_2")


def test_a_deleted_dataset_is_not_found_and_its_columns_are_gone(store: Store, a_dataset: ADataset) -> None:
    with store.begin() as uow:
        uow.datasets.add(a_dataset())
        uow.datasets.delete("ds_1")
        assert uow.blob_references.all() == frozenset()
        for call in (uow.datasets.get, uow.datasets.delete):
            with pytest.raises(NotFound, match="ds_1"):
                call("ds_1")


def test_datasets_are_found_by_the_content_of_a_column(store: Store, a_dataset: ADataset) -> None:
    x, y = a_dataset().columns
    with store.begin() as uow:
        uow.datasets.add(a_dataset("ds_1"))
        uow.datasets.add(a_dataset("ds_2", columns=(x, replace(x, name="twice"))))
        uow.datasets.add(a_dataset("ds_3", columns=(y,)))
        assert uow.datasets.with_column(x.blob) == ("ds_1", "ds_2")
        assert uow.datasets.with_column(y.blob) == ("ds_1", "ds_3")
        assert uow.datasets.with_column("f" * 64) == ()
