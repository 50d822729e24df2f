"""Fits as Prometheus sees them: counted whenever it asks."""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.service.retention import Retention
from app.service.system import System


class FitMetrics(Collector):
    """How many fits are in each state, and how many were deleted by retention."""

    def __init__(self, system: System, retention: Retention) -> None:
        """Ask `system` and `retention`."""
        self._system = system
        self._retention = retention

    def describe(self) -> Iterator[Metric]:
        """Name the metrics without counting anything."""
        yield GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])
        yield CounterMetricFamily("adjoint_fits_deleted", "Fits that retention deleted.")

    def collect(self) -> Iterator[Metric]:
        """Count."""
        fits = GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])
        for state, count in self._system.counts().items():
            fits.add_metric([state], count)
        yield fits
        yield CounterMetricFamily("adjoint_fits_deleted", "Fits that retention deleted.", self._retention.deleted)
