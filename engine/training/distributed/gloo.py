"""Transfers between hosts by gloo, from the wheel of xoscar. Only `GlooTransfer` loads it.

Its own allreduce adds in the order of a ring, which depends on the number of a rank and on the size of the buffer; and
while it waits, no other thread of Python runs. Its point-to-point calls have neither fault.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import json
import socket
from base64 import b64decode, b64encode
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

from engine.core.errors import MissingExtra, RankLost
from engine.training.distributed.collective import Array
from engine.training.distributed.control_links import ControlLinks, accept_ranks, connect_to_first
from engine.training.distributed.network import NetworkCollective

TRANSFER_SECONDS = 30
"""A piece that has not arrived after so long never does: the link is cut."""

_NAME = "xoscar_pygloo"


def lead_ranks(
    listener: socket.socket, size: int, secret: bytes, is_stopping: Callable[[], bool] = lambda: False
) -> NetworkCollective | None:
    """Return the collective of rank 0, when the others have joined (see `accept_ranks`); None if it is to stop before.

    MissingExtra if gloo is not installed, RankLost if a rank is gone.
    """
    links = accept_ranks(listener, size, secret, is_stopping)
    return None if links is None else _join(links)


def join_ranks(address: tuple[str, int], rank: int, size: int, secret: bytes) -> NetworkCollective:
    """Return the collective of another rank than 0, which listens at `address`; MissingExtra and RankLost as there."""
    return _join(connect_to_first(address, rank, size, secret))


def _join(links: ControlLinks) -> NetworkCollective:
    return NetworkCollective(links, GlooTransfer(links))


class GlooTransfer:
    """Transfers by gloo (see `network.Transfer`), between all pairs of ranks."""

    def __init__(self, links: ControlLinks) -> None:
        """Connect every pair of ranks; all ranks call this. Their addresses are exchanged over `links`."""
        self._gloo = _load()
        self._context = self._gloo.rendezvous.Context(links.rank, links.size)
        self._context.setTimeout(timedelta(seconds=TRANSFER_SECONDS))
        device = self._gloo.transport.tcp.CreateDevice(self._gloo.transport.tcp.attr(links.host))
        self._store = self._gloo.rendezvous.CustomStore(_Addresses(links))
        try:
            self._context.connectFullMesh(self._store, device)
        except RuntimeError:
            raise RankLost(links.rank) from None

    def send(self, part: Array, to: int) -> None:
        self._call(self._gloo.send, part, to)

    def receive(self, part: Array, source: int) -> None:
        self._call(self._gloo.recv, part, source)

    def close(self) -> None:
        self._context.closeConnections()

    def _call(self, transfer: Callable[..., None], part: Array, peer: int) -> None:
        try:
            transfer(self._context, part.ctypes.data, part.nbytes, self._gloo.GlooDataType_t.glooUint8, peer)
        except RuntimeError:
            raise RankLost(peer) from None


class _Addresses:
    """The store through which gloo exchanges the addresses of the ranks: each sets its own, then asks for the others.

    Methods are named as gloo calls them.
    """

    def __init__(self, links: ControlLinks) -> None:
        self._links = links
        self._own: dict[str, str] = {}
        self._known: dict[str, str] = {}

    def set_tcp(self, key: str, data: bytes) -> None:
        self._own[key] = b64encode(data).decode()

    def wait(self, keys: Sequence[str]) -> None:
        if not self._known.keys() >= set(keys):
            for _, payload in self._links.exchange("connect", json.dumps(self._own).encode()):
                self._known.update(json.loads(payload))

    def get_tcp(self, key: str) -> bytes:
        return b64decode(self._known[key])


@cache
def _load() -> Any:
    """Load the extension module alone: its package would load what a distributed scheduler needs."""
    package = importlib.util.find_spec("xoscar")
    folders = [] if package is None else [*(package.submodule_search_locations or ())]
    files = [
        path
        for folder in folders
        for suffix in importlib.machinery.EXTENSION_SUFFIXES
        if (path := Path(folder) / "collective" / f"{_NAME}{suffix}").is_file()
    ]
    if not files:
        raise MissingExtra("replicas on several nodes need gloo: pip install 'adjoint-server[ray]' on every node")
    loader = importlib.machinery.ExtensionFileLoader(_NAME, str(files[0]))
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(_NAME, loader, origin=str(files[0])))
    loader.exec_module(module)
    return module
