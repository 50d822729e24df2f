"""Build the image and exercise it in a container with the options of docker-compose.yml: `make image-test`.

Where neither podman nor docker works it says so, and exits with 69 (EX_UNAVAILABLE).
"""

import argparse
import os
import resource
import secrets
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import yaml

from tests.deploy.exercise import begin, go_on
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
API = yaml.safe_load((ROOT / "docker-compose.yml").read_text("utf-8"))["services"]["api"]
IMAGE = "localhost/adjoint-test"
PORT = 8000
LOOK_SECONDS = 0.5
WITHOUT_PIP = "from importlib.util import find_spec; assert not [m for m in ('pip', 'ensurepip') if find_spec(m)]"
LIMIT = (
    "from app.system.control_groups import memory_limits; print(min(group.limit_bytes for group in memory_limits()))"
)


class Containers:
    """What podman and docker have in common."""

    def __init__(self, program: str) -> None:
        """Use the program of this name."""
        self.program = program

    def do(self, *arguments: str) -> str:
        """Carry out a command and return what it prints; what it complains of is shown."""
        said = subprocess.run([self.program, *arguments], stdout=subprocess.PIPE, text=True, check=True)
        return said.stdout.strip()

    def build(self, more: list[str]) -> None:
        """Build the image."""
        # Without it podman drops the health check.
        form = ["--format", "docker"] if self.program == "podman" else []
        file = ["--file", "deploy/Dockerfile", "--tag", IMAGE]
        subprocess.run([self.program, "build", *form, *file, *more, "."], cwd=ROOT, check=True)

    @contextmanager
    def running(self, what: list[str], key: str) -> Iterator[str]:
        """Run `what`, further options and an image, its data on a volume. Nothing is left of it in the end.

        Its log is shown if anything fails.
        """
        name = f"adjoint-test-{secrets.token_hex(4)}"
        try:
            self.do("run", "--detach", "--name", name, "--volume", f"{name}:/data", *options(key), *what)
            yield name
        except BaseException:
            subprocess.run([self.program, "logs", name], check=False)
            raise
        finally:
            self.do("rm", "--force", name)
            self.do("volume", "rm", "--force", name)

    def url(self, name: str, key: str) -> str:
        """Return where the server is reached, once it is ready."""
        url = f"http://{self.do('port', name, str(PORT)).splitlines()[0]}"
        end = time.monotonic() + PATIENCE
        while not _is_ready(url, key):
            assert time.monotonic() < end, "the server is not ready"
            time.sleep(LOOK_SECONDS)
        return url


def options(key: str) -> Iterator[str]:
    """Go through the options of `run` that say what the Compose file says; the port is one that is free."""
    yield from ("--publish", f"127.0.0.1::{PORT}", "--user", API["user"])
    yield from ("--memory", API["mem_limit"], "--memory-swap", API["memswap_limit"])
    yield from ("--pids-limit", str(API["pids_limit"]))
    yield from ["--read-only"] * API["read_only"] + ["--init"] * API["init"]
    yield from (f"--cap-drop={right}" for right in API["cap_drop"])
    yield from (f"--security-opt={option.removesuffix(':true')}" for option in API["security_opt"])
    for name, limit in API["ulimits"].items():
        # No container gets more than this machine gives.
        _, most = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
        given = limit if most == resource.RLIM_INFINITY else min(limit, most)
        yield f"--ulimit={name}={given}:{given}"
    yield from (f"--tmpfs={mount}" for mount in API["tmpfs"])
    yield from ("--env", f"ADJOINT_API_KEY={key}", "--env", "ADJOINT_ALLOWED_HOSTS=127.0.0.1")


def found() -> Containers | None:
    """Return what runs containers here, None if nothing does."""
    for program in ("podman", "docker"):
        if shutil.which(program):
            answer = subprocess.run([program, "info"], capture_output=True, check=False)
            if answer.returncode == 0:
                return Containers(program)
    return None


def exercise(containers: Containers, what: list[str]) -> None:
    """Have the server do its work, stop the container as Compose does, and see that all goes on."""
    key = secrets.token_hex(16)
    with containers.running(what, key) as name:
        url = containers.url(name, key)
        containers.do("exec", name, *API["healthcheck"]["test"][1:])
        containers.do("exec", name, "python", "-c", WITHOUT_PIP)
        containers.do("exec", name, "sh", "-c", "! (command -v pip || command -v pip3)")
        begun = begin(url, key)
        assert int(containers.do("exec", name, "python", "-c", LIMIT)) == _bytes(API["mem_limit"])
        containers.do("stop", "--time", API["stop_grace_period"].removesuffix("s"), name)
        state = containers.do("inspect", "--format", "{{.State.ExitCode}} {{.State.OOMKilled}}", name)
        assert state == "0 false", state
        containers.do("start", name)
        go_on(containers.url(name, key), begun, key)


def _is_ready(url: str, key: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz", headers={"authorization": f"Bearer {key}"}).is_success
    except httpx.TransportError:
        return False


def _bytes(size: str) -> int:
    return int(size[:-1]) * 1024 ** (1 + "kmg".index(size[-1]))


def main() -> int:
    """Build and exercise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="", help="further arguments of the build, as one text")
    parser.add_argument("--run", default="", help="further arguments of containers, as one text")
    parser.add_argument("--image", help="an image that is there, to exercise in place of one that is built now")
    given, containers = parser.parse_args(), found()
    if containers is None:
        sys.stderr.write("the image cannot be tested here: neither `podman info` nor `docker info` succeeds\n")
        return os.EX_UNAVAILABLE
    if given.image is None:
        containers.build(shlex.split(given.build))
    exercise(containers, [*shlex.split(given.run), given.image or IMAGE])
    sys.stdout.write(
        "the image trains: every kind of fit, a session, an upload of each kind, and all after a restart\n"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
