"""A Ray cluster of this machine for tests: a head, and further nodes that can be killed."""

import importlib.util
import json
import os
import re
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

import psutil  # type: ignore[import-untyped]  # it has no types

from tests.support.gate import VARIABLE, Gate
from tests.support.hosts import SecondHost
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[2]
MISSING = "" if importlib.util.find_spec("ray") else "Ray is not installed: pip install 'adjoint-server[cluster]'"

ACTOR = re.compile(r"ray::(Attempt|Replicated)Actor")
"""How Ray names the processes of attempts; that of rank 0 is another one if each replica has an actor."""

SESSION_ACTOR = re.compile(r"ray::SessionActor")
"""How it names those of sessions."""

OBJECT_BYTES = 100_000_000
"""The least that Ray takes for objects, nearly."""

_OPTIONS = {
    "RAY_worker_niceness": "0",  # by default workers give way to all other processes: on a busy machine for minutes
    "RAY_prestart_worker_first_driver": "0",  # each server is a driver; half of what is prestarted for it is not used
}

VERSIONS = "TESTS_VERSIONS"
"""Names what a node says of its versions, or a head of its version of Ray, as JSON, where that is not what it has."""

# The processes that Ray starts for actors fork their workers as those of a server of tests do, from a process that has
# loaded the engine, if they reach it: to load it takes them longer than a fit. Others do not load this.
CUSTOMIZE = f"""
import os, sys
if any(word.endswith("default_worker.py") for word in sys.orig_argv) and "{VARIABLE}" in os.environ:
    from pathlib import Path
    from tests.support.gate import use_gate
    from tests.support.forked_workers import use_shared_fork_server
    use_gate(Path(os.environ["{VARIABLE}"]))
    use_shared_fork_server()
    if "{VERSIONS}" in os.environ:
        import json
        from app.runner.cluster import connection
        own, said = connection.identity(), json.loads(os.environ["{VERSIONS}"])
        connection.identity = lambda: {{**own, **said}}
if "--head" in sys.orig_argv and "{VERSIONS}" in os.environ:
    import json, ray
    ray.__version__ = json.loads(os.environ["{VERSIONS}"])["ray"]
"""


class RayCluster:
    """A running cluster. Fits on it heed the `gate`."""

    def __init__(self, folder: Path, environment: Mapping[str, str], host: str) -> None:
        """Start a head that runs no fits; all files are in `folder`, whose path is short.

        Nodes have these variables in their `environment`, and `host` as their address.
        """
        self._host = host
        self.folder = folder
        self._environment = environment
        self.port = _free_port()
        self.address = f"{host}:{self.port}"
        self.token = folder / "token"
        self.token.write_text(secrets.token_hex(16))
        self.gate = Gate(folder / "gate")
        customize = folder / "customize"
        customize.mkdir()
        (customize / "sitecustomize.py").write_text(CUSTOMIZE)
        self._groups: list[int] = []
        self._frozen: list[psutil.Process] = []
        self._paths = f"{customize}{os.pathsep}{ROOT}"
        self._start(
            "--head", f"--port={self.port}", "--num-cpus=0", f"--temp-dir={folder}", "--include-dashboard=false"
        )

    @property
    def environment(self) -> dict[str, str]:
        """The environment of servers that use the cluster."""
        return {
            "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token),
            "ADJOINT_RUNNER": "ray", "ADJOINT_RAY_ADDRESS": self.address, "ADJOINT_RAY_NODE_ADDRESS": self._host,
            "ADJOINT_RAY_FOLDER": str(self.folder / "node"),
        }  # fmt: skip

    def add_node(self, cpus: int = 2, versions: Mapping[str, str] | None = None, host: SecondHost | None = None) -> int:
        """Start a further node, and return its process group; it says that it has these `versions`, if any.

        It is on this machine, unless another `host` is given.
        """
        said = {} if versions is None else {VERSIONS: json.dumps(dict(versions))}
        return self._start(f"--address={self.address}", f"--num-cpus={cpus}", variables=said, host=host)

    def actors(self, kind: re.Pattern[str] = ACTOR) -> list[psutil.Process]:
        """Return the processes of the attempts at fits, or at sessions, that run on nodes that were not lost."""
        found = psutil.process_iter(["cmdline", "ppid"])
        named = [each for each in found if kind.search("".join(each.info["cmdline"] or ()))]
        return [each for each in named if _group_of(each.info["ppid"]) in self._groups and each not in self._frozen]

    def raylets(self, group: int) -> list[psutil.Process]:
        """Return the running raylet of a node: it ends by itself where the head counts its node as lost."""
        return [each for each in _members(group) if each.name() == "raylet" and runs(each)]

    def kill_node(self, group: int) -> None:
        """Kill all processes of a node but those of its actors, which end when they notice."""
        with suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
        self._groups.remove(group)

    def stop_node(self, group: int) -> None:
        """Have a node leave the cluster, which knows of it at once."""
        raylets = self.raylets(group)
        for each in raylets:
            each.terminate()
        psutil.wait_procs(raylets, PATIENCE)
        self.kill_node(group)

    def end_frozen_node(self, group: int) -> None:
        """Have a node that was frozen leave the cluster: Ray would start processes there until it notices the loss."""
        for each in _members(group):
            if each.name() == "raylet":
                each.resume()
        self.stop_node(group)

    def freeze_node(self, group: int) -> None:
        """Stop all processes of a node: nothing answers there any more, and no connection breaks."""
        for member in _members(group):
            with suppress(psutil.NoSuchProcess):
                for each in (member, *member.children(recursive=True)):
                    self._freeze(each)

    def _freeze(self, process: psutil.Process) -> None:
        """Stop a process, unless it has ended or was stopped before."""
        if process not in self._frozen:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
                self._frozen.append(process)

    def thaw(self) -> None:
        """Have all processes go on that were stopped."""
        while self._frozen:
            with suppress(psutil.NoSuchProcess):
                self._frozen.pop().resume()

    def close(self) -> None:
        """Kill all nodes."""
        for group in [*self._groups]:
            self.kill_node(group)
        for each in self._frozen:
            with suppress(psutil.NoSuchProcess):
                each.kill()

    def _start(
        self, *options: str, variables: Mapping[str, str] = MappingProxyType({}), host: SecondHost | None = None
    ) -> int:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ADJOINT_", "RAY_"))}
        environment = {
            **inherited, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(self.token), "PYTHONPATH": self._paths,
            VARIABLE: str(self.gate.path), **_OPTIONS, **self._environment, **variables,
        }  # fmt: skip
        command = [
            *(() if host is None else host.command),
            str(Path(sys.executable).with_name("ray")), "start", *options,
            f"--node-ip-address={self._host if host is None else host.there}",
            f"--object-store-memory={OBJECT_BYTES}", "--disable-usage-stats",
        ]  # fmt: skip
        end = time.monotonic() + PATIENCE
        while True:
            with (self.folder / "start.log").open("ab") as log:
                started = subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)
            self._groups.append(started.pid)
            if started.wait(PATIENCE) == 0:
                return started.pid
            # Ray gives a node up that is not ready within 30 seconds, however slow the machine is.
            self.kill_node(started.pid)
            said = (self.folder / "start.log").read_text()
            if "timed out during startup" not in said or time.monotonic() > end:
                raise RuntimeError(f"Ray did not start:\n{said}")


@contextmanager
def ray_cluster(environment: Mapping[str, str] = MappingProxyType({}), host: str = "127.0.0.1") -> Iterator[RayCluster]:
    """Run a cluster for the length of the block; its nodes have these variables in their environment.

    Those of this machine have the address `host`.
    """
    # The paths of its sockets must be short.
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))
    cluster = RayCluster(folder, environment, host)
    try:
        yield cluster
    finally:
        cluster.close()
        shutil.rmtree(folder, ignore_errors=True)


def runs(process: psutil.Process) -> bool:
    """Return whether a process has not ended."""
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE and process.is_running())
    except psutil.NoSuchProcess:
        return False


def _members(group: int) -> list[psutil.Process]:
    return [each for each in psutil.process_iter() if _group_of(each.pid) == group]


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
