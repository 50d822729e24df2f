"""Fits as Prometheus sees them: counted in the database whenever it asks."""

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.service.system import System


class FitMetrics(Collector):
    """How many fits are in each state, and how many workers are busy."""

    def __init__(self, system: System) -> None:
        """Ask `system`."""
        self._system = system

    def describe(self) -> Iterator[Metric]:
        """Name the metrics without counting anything."""
        yield GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])

    def collect(self) -> Iterator[Metric]:
        """Count."""
        fits = GaugeMetricFamily("adjoint_fits", "Fits by state.", labels=["state"])
        for state, count in self._system.counts().items():
            fits.add_metric([state], count)
        yield fits
