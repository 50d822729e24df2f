"""Orders to a compute process about the rows of files: predictions and evaluations, as JSON."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

from app.domain.errors import Finding, Invalid


@dataclass(frozen=True, slots=True)
class RowFiles:
    """Rows, as the `.npy` files of their columns.

    Attributes:
        columns: local paths of the files of each column that is read; the rows of several are joined.
        recodings: of a text column whose files are numbered otherwise than the model, a table for each file, None for
            one that needs none.
        texts: what the codes of raw text columns stand for, where the model preprocesses them.
        feeds: the column of each input that takes one as it is.
        windows: the windows of which examples consist, as in a fit request; None if an example is a row.
        start: the first example.
        stop: the example after the last one; None for all.
    """

    columns: dict[str, list[str]]
    recodings: dict[str, list[list[int] | None]] = field(default_factory=dict)
    texts: dict[str, list[str]] = field(default_factory=dict)
    feeds: dict[str, str] = field(default_factory=dict)
    windows: dict[str, Any] | None = None
    start: int = 0
    stop: int | None = None

    def chosen(self, count: int) -> range:
        """Return the chosen ones of `count` examples; Invalid if there are none, or fewer."""
        stop = count if self.stop is None else self.stop
        if stop > count or not 0 <= self.start < stop:
            detail = f"there are {count} rows, numbered from 0; start must be below stop, and stop {count} at most"
            raise Invalid(detail, code="out_of_range", findings=[Finding("/rows", "out_of_range", detail)])
        return range(self.start, stop)


@dataclass(frozen=True, slots=True)
class TablePrediction:
    """Predictions for rows.

    Attributes:
        files: the rows.
        head: fields of the response beside the rows.
        id_column: the column that identifies rows in the response; None numbers them.
        id_label: what the response calls that column; None stands for its name.
        id_names: the texts that its numbers stand for; None if they are numbers.
        probabilities: whether the probability of each class is wanted.
        top_k: how many of the most probable classes are wanted.
        raw: whether the values of outputs that predict classes are wanted too.
        threshold: above which probability a binary prediction is 1.
    """

    files: RowFiles
    head: dict[str, Any] = field(default_factory=dict)
    id_column: str | None = None
    id_label: str | None = None
    id_names: list[str] | None = None
    probabilities: bool = False
    top_k: int = 0
    raw: bool = False
    threshold: float = 0.5

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        return cls(**{**document, "files": RowFiles(**document["files"])})


@dataclass(frozen=True, slots=True)
class TableEvaluation:
    """An evaluation on rows.

    Attributes:
        files: the rows.
        model: the path of the checkpoint, its graph, and the metadata that replace those in the file.
        recipe: what the engine reads as a recipe: metrics and batch size.
        head: fields of the response beside the results.
        threshold: above which probability a binary prediction is 1.
        bins: bins of the calibration.
        points: points of a ROC curve, at most.
    """

    files: RowFiles
    model: dict[str, Any]
    recipe: dict[str, Any] = field(default_factory=dict)
    head: dict[str, Any] = field(default_factory=dict)
    threshold: float = 0.5
    bins: int = 10
    points: int = 200

    def to_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {"files": asdict(self.files)}

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` returned."""
        return cls(**{**document, "files": RowFiles(**document["files"])})
