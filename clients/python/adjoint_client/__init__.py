"""Client of the Adjoint training server: NumPy arrays in and out, for programs with and without asyncio.

    with Client("http://127.0.0.1:8000") as client:
        fit = client.fit(graph, {"x": x, "label": label}, epochs=10)
        fit.wait(progress=True)
        parameters = fit.checkpoint("latest").load()

    with client.session(graph, lr=0.01) as session:
        for x, label in batches:
            print(session.forward_backward(x=x, label=label).loss)
            session.optim_step()

`AsyncClient` has the same methods, to be awaited. `client.call` calls any operation of the server by its name.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adjoint_client._async.checkpoint import AsyncCheckpointHandle
    from adjoint_client._async.client import AsyncClient
    from adjoint_client._async.fit import AsyncFitHandle
    from adjoint_client._async.pipeline import AsyncPipeline
    from adjoint_client._async.session import AsyncSession
    from adjoint_client._async.static_session import AsyncStaticSession
    from adjoint_client._async.sweep import AsyncSweepHandle
    from adjoint_client._sync.checkpoint import CheckpointHandle
    from adjoint_client._sync.client import Client
    from adjoint_client._sync.fit import FitHandle
    from adjoint_client._sync.pipeline import Pipeline
    from adjoint_client._sync.session import Session
    from adjoint_client._sync.static_session import StaticSession
    from adjoint_client._sync.sweep import SweepHandle
    from adjoint_client.archive import Manifest
    from adjoint_client.computed import Computed
    from adjoint_client.errors import (
        AdjointError,
        BackupDamaged,
        DownloadDamaged,
        Finding,
        FitFailed,
        ServerError,
        ServerUnreachable,
    )
    from adjoint_client.events import Event
    from adjoint_client.generated.records import Checkpoint, Dataset, Fit, Graph, GraphSummary, RankedVariant
    from adjoint_client.generated.records import Session as SessionInfo
    from adjoint_client.gradcheck import GradientCheck, GradientChecks
    from adjoint_client.gradients import CapturedGradient
    from adjoint_client.metrics import MetricRow
    from adjoint_client.passes import Backward, Forward, ForwardBackward, OptimizerStep, Tape
    from adjoint_client.progress import Progress
    from adjoint_client.replay import Verdict
    from adjoint_client.rows import Rows
    from adjoint_client.safetensors import Tensors
    from adjoint_client.static_steps import GraphComputed
    from adjoint_client.statistics import ArrayInfo, Statistics
    from adjoint_client.step import Step

__all__ = [
    "AdjointError",
    "ArrayInfo",
    "AsyncCheckpointHandle",
    "AsyncClient",
    "AsyncFitHandle",
    "AsyncPipeline",
    "AsyncSession",
    "AsyncStaticSession",
    "AsyncSweepHandle",
    "BackupDamaged",
    "Backward",
    "CapturedGradient",
    "Checkpoint",
    "CheckpointHandle",
    "Client",
    "Computed",
    "Dataset",
    "DownloadDamaged",
    "Event",
    "Finding",
    "Fit",
    "FitFailed",
    "FitHandle",
    "Forward",
    "ForwardBackward",
    "GradientCheck",
    "GradientChecks",
    "Graph",
    "GraphComputed",
    "GraphSummary",
    "Manifest",
    "MetricRow",
    "OptimizerStep",
    "Pipeline",
    "Progress",
    "RankedVariant",
    "Rows",
    "ServerError",
    "ServerUnreachable",
    "Session",
    "SessionInfo",
    "StaticSession",
    "Statistics",
    "Step",
    "SweepHandle",
    "Tape",
    "Tensors",
    "Verdict",
]

# By module the names above that it has: each is imported when it is first used, so that importing the package, as every
# command line does, loads neither NumPy nor httpx.
_MODULES = {
    "_async.checkpoint": "AsyncCheckpointHandle",
    "_async.client": "AsyncClient",
    "_async.fit": "AsyncFitHandle",
    "_async.pipeline": "AsyncPipeline",
    "_async.session": "AsyncSession",
    "_async.static_session": "AsyncStaticSession",
    "_async.sweep": "AsyncSweepHandle",
    "_sync.checkpoint": "CheckpointHandle",
    "_sync.client": "Client",
    "_sync.fit": "FitHandle",
    "_sync.pipeline": "Pipeline",
    "_sync.session": "Session",
    "_sync.static_session": "StaticSession",
    "_sync.sweep": "SweepHandle",
    "archive": "Manifest",
    "computed": "Computed",
    "errors": "AdjointError BackupDamaged DownloadDamaged Finding FitFailed ServerError ServerUnreachable",
    "events": "Event",
    "generated.records": "Checkpoint Dataset Fit Graph GraphSummary RankedVariant Session=SessionInfo",
    "gradcheck": "GradientCheck GradientChecks",
    "gradients": "CapturedGradient",
    "metrics": "MetricRow",
    "passes": "Backward Forward ForwardBackward OptimizerStep Tape",
    "progress": "Progress",
    "replay": "Verdict",
    "rows": "Rows",
    "safetensors": "Tensors",
    "static_steps": "GraphComputed",
    "statistics": "ArrayInfo Statistics",
    "step": "Step",
}
_PLACES = {
    name.rpartition("=")[2]: (module, name.partition("=")[0])
    for module, names in _MODULES.items()
    for name in names.split()
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, original = _PLACES[name]
    value = getattr(import_module(f"{__name__}.{module}"), original)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
