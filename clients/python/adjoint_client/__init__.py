"""Client of the Adjoint training server: NumPy arrays in and out, for programs with and without asyncio.

    with Client("http://127.0.0.1:8000") as client:
        fit = client.fit(graph, {"x": x, "label": label}, epochs=10)
        fit.wait(progress=True)
        parameters = fit.checkpoint("latest").load()

`AsyncClient` has the same methods, to be awaited. `adjoint_client.generated` has every route of the server.
"""

from adjoint_client._async.checkpoint import AsyncCheckpointHandle
from adjoint_client._async.client import AsyncClient
from adjoint_client._async.fit import AsyncFitHandle
from adjoint_client._async.sweep import AsyncSweepHandle
from adjoint_client._sync.checkpoint import CheckpointHandle
from adjoint_client._sync.client import Client
from adjoint_client._sync.fit import FitHandle
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
from adjoint_client.generated.models import Checkpoint, Dataset, Fit, Graph, RankedVariant
from adjoint_client.gradcheck import GradientCheck, GradientChecks
from adjoint_client.gradients import CapturedGradient
from adjoint_client.metrics import MetricRow
from adjoint_client.progress import Progress
from adjoint_client.replay import Verdict
from adjoint_client.safetensors import Tensors

__all__ = [
    "AdjointError",
    "AsyncCheckpointHandle",
    "AsyncClient",
    "AsyncFitHandle",
    "AsyncSweepHandle",
    "BackupDamaged",
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
    "GradientCheck",
    "GradientChecks",
    "Graph",
    "Manifest",
    "MetricRow",
    "Progress",
    "RankedVariant",
    "ServerError",
    "ServerUnreachable",
    "SweepHandle",
    "Tensors",
    "Verdict",
]
