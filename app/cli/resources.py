"""What the commands of a resource differ in: a row of `RESOURCES` for each of fits, datasets, graphs ..."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from adjoint_client import Client
from app.cli.terminal.table import Column, Document
from app.cli.terminal.values import NONE, age, duration, labels, number, size

Filters = Mapping[str, str]

PAGE = 1000
"""The most that the server lists at a time."""

SHORTEST = 8
"""Characters that a column of texts is shortened to at most, where the terminal is narrow."""


@dataclass(frozen=True, slots=True)
class Filter:
    """An option of the list: `--state STATE`."""

    name: str
    metavar: str
    help: str

    @property
    def parameter(self) -> str:
        """The query parameter that it is for."""
        return self.name.replace("-", "_")


@dataclass(frozen=True, slots=True)
class Resource:
    """What is listed, shown and deleted under one name, by operations of the HTTP interface.

    `list_operation` and `delete_operation` are named where they are not called after the resource; `delete_help` says
    what is deleted.
    """

    name: str
    singular: str
    prefix: str
    columns: tuple[Column, ...]
    delete_help: str
    filters: tuple[Filter, ...] = ()
    delete_operation: str = ""
    list_operation: str = ""

    def list(self, client: Client, filters: Filters, page: int = PAGE) -> Iterator[Document]:
        """Yield documents, the newest first; `filters` are by the names of `self.filters`, `page` is how many are asked
        for at a time.
        """
        return _pages(client, self.list_operation or f"list_{self.name}", page, filters)

    def get(self, client: Client, identifier: str) -> Document:
        """Return one document."""
        document: Document = client.call(f"get_{self.singular}", **{f"{self.singular}_id": identifier})
        return document

    def delete(self, client: Client, identifier: str) -> None:
        """Delete one."""
        operation = self.delete_operation or f"delete_{self.singular}"
        client.call(operation, **{f"{self.singular}_id": identifier})


def _text(key: str) -> Callable[[Document], str]:
    return lambda row: NONE if row.get(key) is None else str(row[key])


def _id(row: Document) -> str:
    return str(row["id"])


def _progress(fit: Document) -> str:
    return f"{fit['step']}/{fit['total_steps']}"


def _metric(row: Document, place: str, name: str) -> str:
    value = (row.get(place) or {}).get(name)
    return number(value) if isinstance(value, int | float) else NONE


def _kind(fit: Document) -> str:
    """What is special about a fit: its sweep, its place in one, or that it repeats another."""
    if fit.get("sweep"):
        return f"{fit['sweep']['kind']} of {fit['sweep']['variants']}"
    if fit.get("variant"):
        return "variant"
    return "replay" if fit.get("replay") else NONE


def _column(column: Document) -> str:
    return f"{column['name']}:{column['dtype']}" + (str(column["shape"]).replace(" ", "") if column["shape"] else "")


def _marks(checkpoint: Document) -> str:
    return ",".join(mark for mark in ("pinned", "corrupt", "is_best") if checkpoint[mark]).replace("is_", "") or NONE


ID = Column("ID", _id)
STATE = Column("STATE", _text("state"))
NAME = Column("NAME", _text("name"), shrinks_to=SHORTEST)
OPTIONAL_NAME = Column("NAME", _text("name"), shrinks_to=SHORTEST, optional=True)
LABELS = Column("LABELS", lambda row: labels(row["labels"]), shrinks_to=SHORTEST, optional=True)
SIZE = Column("SIZE", lambda row: size(row["size_bytes"]), right=True)
BY_STATE = Filter("state", "STATE", "Only those in this state.")
BY_LABEL = Filter("label", "KEY:VALUE", "Only those with this label.")
BY_NAME = (
    Filter("name", "NAME", "Only those with this exact name."),
    Filter("name-prefix", "PREFIX", "Only those whose names begin so."),
)
BY_AGE = (
    Filter("created-after", "TIME", "Only those created later: 2026-01-31, or 2026-01-31T12:00:00Z."),
    Filter("created-before", "TIME", "Only those created earlier."),
)
DIRECTION = Filter("order", "asc|desc", "desc, the default: the newest or highest first.")
AGE = Column("AGE", lambda row: age(row["created_at"]), right=True)


def _order(orders: str) -> Filter:
    return Filter("order-by", "FIELD", f"What to order by: created_at (the default), {orders}.")


def _pages(client: Client, operation: str, page: int, parameters: Mapping[str, str]) -> Iterator[Document]:
    """Go through all entries of a list, which are fetched as needed."""
    cursor: dict[str, str] = {}
    while True:
        answer = client.call(operation, limit=min(page, PAGE), **parameters, **cursor)
        yield from answer["data"]
        if not answer["has_more"]:
            return
        cursor = {"cursor": answer["next_cursor"]}


FITS = Resource(
    name="fits",
    singular="fit",
    prefix="fit_",
    columns=(
        ID,
        OPTIONAL_NAME,
        STATE,
        Column("STEP", _progress, right=True),
        Column("LOSS", lambda row: _metric(row, "latest", "loss"), right=True),
        Column("LEFT", lambda row: duration(row["eta_seconds"]), right=True, optional=True),
        Column("KIND", _kind, shrinks_to=SHORTEST, optional=True),
        LABELS,
        AGE,
    ),
    filters=(
        BY_STATE,
        BY_LABEL,
        *BY_NAME,
        *BY_AGE,
        _order("name, step, finished_at"),
        DIRECTION,
        Filter("parent", "FIT", "Only the variants of this sweep."),
        Filter("origin", "FIT", "Only fits that were started from a checkpoint of this one."),
    ),
    delete_help="Delete fits that have ended, with their metrics and checkpoints.",
)
DATASETS = Resource(
    name="datasets",
    singular="dataset",
    prefix="ds_",
    columns=(
        ID,
        NAME,
        Column("FORMAT", _text("format"), optional=True),
        Column("ROWS", _text("rows"), right=True),
        Column("COLUMNS", lambda row: ",".join(map(_column, row["columns"])), shrinks_to=SHORTEST, optional=True),
        SIZE,
        AGE,
    ),
    filters=(*BY_NAME, *BY_AGE, _order("name, rows, size_bytes"), DIRECTION),
    delete_help="Delete datasets that no fit and no session uses.",
)
GRAPHS = Resource(
    name="graphs",
    singular="graph",
    prefix="graph_",
    columns=(ID, NAME, Column("PARAMETERS", _text("parameter_count"), right=True), AGE),
    filters=(*BY_NAME, *BY_AGE, _order("name"), DIRECTION),
    delete_help="Delete graphs that no fit, no session and no checkpoint uses.",
)
CHECKPOINTS = Resource(
    name="checkpoints",
    singular="checkpoint",
    prefix="ckpt_",
    columns=(
        ID,
        Column("FIT", _text("fit")),
        Column("STEP", _text("step"), right=True),
        Column("LOSS", lambda row: _metric(row, "metrics", "loss"), right=True, optional=True),
        Column("VAL_LOSS", lambda row: _metric(row, "metrics", "val_loss"), right=True, optional=True),
        Column("MARKS", _marks, optional=True),
        SIZE,
        AGE,
    ),
    filters=(
        Filter("fit", "FIT", "Only those of this fit."),
        Filter("session", "SESSION", "Only those of this session."),
        Filter("graph", "GRAPH", "Only those of this graph."),
        *BY_AGE,
        _order("step, size_bytes"),
        DIRECTION,
    ),
    delete_help="Delete checkpoints.",
    list_operation="list_all_checkpoints",
)
SESSIONS = Resource(
    name="sessions",
    singular="session",
    prefix="sess_",
    columns=(
        ID,
        OPTIONAL_NAME,
        STATE,
        Column("KIND", _text("kind")),
        Column("STEP", _text("step"), right=True),
        LABELS,
        Column("USED", lambda row: age(row["used_at"]), right=True),
        AGE,
    ),
    filters=(BY_STATE, BY_LABEL, *BY_NAME, *BY_AGE, _order("name, used_at"), DIRECTION),
    delete_help="Close sessions and delete what they hold; checkpoints that were saved stay.",
    delete_operation="close_session",
)
RESOURCES = (FITS, DATASETS, GRAPHS, CHECKPOINTS, SESSIONS)
