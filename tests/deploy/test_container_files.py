import ipaddress
import re
from pathlib import Path

import pytest
import yaml

from app.settings import Settings, is_loopback

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text("utf-8")
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))
API = COMPOSE["services"]["api"]
BEHIND_PROXY = yaml.safe_load((ROOT / "deploy" / "compose.proxy.yml").read_text("utf-8"))


@pytest.mark.parametrize("text", [DOCKERFILE, str(COMPOSE), str(BEHIND_PROXY)], ids=["Dockerfile", "alone", "proxy"])
def test_every_variable_is_a_setting(text):
    names = set(re.findall(r"ADJOINT_([A-Z_]+)", text))
    assert names
    assert {name.lower() for name in names} <= Settings.model_fields.keys()


def test_the_container_has_no_rights_that_it_does_not_need():
    assert API["read_only"] is True
    assert API["cap_drop"] == ["ALL"]
    assert API["security_opt"] == ["no-new-privileges:true"]
    assert API["user"] == re.search(r"^USER (\S+)$", DOCKERFILE, re.MULTILINE)[1]
    assert not API["user"].startswith("0")
    assert {"mem_limit", "memswap_limit", "pids_limit"} <= API.keys()
    assert API["memswap_limit"] == API["mem_limit"]
    assert API["ulimits"]["core"] == 0
    assert API["init"] is True


def test_the_server_is_published_on_loopback_only_and_wants_a_key():
    for port in API["ports"]:
        assert is_loopback(port.rsplit(":", 2)[0])
    assert API["environment"]["ADJOINT_API_KEY"].startswith("${ADJOINT_API_KEY:?")


def test_the_health_check_asks_under_a_name_that_is_allowed():
    default = re.search(r":-(.*)}", API["environment"]["ADJOINT_ALLOWED_HOSTS"])[1]
    assert "127.0.0.1" in default.split(",")
    assert "http://127.0.0.1:8000/healthz" in API["healthcheck"]["test"][-1]
    assert "http://127.0.0.1:8000/healthz" in DOCKERFILE


def test_everything_that_is_copied_into_the_image_exists():
    for sources in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source


def test_the_data_outlives_the_container():
    (mount,) = API["volumes"]
    volume, target = mount.split(":")
    assert volume in COMPOSE["volumes"]
    assert f"ADJOINT_DATA_DIR={target}" in DOCKERFILE


def test_every_stage_is_built_on_the_one_base_image_which_can_be_pinned():
    base = re.search(r"^ARG BASE=(\S+)$", DOCKERFILE, re.MULTILINE)[1]
    assert re.fullmatch(r"python:3\.\d+-slim(@sha256:[0-9a-f]{64})?", base)
    assert {image.split()[0] for image in re.findall(r"^FROM (.*)$", DOCKERFILE, re.MULTILINE)} == {"${BASE}"}
    makefile = (ROOT / "Makefile").read_text("utf-8")
    assert f"BASE_IMAGE := {base.partition('@')[0]}\n" in makefile
    assert '"s|^ARG BASE=.*|ARG BASE=' in makefile


def test_behind_the_proxy_its_address_alone_is_trusted():
    api, proxy = BEHIND_PROXY["services"]["api"], BEHIND_PROXY["services"]["proxy"]
    (shared,) = api["networks"].keys() & proxy["networks"].keys()
    address = proxy["networks"][shared]["ipv4_address"]
    assert Settings(trusted_proxies=api["environment"]["ADJOINT_TRUSTED_PROXIES"]).trusted_proxies == (address,)
    (addresses,) = BEHIND_PROXY["networks"][shared]["ipam"]["config"]
    network, given = ipaddress.ip_network(addresses["subnet"]), ipaddress.ip_network(addresses["ip_range"])
    assert given.subnet_of(network)
    assert ipaddress.ip_address(address) in network
    assert ipaddress.ip_address(address) not in {*given, *list(network)[:2], network.broadcast_address}
    assert "127.0.0.1" in api["environment"]["ADJOINT_ALLOWED_HOSTS"].split(",")


def test_the_proxy_has_no_rights_that_it_does_not_need():
    proxy = BEHIND_PROXY["services"]["proxy"]
    assert proxy["read_only"] is True
    assert (proxy["cap_drop"], proxy["cap_add"]) == (["ALL"], ["NET_BIND_SERVICE"])
    assert proxy["security_opt"] == ["no-new-privileges:true"]
    assert {"mem_limit", "pids_limit"} <= proxy.keys()
