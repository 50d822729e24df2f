import ipaddress
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from app.config.settings import Settings, is_loopback
from tests.support.server import run_command

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
    assert "http://127.0.0.1:8000/readyz" in API["healthcheck"]["test"][-1]
    assert "http://127.0.0.1:8000/readyz" in DOCKERFILE


def test_everything_that_is_copied_into_the_image_exists():
    for sources in re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        for source in sources.split():
            assert (ROOT / source).exists(), source


def test_everything_that_is_copied_is_sent_to_the_builder():
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")]
    copied = re.findall(r"^COPY (?!--)(.*) \S+$", DOCKERFILE, re.MULTILINE)
    sources = [source for line in copied for source in line.split()]
    assert not [source for source in sources if not any(f"{source}/".startswith(f"{each}/") for each in allowed)]


@pytest.mark.parametrize("extras", ["", "fast,bfloat16,images,parquet", "test"])
def test_the_layer_of_dependencies_has_what_the_distributions_need(extras):
    listed = subprocess.run(
        [sys.executable, ROOT / "deploy" / "requirements.py", extras], check=True, capture_output=True, text=True
    ).stdout.splitlines()
    assert {"fastapi", "httpx", "numpy"} <= {re.split("[>=<]", line)[0] for line in listed}
    assert not [line for line in listed if line.startswith("adjoint")]
    assert any(line.startswith("pyarrow") for line in listed) == bool(extras)


def test_an_extra_that_is_none_is_refused():
    script = ROOT / "deploy" / "requirements.py"
    done = subprocess.run([sys.executable, script, "fsat"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "'fsat'" in done.stderr


def test_parquet_and_images_are_installed_by_default():
    (extras,) = re.findall(r"^ARG EXTRAS=(\S+)$", DOCKERFILE, re.MULTILINE)
    assert {"images", "parquet"} <= set(extras.split(","))
    assert extras in API["build"]["args"]["EXTRAS"]
    (demo,) = re.findall(r"^EXTRAS := (\S+)$", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert demo == extras


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


def run(tmp_path, *arguments, **environment):
    """Run a command as in the container, on a data directory of its own; return its exit status, output and errors."""
    said = dict(re.findall(r"(ADJOINT_[A-Z_]+)=(\S+)", DOCKERFILE))
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("ADJOINT_")}
    own = {"ADJOINT_DATA_DIR": str(tmp_path / "data"), "ADJOINT_PORT": "0"}
    return run_command(arguments, {**inherited, **said, **own, **environment})


def test_a_container_does_not_start_open_and_a_key_can_be_made_before_it_starts(tmp_path):
    (command,) = re.findall(r'^CMD \["adjoint", "(\w+)"\]$', DOCKERFILE, re.MULTILINE)
    for environment, named in (
        ({}, ("ADJOINT_ALLOWED_HOSTS", "ADJOINT_API_KEY", "adjoint keys create")),
        ({"ADJOINT_ALLOWED_HOSTS": "127.0.0.1"}, ("ADJOINT_API_KEY", "adjoint keys create")),
        # What Compose passes on of a variable that is not set.
        ({"ADJOINT_ALLOWED_HOSTS": "127.0.0.1", "ADJOINT_API_KEY": ""}, ("ADJOINT_API_KEY", "adjoint keys create")),
    ):
        status, output, errors = run(tmp_path, command, **environment)
        assert (status, output, errors.count("\n")) == (2, "", 1)
        assert [name for name in named if name not in errors] == []
    fresh = tmp_path / "fresh"
    status, key, _ = run(fresh, "keys", "create", "--name", "admin", "--scopes", "admin", "--yes")
    assert status == 0
    assert re.fullmatch(r"adj_\w+\n", key)
    # That it serves with that key is tested with the command (tests/app/cli/test_keys.py).
    assert (fresh / "data" / "adjoint.db").is_file()
