"""Two hosts, which are network namespaces: a host without a node, and replicas when the link between both is cut."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.app.test_storage import created
from tests.cluster.ranks import MISSING
from tests.support import hosts, ray_cluster
from tests.support.hosts import SecondHost
from tests.support.ray_cluster import RayCluster
from tests.support.server import StartServer

from .test_fits import HELD, checkpointed, eventually, outcome, reaches
from .test_replicas import expected, groups_of, only_nodes_were_lost, replicated
from .test_start import refusal

__all__ = ["expected"]
WHY_NOT = ray_cluster.MISSING or MISSING or hosts.MISSING
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


@pytest.fixture(scope="module")
def two_hosts() -> Iterator[tuple[SecondHost, RayCluster]]:
    """Run a cluster on this host, which a second one has no node of."""
    with hosts.second_host() as other, ray_cluster.ray_cluster(host=other.here) as cluster:
        yield other, cluster


def test_a_server_without_a_ray_node_at_its_address_is_refused(
    two_hosts: tuple[SecondHost, RayCluster], tmp_path: Path
) -> None:
    other, cluster = two_hosts
    seconds = {"RAY_gcs_server_request_timeout_seconds": "5"}  # for so long Ray waits for the node, else a minute
    refused = refusal(tmp_path, {**cluster.environment, **seconds, "ADJOINT_RAY_NODE_ADDRESS": other.there})
    assert "there is no Ray node on the server's machine: start one with `ray start " in refused
    assert "ADJOINT_RAY_NODE_ADDRESS" in refused


def test_a_cut_link_ends_the_attempt_and_the_next_one_has_the_same_bits_on_the_host_that_is_left(
    two_hosts: tuple[SecondHost, RayCluster], start_server: StartServer, expected: tuple[Any, bytes]
) -> None:
    other, cluster = two_hosts
    cluster.add_node(cpus=2)
    there = cluster.add_node(cpus=1, host=other)
    http = start_server(environment=cluster.environment, lease_seconds=5).http
    with cluster.gate.holding(HELD):
        fit_id = created(http.post("/v1/fits", json=replicated("spread")))["id"]
        reaches(http, fit_id, HELD)
        checkpointed(http, fit_id)
        assert there in groups_of(cluster)
        other.cut()
        eventually("no further attempt", lambda: http.get(f"/v1/fits/{fit_id}").json()["attempt"] > 1)
    assert outcome(http, fit_id) == expected
    only_nodes_were_lost(http, fit_id)
