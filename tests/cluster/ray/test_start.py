"""Clusters that cannot be used: the server ends with status 2 and one line that says what to change."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.runner.cluster.code_identity import NAMES
from tests.support import ray_cluster
from tests.support.ray_cluster import RayCluster
from tests.support.server import run_command

pytestmark = pytest.mark.skipif(bool(ray_cluster.MISSING), reason=ray_cluster.MISSING)


def refusal(tmp_path: Path, environment: Mapping[str, str]) -> str:
    """Start a server that is refused, and return why."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ADJOINT_", "RAY_"))}
    own = {"ADJOINT_DATA_DIR": str(tmp_path / "data"), "ADJOINT_PORT": "0"}
    status, output, errors = run_command(["serve"], {**inherited, **own, **environment})
    assert (status, output, errors.count("\n")) == (2, "", 1), errors
    return errors


def test_a_head_that_does_not_answer_is_named(cluster: RayCluster, tmp_path: Path) -> None:
    said = refusal(tmp_path, {**cluster.environment, "ADJOINT_RAY_ADDRESS": "127.0.0.1:1"})
    assert "no Ray head can be reached at 127.0.0.1:1" in said
    assert "ADJOINT_RAY_ADDRESS" in said


def test_a_cluster_without_a_token_is_refused(cluster: RayCluster, tmp_path: Path) -> None:
    open_to_all = {name: value for name, value in cluster.environment.items() if not name.startswith("RAY_AUTH")}
    assert "set RAY_AUTH_MODE=token" in refusal(tmp_path, open_to_all)


def test_a_wrong_token_is_named_and_not_shown(cluster: RayCluster, tmp_path: Path) -> None:
    wrong = tmp_path / "token"
    wrong.write_text("0123456789abcdef0123456789abcdef")
    said = refusal(tmp_path, {**cluster.environment, "RAY_AUTH_TOKEN_PATH": str(wrong)})
    assert "refuses the token" in said
    assert wrong.read_text() not in said
    assert cluster.token.read_text() not in said


@pytest.mark.rare  # it takes a cluster of its own
def test_a_head_with_another_version_of_ray_is_named(tmp_path: Path) -> None:
    with ray_cluster.ray_cluster({ray_cluster.VERSIONS: json.dumps({"ray": "2.59.1"})}) as other:
        refused = refusal(tmp_path, other.environment)
    assert f"the Ray cluster at {other.address} has other versions than the server: " in refused
    assert "2.59.1" in refused


def test_a_node_with_other_versions_is_named(cluster: RayCluster, tmp_path: Path) -> None:
    versions = {"python": "3.10.2", "numba": "none", "ray": "2.59.1", "code": "0123456789abcdef"}
    group = cluster.add_node(versions=versions)
    try:
        refused = refusal(tmp_path, cluster.environment)
    finally:
        cluster.stop_node(group)
    assert re.search(r"the Ray node [\d.]+ differs from the server: ", refused)
    for name, version in versions.items():
        assert f"{NAMES[name]} {version} (the server has " in refused
    assert refused.endswith("; install the same there\n")
