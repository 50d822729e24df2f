"""Several servers in containers, and the Helm chart: their parts fit together. `make lint` checks their schemas."""

import copy
import ipaddress
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.settings import Settings

ROOT = Path(__file__).parents[2]
COMPOSE = yaml.safe_load((ROOT / "deploy" / "compose.cluster.yml").read_text("utf-8"))
SERVICES = COMPOSE["services"]
SERVERS = [SERVICES["server-1"], SERVICES["server-2"]]
NODES = [SERVICES["ray-head"], SERVICES["ray-node-1"], SERVICES["ray-node-2"]]
CHART = ROOT / "deploy" / "kubernetes"
TEMPLATES = {path.name: path.read_text("utf-8") for path in (CHART / "templates").iterdir()}
ENTRYPOINT = ROOT / "deploy" / "entrypoint.sh"


@pytest.mark.parametrize("text", [str(COMPOSE), *TEMPLATES.values(), ENTRYPOINT.read_text("utf-8")])
def test_every_variable_is_a_setting(text):
    assert {name.lower() for name in re.findall(r"ADJOINT_([A-Z_]+)", text)} <= Settings.model_fields.keys()


def test_the_servers_differ_in_their_addresses_and_folders_only():
    first, second = copy.deepcopy(SERVERS)
    urls = [server["environment"].pop("ADJOINT_INTERNAL_URL") for server in (first, second)]
    folders = [server.pop("volumes") for server in (first, second)]
    for server in (first, second):
        del server["networks"]["inside"], server["environment"]["ADJOINT_RAY_NODE_ADDRESS"]
    assert first == second
    assert urls == ["http://server-1:8000", "http://server-2:8000"]
    assert folders == [["server-1:/data"], ["server-2:/data"]]


def test_servers_and_nodes_run_the_same_image_which_has_what_they_need():
    for service in (*SERVERS, *NODES):
        assert {"postgres", "objects", "ray"} <= {*service["build"]["args"]["EXTRAS"].split(",")}
        assert service["image"] == SERVERS[0]["image"]
        assert service["environment"]["RAY_AUTH_MODE"] == "token"
    for service in (*SERVERS, *NODES[1:]):
        assert {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} <= service["environment"].keys()


def test_the_containers_have_no_rights_that_they_do_not_need():
    for service in (*SERVERS, *NODES):
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["user"] == "10001:10001"
    for service in SERVICES.values():
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert {"mem_limit", "pids_limit"} <= service.keys()


def test_no_secret_has_a_value_in_the_file():
    environment = SERVERS[0]["environment"]
    for name in ("ADJOINT_API_KEY", "ADJOINT_CLUSTER_SECRET", "RAY_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY"):
        assert re.match(r"\$\{[A-Z0-9_]+:\?", environment[name])
    assert ":${POSTGRES_PASSWORD}@" in environment["ADJOINT_DATABASE_URL"]
    assert SERVICES["postgres"]["environment"]["POSTGRES_PASSWORD"].startswith("${POSTGRES_PASSWORD:?")


def test_the_proxy_alone_is_reached_from_outside():
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"proxy"}
    assert {name for name, service in SERVICES.items() if "outside" in service["networks"]} == {"proxy"}
    assert COMPOSE["networks"]["inside"]["internal"] is True
    proxy = SERVICES["proxy"]
    assert proxy["environment"]["UPSTREAM"].split() == ["server-1:8000", "server-2:8000"]
    address = proxy["networks"]["behind_proxy"]["ipv4_address"]
    (addresses,) = COMPOSE["networks"]["behind_proxy"]["ipam"]["config"]
    assert ipaddress.ip_address(address) in ipaddress.ip_network(addresses["subnet"])
    assert ipaddress.ip_address(address) not in ipaddress.ip_network(addresses["ip_range"])
    for server in SERVERS:
        assert server["environment"]["ADJOINT_TRUSTED_PROXIES"] == address


def test_every_ray_node_has_an_address_of_its_own_that_the_others_reach():
    (addresses,) = COMPOSE["networks"]["inside"]["ipam"]["config"]
    given = [service["networks"]["inside"]["ipv4_address"] for service in (*NODES, *SERVERS)]
    assert len({*given}) == len(given)
    for address in map(ipaddress.ip_address, given):
        assert address in ipaddress.ip_network(addresses["subnet"])
        assert address not in ipaddress.ip_network(addresses["ip_range"])
    for service, address in zip(NODES, given, strict=False):
        assert f"--node-ip-address={address}" in service["command"]
    for service, address in zip(SERVERS, given[len(NODES) :], strict=True):
        assert service["environment"]["ADJOINT_RAY_NODE_ADDRESS"] == address


def test_the_dashboard_is_off_at_the_head_which_alone_has_one():
    head, *others = (service["command"] for service in NODES)
    assert "--include-dashboard=false" in head
    assert "dashboard" not in str(others)


def rendered(values: str) -> dict[str, Any]:
    """Render the chart with one of its files of values; return the manifests by kind."""
    helm = pytest.importorskip("helm_python", reason="helm-python-sdk is not installed: make .venv/lint.stamp")
    with helm.Chart.load(str(CHART)) as chart:
        texts = chart.render(yaml.safe_load((CHART / "ci" / values).read_text("utf-8")), name="adjoint").values()
    manifests = (each for text in texts for each in yaml.safe_load_all(text) if isinstance(each, dict))
    return {manifest["kind"]: manifest for manifest in manifests}


def environment(pod: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the variables of the container of a pod, in their order."""
    (container,) = pod["template"]["spec"]["containers"]
    return {variable["name"]: variable for variable in container["env"]}


def test_pods_give_ray_their_address():
    manifests = rendered("default.yaml")
    groups = [
        manifests["RayCluster"]["spec"]["headGroupSpec"],
        *manifests["RayCluster"]["spec"]["workerGroupSpecs"],
    ]
    server = environment(manifests["Deployment"]["spec"])
    assert server["ADJOINT_RAY_NODE_ADDRESS"]["value"] == "$(POD_IP)"
    assert [group["rayStartParams"]["node-ip-address"] for group in groups] == ["$POD_IP"] * 2
    assert [group["rayStartParams"].get("include-dashboard") for group in groups] == ["false", None]
    for variables in (server, *map(environment, groups)):
        assert variables["POD_IP"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
        assert next(iter(variables)) == "POD_IP"  # others refer to it


def test_a_new_image_reaches_the_nodes_which_new_servers_wait_for():
    manifests = rendered("default.yaml")
    cluster, servers = manifests["RayCluster"]["spec"], manifests["Deployment"]["spec"]
    assert cluster["upgradeStrategy"] == {"type": "Recreate"}
    pods = [cluster["headGroupSpec"], *cluster["workerGroupSpecs"], servers]
    assert len({pod["template"]["spec"]["containers"][0]["image"] for pod in pods}) == 1


@pytest.mark.parametrize(
    ("values", "secret", "expected"),
    [
        (
            "own-nodes.yaml",
            "adjoint-secrets",
            {"AZURE_STORAGE_ACCOUNT_NAME": "azure-account", "AZURE_STORAGE_ACCOUNT_KEY": "azure-key"},
        ),
        ("google.yaml", "adjoint", {"GOOGLE_SERVICE_ACCOUNT_KEY": "google-account"}),
    ],
)
def test_servers_and_nodes_get_the_credentials_of_any_storage(values, secret, expected):
    manifests = rendered(values)
    (nodes,) = manifests["RayCluster"]["spec"]["workerGroupSpecs"]
    for pod in (manifests["Deployment"]["spec"], nodes):
        variables = environment(pod)
        for name, key in expected.items():
            assert variables[name]["valueFrom"] == {"secretKeyRef": {"name": secret, "key": key}}
    if made := manifests.get("Secret"):
        assert {*expected.values()} <= made["stringData"].keys()


def test_the_settings_of_a_server_are_accepted(monkeypatch):
    for name, value in SERVERS[0]["environment"].items():
        if name.startswith("ADJOINT_"):
            monkeypatch.setenv(name, re.sub(r"\$\{[^}]*\}", "a-secret-of-the-tests", str(value)))
    settings = Settings()
    assert (settings.runner, settings.workers) == ("ray", 4)
    assert settings.cluster_secret is not None


def test_the_chart_names_the_keys_of_its_secret():
    used = {key for text in TEMPLATES.values() for key in re.findall(r'"key" "([\w-]+)"', text)}
    assert used == {*re.findall(r"^ +([\w-]+): \{\{", TEMPLATES["secret.yaml"], re.MULTILINE)} - {"name"}
    assert all(key in (CHART / "values.yaml").read_text("utf-8") for key in used)


def test_the_chart_has_the_version_of_the_project():
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text("utf-8"))
    (version,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE)
    assert chart["appVersion"] == version


@pytest.mark.parametrize(
    ("environment", "command", "expected"),
    [
        ({}, "adjoint serve", ["adjoint serve"]),
        ({"ADJOINT_RUNNER": "local"}, "adjoint serve", ["adjoint serve"]),
        ({"ADJOINT_RUNNER": "ray"}, "adjoint verify", ["adjoint verify"]),
        ({"ADJOINT_RUNNER": "ray", "ADJOINT_WORKERS": "0"}, "adjoint serve", ["adjoint serve"]),
        (
            {"ADJOINT_RUNNER": "ray", "ADJOINT_WORKERS": "4"},
            "adjoint serve",
            ["ray start --address=head:6379 --node-ip-address=10.0.0.7 --num-cpus=0", "adjoint serve 10.0.0.7"],
        ),
        (
            {"ADJOINT_RUNNER": "ray", "ADJOINT_RAY_NODE_ADDRESS": "10.1.0.9"},
            "adjoint serve",
            ["ray start --address=head:6379 --node-ip-address=10.1.0.9 --num-cpus=0", "adjoint serve 10.1.0.9"],
        ),
    ],
)
def test_a_server_with_fits_on_ray_joins_the_cluster_first(tmp_path, environment, command, expected):
    calls = tmp_path / "calls"
    stubs = {
        "ray": 'echo "ray $*" >> "$CALLS"',
        "adjoint": 'echo "adjoint $* ${ADJOINT_RAY_NODE_ADDRESS:-}" >> "$CALLS"',
        "nice": "",
        "hostname": "echo 10.0.0.7 10.1.0.7",
    }
    for name, text in stubs.items():
        stub = tmp_path / name
        stub.write_text(f"#!/bin/sh\n{text}\n")
        stub.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "CALLS": str(calls), "ADJOINT_RAY_ADDRESS": "head:6379"}
    subprocess.run(["sh", ENTRYPOINT, *command.split()], check=True, env={**variables, **environment})
    made = calls.read_text().splitlines()
    assert len(made) == len(expected)
    assert all(line.startswith(start) for line, start in zip(made, expected, strict=True))
