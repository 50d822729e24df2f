"""Connecting to a Ray cluster, and checking that its nodes are as the server. Runs in the bridge process."""

import logging
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from app.config.ray import has_ray_token
from app.domain.errors import RayUnusable
from app.runner.cluster.code_identity import explain_difference, identity
from app.runner.cluster.protocol import Connect

REACH_SECONDS = 5.0
"""How long a head or a node may take to accept a connection."""

NODE_SECONDS = 60.0
"""How long a node may take to say what it has installed: it starts a process for that."""

_logger = logging.getLogger(__name__)


def connect(terms: Connect) -> None:
    """Connect this process to the cluster; RayUnusable if that is of no use."""
    try:
        import ray
    except ImportError as error:
        raise RayUnusable("Ray is not installed: pip install 'adjoint-server[ray]'") from error
    if not has_ray_token():
        raise RayUnusable(
            "Ray must require a token, since anyone who reaches a node can run code there: set RAY_AUTH_MODE=token and "
            "RAY_AUTH_TOKEN_PATH to a file with the token, for the server and for every node"
        )
    host, _, port = terms.address.rpartition(":")
    reason = why_unreachable(host.strip("[]"), int(port))
    if reason is not None:
        raise RayUnusable(
            f"no Ray head can be reached at {terms.address} ({reason}): start it with `ray start --head`, or correct "
            "ADJOINT_RAY_ADDRESS"
        )
    local: dict[str, Any] = {} if terms.node_address is None else {"_node_ip_address": terms.node_address}
    with _captured_errors() as captured:
        try:
            ray.init(
                address=terms.address, namespace=terms.namespace, log_to_driver=False, configure_logging=False, **local
            )
        except Exception as error:
            raise RayUnusable(_explain(terms.address, error, captured())) from error
    _check_nodes()


@contextmanager
def _captured_errors() -> Iterator[Callable[[], str]]:
    """Yield a function that returns what was written to standard error in the block.

    Ray's native code writes a line there for each try to connect, and why it failed: its exceptions do not say.
    """
    sys.stderr.flush()
    before = os.dup(2)
    with tempfile.TemporaryFile() as file:

        def read() -> str:
            file.seek(0)
            return file.read().decode(errors="replace")

        os.dup2(file.fileno(), 2)
        try:
            yield read
        finally:
            sys.stderr.flush()
            os.dup2(before, 2)
            os.close(before)
            if written := read():
                _logger.debug("Ray has written: %s", written)


def why_unreachable(host: str, port: int) -> str | None:
    """Return why no connection can be made to an address, None if one can."""
    try:
        socket.create_connection((host, port), REACH_SECONDS).close()
    except TimeoutError:
        return f"no answer within {REACH_SECONDS:g} seconds"
    except OSError as error:
        return error.strerror or type(error).__name__
    return None


def is_node_lost(node_id: str) -> bool:
    """Return whether a node is gone: Ray takes up to a minute to notice that by itself."""
    import ray

    for node in ray.nodes():
        if node["NodeID"] == node_id and node["Alive"]:
            return why_unreachable(node["NodeManagerAddress"], node["NodeManagerPort"]) is not None
    return True


def _explain(address: str, error: Exception, written: str) -> str:
    """Return why Ray has raised `error`, after it had `written` to standard error."""
    text = "; ".join(_causes(error))
    if "ersion mismatch" in text:
        return f"the Ray cluster at {address} has other versions than the server: {' '.join(text.split())}"
    if "InvalidAuthToken" in written or "uthenticat" in text or "token" in text.lower():
        return f"the Ray cluster at {address} refuses the token: give the server and every node the same one"
    if "node" in text.lower() and "match" in text.lower():
        return (
            "there is no Ray node on the server's machine: start one with `ray start --address=... --num-cpus=0`, or "
            "correct ADJOINT_RAY_NODE_ADDRESS"
        )
    return f"the Ray cluster at {address} cannot be used ({type(error).__name__}: {' '.join(text.split())[:300]})"


def _causes(error: BaseException | None) -> Iterator[str]:
    """Yield what an error says, and what those say that it was raised from: Ray's own says only that it has failed."""
    while error is not None:
        yield str(error)
        error = error.__cause__


def _check_nodes() -> None:
    """Raise RayUnusable if a node that runs fits has other versions or other code; others may join later."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    describe = ray.remote(_describe)
    asked: dict[Any, str] = {}
    for node in ray.nodes():
        if node["Alive"] and node["Resources"].get("CPU", 0) >= 1:
            here = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            call = describe.options(num_cpus=0, max_retries=0, scheduling_strategy=here)
            asked[call.remote()] = node["NodeManagerAddress"]
    answered, silent = ray.wait([*asked], num_returns=len(asked), timeout=NODE_SECONDS) if asked else ([], [])
    for call in silent:
        _logger.warning("the Ray node %s has not reported what is installed on it", asked[call])
    for call in answered:
        _check_node(asked[call], call)


def _describe() -> dict[str, str]:
    return identity()


def _check_node(address: str, call: Any) -> None:
    import ray

    try:
        difference = explain_difference(identity(), ray.get(call))
    except Exception as error:  # noqa: BLE001 (Ray raises what the node has raised)
        if "ModuleNotFoundError" not in str(error):
            _logger.warning("the Ray node %s cannot be asked what it has installed: %s", address, error)
            return
        difference = f"it has no Adjoint: pip install 'adjoint-server[ray]=={_release()}' there"
    if difference is not None:
        raise RayUnusable(f"the Ray node {address} differs from the server: {difference}")


def _release() -> str:
    from app.config.settings import server_version

    return server_version()
