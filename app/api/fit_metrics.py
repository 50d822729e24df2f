"""Fits and damaged files as Prometheus sees them: counted whenever it asks."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.service.admin.quarantine import Quarantine
from app.service.admin.system import System
from app.service.fits.retention import Retention
from app.service.resources.blobs import Integrity

DAMAGED = "Stored files that are known to be missing or damaged."
FOUND = "Stored files that were found to be missing or damaged."
QUARANTINED = "Bytes of stored files that nothing refers to, until they are deleted."


class FitMetrics(Collector):
    """How many fits are in each state, how many were deleted by retention, and how many stored files are damaged."""

    def __init__(self, system: System, retention: Retention, integrity: Integrity, quarantine: Quarantine) -> None:
        """Ask these parts."""
        self._system = system
        self._retention = retention
        self._integrity = integrity
        self._quarantine = quarantine

    def describe(self) -> Iterator[Metric]:
        """Name the metrics without counting anything."""
        yield GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])
        yield CounterMetricFamily("adjoint_fits_deleted", "Fits that retention deleted.")
        yield GaugeMetricFamily("adjoint_damaged_blobs", DAMAGED)
        yield CounterMetricFamily("adjoint_damaged_blobs_found", FOUND)
        yield GaugeMetricFamily("adjoint_quarantine_bytes", QUARANTINED)

    def collect(self) -> Iterator[Metric]:
        """Count."""
        fits = GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])
        for state, count in self._system.counts().items():
            fits.add_metric([state], count)
        yield fits
        yield CounterMetricFamily("adjoint_fits_deleted", "Fits that retention deleted.", self._retention.deleted)
        yield GaugeMetricFamily("adjoint_damaged_blobs", DAMAGED, self._integrity.marked())
        yield CounterMetricFamily("adjoint_damaged_blobs_found", FOUND, self._integrity.found)
        yield GaugeMetricFamily("adjoint_quarantine_bytes", QUARANTINED, self._quarantine.size()[1])
