"""A second host: a network namespace of this machine, joined with it by a link that can be cut. Needs root."""

import ctypes
import itertools
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x4000_0000

_numbers = itertools.count()


def _why_missing() -> str:
    if shutil.which("ip") is None:
        return "there is no second host: install iproute2"
    if os.geteuid() != 0:
        return "there is no second host: namespaces need root"
    name = f"adjoint-{os.getpid()}-try"
    tried = subprocess.run(["ip", "netns", "add", name], capture_output=True, check=False)
    if tried.returncode:
        return f"there is no second host: {tried.stderr.decode().strip()}"
    _ip("netns", "del", name)
    return ""


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class SecondHost:
    """The namespace. This machine has `here` as its address on the link, and the namespace `there`."""

    def __init__(self) -> None:
        """Make the namespace and the link."""
        number = next(_numbers)
        self.name = f"adjoint-{os.getpid()}-{number}"
        self._link, end = f"aj{os.getpid() % 100_000}-{number}", f"ej{os.getpid() % 100_000}-{number}"
        # A range for documentation (RFC 5737): nothing else on this machine has its addresses.
        base = 4 * ((os.getpid() + 17 * number) % 63)
        self.here, self.there = f"198.51.100.{base + 1}", f"198.51.100.{base + 2}"
        _ip("netns", "add", self.name)
        _ip("link", "add", self._link, "type", "veth", "peer", "name", end, "netns", self.name)
        _ip("addr", "add", f"{self.here}/30", "dev", self._link)
        _ip("link", "set", self._link, "up")
        for arguments in (
            ("addr", "add", f"{self.there}/30", "dev", end), ("link", "set", end, "up"), ("link", "set", "lo", "up")
        ):  # fmt: skip
            _ip("-n", self.name, *arguments)

    @property
    def command(self) -> tuple[str, ...]:
        """What a command line begins with that runs there."""
        return ("ip", "netns", "exec", self.name)

    def enter(self) -> None:
        """Have the calling thread, and the processes that it forks, be there."""
        with Path(f"/run/netns/{self.name}").open() as namespace:
            if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), "the namespace cannot be entered")

    def cut(self) -> None:
        """Cut the link: packets are lost, and no connection is closed."""
        # A link that is down lets sends fail at once; one without its other end loses what is sent.
        _ip("-n", self.name, "link", "set", self._link.replace("aj", "ej", 1), "down")

    def close(self) -> None:
        """Delete the namespace, and with it the link."""
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self._link], check=False, capture_output=True)


@contextmanager
def second_host() -> Iterator[SecondHost]:
    """Yield a second host for the length of the block."""
    host = SecondHost()
    try:
        yield host
    finally:
        host.close()


MISSING = _why_missing()
