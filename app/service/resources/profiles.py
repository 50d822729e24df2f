"""Profiles of datasets, and what they find that deserves a look before training."""

import tempfile
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.domain.column_labels import column_identifier, label_fault
from app.domain.documents import nearest
from app.domain.errors import Finding, storage_faults
from app.domain.records import DatasetRecord
from app.ingest.exchange import ChildError
from app.ingest.limits import IngestError, domain_error
from app.ingest.profile import ProfiledColumn
from app.service.resources.blobs import Integrity
from app.service.resources.datasets import Ingestion
from app.service.resources.engine_documents import invalid
from app.store.unit_of_work import Store

KEPT = 64
"""Profiles that are kept in memory. A dataset does not change, so neither does its profile."""

ONE_CLASS = 0.9
RARE = 0.02
ENOUGH_ROWS = 20
"""Number of rows below which different values in all of them are no sign of an identifier."""
DETERMINED = 0.999
SCALES = 1000.0
LISTED = 5


@dataclass(frozen=True, slots=True)
class ProfileFinding:
    """What deserves a look: the column that it is about, if it is one."""

    code: str
    column: str | None
    detail: str


@dataclass(frozen=True, slots=True)
class Profile:
    """A dataset, what was computed of its rows (see `app.ingest.profile`), and what was found."""

    dataset: DatasetRecord
    computed: Mapping[str, Any]
    findings: tuple[ProfileFinding, ...]


class Profiles:
    """Computes profiles in limited processes, and keeps the latest."""

    def __init__(self, store: Store, integrity: Integrity, ingestion: Ingestion) -> None:
        """Read the columns by `integrity`, in processes of `ingestion`."""
        self._store = store
        self._integrity = integrity
        self._ingestion = ingestion
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str | None], Mapping[str, Any]] = OrderedDict()

    def get(self, dataset_id: str, target: str | None) -> Profile:
        """Return the profile of a dataset.

        NotFound if there is no such dataset, Invalid if it has no column `target`, Corrupt if a column is damaged.
        """
        with self._store.read() as work:
            dataset = work.datasets.get(dataset_id)
        names = [column.name for column in dataset.columns]
        if target is not None and label_fault(target) is None:
            target = column_identifier(target)
        if target is not None and target not in names:
            detail = f"query parameter: there is no column {target[:64]!r}{nearest(target, names)}"
            raise invalid([Finding("/target", "unknown_column", detail)])
        computed = self._find(dataset, target)
        return Profile(dataset, computed, tuple(_findings(dataset, computed)))

    def _find(self, dataset: DatasetRecord, target: str | None) -> Mapping[str, Any]:
        key = (dataset.id, target)
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        computed = self._compute(dataset, target)
        with self._lock:
            self._kept[key] = computed
            if len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return computed

    def _compute(self, dataset: DatasetRecord, target: str | None) -> Mapping[str, Any]:
        columns = [
            ProfiledColumn(
                column.name, str(self._integrity.column(dataset, column.name).absolute()), column.shape, column.classes
            )
            for column in dataset.columns
        ]
        with storage_faults("the profile of this dataset"):
            folder = tempfile.TemporaryDirectory(dir=self._ingestion.scratch)
        with folder as name:
            try:
                return self._ingestion.profile(columns, target, Path(name))
            except ChildError as error:
                detail = "the rows could not be profiled within the limits of this server; choose fewer columns"
                raise domain_error(IngestError("unreadable", "", detail)) from error


def _findings(dataset: DatasetRecord, computed: Mapping[str, Any]) -> Iterator[ProfileFinding]:
    rows, target = computed["rows_read"], computed["target"]
    for column, stored in zip(computed["columns"], dataset.columns, strict=False):
        yield from _of_column(column, stored.missing, dataset.rows, rows, target)
    yield from _of_scales(computed["columns"])
    if target is not None:
        yield from _of_target(target, rows)
    if computed["duplicates"]:
        share = _percent(computed["duplicates"] / rows)
        detail = f"{computed['duplicates']} rows ({share}) repeat another one: a random split has them in both parts"
        yield ProfileFinding("duplicate_rows", None, detail)


def _of_column(
    column: Mapping[str, Any], missing: int, all_rows: int, rows: int, target: Mapping[str, Any] | None
) -> Iterator[ProfileFinding]:
    name = column["name"]
    is_target = target is not None and target["column"] == name
    if missing:
        share = f" ({_percent(missing / all_rows)} of the rows)" if missing <= all_rows else ""
        detail = f"{missing} values are missing{share}: impute them, or leave the rows out"
        yield ProfileFinding("missing_values", name, detail)
    if column["constant"]:
        detail = "the column has the same value in every row: nothing can be learned from it; leave it out"
        yield ProfileFinding("constant_column", name, detail)
    elif column["unique"] and rows >= ENOUGH_ROWS and (column["whole"] or column["kind"] == "text") and not is_target:
        detail = "the column is unique in every row: as an identifier, it can only be memorized; leave it out"
        yield ProfileFinding("unique_column", name, detail)
    correlation = column["correlation"]
    if correlation is not None and abs(correlation["value"]) >= DETERMINED and not column["unique"]:
        detail = f"the column determines the target ({correlation['measure']} {correlation['value']:.4g}): check that "
        yield ProfileFinding("target_leak", name, detail + "it is known when predictions are made")


def _of_target(target: Mapping[str, Any], rows: int) -> Iterator[ProfileFinding]:
    name, classes = target["column"], target["classes"]
    known = max(1, rows - target["missing"])
    if target["missing"]:
        detail = f"the target is missing in {target['missing']} rows: leave these rows out"
        yield ProfileFinding("missing_target", name, detail)
    if classes and classes[0]["count"] >= ONE_CLASS * known and len(classes) > 1:
        share = _percent(classes[0]["count"] / known)
        detail = f"the target is {share} one class, {classes[0]['value'][:64]!r}: weigh the classes (class_weights), "
        yield ProfileFinding("imbalanced_target", name, detail + "and look at scores beside the accuracy")
    rare = [each for each in classes if each["count"] < RARE * known]
    if rare and len(classes) < len(rare) + LISTED * 10:
        shown = ", ".join(f"{each['value'][:64]!r} in {each['count']} rows" for each in rare[:LISTED])
        yield ProfileFinding("rare_classes", name, f"rare classes: {shown}; split by class (stratify)")


def _of_scales(columns: list[Mapping[str, Any]]) -> Iterator[ProfileFinding]:
    spans = {
        column["name"]: column["quantiles"][-1]["value"] - column["quantiles"][0]["value"]
        for column in columns
        if column["kind"] == "number" and not column["whole"] and not column["constant"]
    }
    least = min(spans.values(), default=0)
    for name, span in spans.items():
        if least > 0 and span > SCALES * least:
            detail = f"the column spans {span:.4g}, and another one {least:.4g}: normalize them"
            yield ProfileFinding("different_scales", name, detail)


def _percent(share: float) -> str:
    return f"{100 * share:.{1 if share < 0.1 else 0}f} %"
