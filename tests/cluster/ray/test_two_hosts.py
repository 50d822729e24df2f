"""Replicas on two hosts, which are network namespaces, when the link between these is cut."""

from typing import Any

import pytest

from tests.app.test_storage import created
from tests.cluster.ranks import MISSING
from tests.support import hosts, ray_cluster
from tests.support.server import StartServer

from .test_fits import HELD, checkpointed, eventually, outcome, reaches
from .test_replicas import expected, groups_of, only_nodes_were_lost, replicated

__all__ = ["expected"]
WHY_NOT = ray_cluster.MISSING or MISSING or hosts.MISSING
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)


def test_a_cut_link_ends_the_attempt_and_the_next_one_has_the_same_bits_on_the_host_that_is_left(
    start_server: StartServer, expected: tuple[Any, bytes]
) -> None:
    with hosts.second_host() as other, ray_cluster.ray_cluster(host=other.here) as cluster:
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
