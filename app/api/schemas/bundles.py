"""Bundles and replays on the wire.

Every field of a bundle is there, so that one shape describes what is sent and what comes back.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.fit_options import CLASSES_MAX, SHARDS_MAX
from app.api.schemas.fit_request import FitRequest
from app.api.schemas.graphs import GraphDefinition
from app.api.schemas.values import LABELS_MAX, DescribedBy, Labels, RequestShape, ResourceShape
from app.domain.runtime import Replay

NAME_MAX = 1024
COLUMNS_MAX = 10_000
ATTEMPTS_MAX = 10_000
RANK_MAX = 64
INTEGER_MAX = 2**63 - 1

Text = Annotated[str, Field(max_length=NAME_MAX)]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", description="SHA-256 in hexadecimal digits.")]
Count = Annotated[int, Field(ge=0, le=INTEGER_MAX)]


class BundleFit(RequestShape):
    """The fit that the bundle describes."""

    id: Text
    labels: Labels
    created_at: Text
    started_at: Text | None
    finished_at: Text | None


class BundleServer(RequestShape):
    """The server that wrote the bundle."""

    version: Text
    python: Text
    numpy: Text


class BundleGraph(RequestShape):
    """The graph with its definition."""

    id: Text
    name: Text
    digest: Digest
    definition: Annotated[dict[str, Any], DescribedBy(GraphDefinition)]


class BundleColumn(RequestShape):
    """A column of a dataset; shape does not include the rows, digest is that of its .npy file."""

    name: Text
    dtype: Text
    shape: Annotated[list[Count], Field(max_length=RANK_MAX)] = Field(
        description="Elements along each axis but that of the rows, each at least 0."
    )
    digest: Digest
    classes: Annotated[list[Text], Field(max_length=CLASSES_MAX)] | None = Field(
        default=None,
        description=(
            "The class names of a text column, in the order of their numbers; default null, for a column of numbers."
        ),
    )


class BundleDataset(RequestShape):
    """A dataset by its digests; the rows are not in the bundle."""

    id: Text
    name: Text
    digest: Digest
    rows: Count
    columns: Annotated[list[BundleColumn], Field(max_length=COLUMNS_MAX)]


class BundleRuntime(RequestShape):
    """Executor, threads and numerics of the fit."""

    executor: Text
    threads: Annotated[int, Field(ge=1)]
    fingerprint: Annotated[dict[Text, Text], Field(max_length=LABELS_MAX)] = Field(
        description="Versions and CPU features that the exact results depend on."
    )


class BundleState(RequestShape):
    """The content of a checkpoint, a digest each over names, types, shapes and bytes."""

    parameters: Digest
    buffers: Digest
    optimizer: Digest


class BundleOrigin(RequestShape):
    """The checkpoint that the fit was forked from."""

    checkpoint: Text
    fit: Text | None
    step: Count
    digest: Digest
    restore: Literal["all", "parameters"]
    state: BundleState | None = Field(description="Null if the checkpoint has been deleted.")


class BundleAttempt(RequestShape):
    """A process of the fit, and how it ended."""

    number: Count = Field(description="Number of the attempt, from 1.")
    outcome: Text | None


class BundleMetrics(RequestShape):
    """The number of metric rows, and the digest of the rows as lines of JSON."""

    rows: Count
    digest: Digest


class BundleCheckpoint(RequestShape):
    """The last checkpoint; its file may differ in fields that are not compared, such as times."""

    id: Text
    digest: Digest


class BundleResult(BundleState):
    """The result of the fit; its digests are those of its last checkpoint."""

    state: Literal["succeeded"]
    stop_reason: Text | None
    total_steps: Count
    epoch: Count
    steps: Count
    metrics: BundleMetrics
    checkpoint: BundleCheckpoint


class Bundle(RequestShape):
    """Everything that determines the result of a fit, and digests of that result.

    The order of names within graph and request counts: metric rows, and sums over parameters, go by it.
    """

    object: Literal["bundle"]
    format: Literal["adjoint-bundle/1"]
    fit: BundleFit
    server: BundleServer
    graph: BundleGraph
    datasets: Annotated[list[BundleDataset], Field(min_length=1, max_length=SHARDS_MAX)]
    validation_datasets: Annotated[list[BundleDataset], Field(max_length=SHARDS_MAX)]
    request: Annotated[dict[str, Any], DescribedBy(FitRequest)] = Field(description="With ids, for reference.")
    seed: Count
    runtime: BundleRuntime | None
    bit_exact: bool = Field(description="False if the fit was resumed with different numerics (see `fingerprint`).")
    reopened_at: Count | None = Field(
        description="Step at which the fit was last reopened or changed; null if it was not."
    )
    origin: BundleOrigin | None
    attempts: Annotated[list[BundleAttempt], Field(max_length=ATTEMPTS_MAX)]
    result: BundleResult


class ReplayResources(RequestShape):
    """Resources of a replay; executor and threads are those of the original fit."""

    priority: Literal["low", "normal", "high"] | None = Field(default=None, description='Default "normal".')


class ReplayRequest(RequestShape):
    """A fit to run again: one of this server, or a bundle of any."""

    fit: Text | None = Field(
        default=None, description="Id of a fit that has succeeded. Required unless bundle is given."
    )
    bundle: Annotated[dict[str, Any], DescribedBy(Bundle)] | None = Field(
        default=None,
        description="A bundle, as `GET /v1/fits/{fit_id}/bundle` returns it. Required unless fit is given.",
    )
    labels: Labels | None = Field(
        default=None, description="Labels of the new fit, up to 64 keys with values; default none."
    )
    resources: ReplayResources | None = Field(
        default=None, description="Resources of the new fit; by default normal priority."
    )

    @model_validator(mode="after")
    def _of_one(self) -> "ReplayRequest":
        if (self.fit is None) == (self.bundle is None):
            raise PydanticCustomError("conflict", "give either fit or bundle")
        return self


class ReplayVerdict(ResourceShape):
    """Whether the results are equal bit for bit."""

    bit_exact: bool
    differences: list[str] = Field(description="Which of steps, metrics, parameters, buffers and optimizer differ.")
    first_row: int | None = Field(
        description="The `seq` of the first metric row that differs, if the original fit is on this server."
    )


class FitReplay(ResourceShape):
    """The fit that this one replays."""

    of: str
    same_numerics: bool = Field(description="Whether equal bits can be expected.")
    numerics_differences: list[str] = Field(description="Entries of the fingerprint that differ on this server.")
    expected: dict[str, Any] = Field(description="The expected result, as in the bundle, and its fingerprint.")
    verdict: ReplayVerdict | None = Field(description="Null until this fit has succeeded.")

    @classmethod
    def show(cls, replay: Replay) -> Self:
        """Build from what the record of a fit holds."""
        return cls.from_record(replay, same_numerics=not replay.numerics, numerics_differences=replay.numerics)
