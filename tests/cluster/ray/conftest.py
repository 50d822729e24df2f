"""A Ray cluster for all tests of this folder, and servers that run fits on it."""

from collections.abc import Iterator

import pytest

from tests.support import ray_cluster
from tests.support.ray_cluster import RayCluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[RayCluster]:
    """Run one cluster for all tests, with a head and one node that runs fits."""
    if ray_cluster.MISSING:
        pytest.skip(ray_cluster.MISSING)
    with ray_cluster.ray_cluster() as running:
        running.add_node()
        yield running
