"""A second host: a network namespace of this machine, joined with it by a link that can be cut. Needs root."""

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLONE_NEWNET = 0x4000_0000

HOSTS_MAX = 64
"""How many there may be on this machine, of all processes."""


def _why_missing() -> str:
    if shutil.which("ip") is None:
        return "there is no second host: install iproute2"
    if os.geteuid() != 0:
        return "there is no second host: namespaces need root"
    try:
        SecondHost().close()
    except subprocess.CalledProcessError as error:
        return f"there is no second host: {error.stderr.decode().strip()}"
    return ""


def _claim_name() -> tuple[str, int]:
    """Create a namespace, and return its name and its number, which is unique on the machine while it exists."""
    for number in range(HOSTS_MAX):
        name = f"adjoint-{number}"
        try:
            _ip("netns", "add", name)
        except subprocess.CalledProcessError as error:
            if number == HOSTS_MAX - 1 or b"File exists" not in error.stderr:
                raise
        else:
            return name, number
    raise AssertionError("the last number was tried")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class SecondHost:
    """The namespace. This machine has `here` as its address on the link, and the namespace `there`."""

    def __init__(self) -> None:
        """Make the namespace and the link."""
        self.name, number = _claim_name()
        self._link, end = f"aj{number}", f"ej{number}"
        # A range for documentation (RFC 5737): nothing else on this machine has its addresses.
        self.here, self.there = f"198.51.100.{4 * number + 1}", f"198.51.100.{4 * number + 2}"
        try:
            self._join(end)
        except subprocess.CalledProcessError:
            self.close()
            raise

    def _join(self, end: str) -> None:
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
        self._set_other_end("down")

    def join(self) -> None:
        """Make a link that was cut whole; what waits to be sent again arrives."""
        self._set_other_end("up")

    def _set_other_end(self, state: str) -> None:
        _ip("-n", self.name, "link", "set", self._link.replace("aj", "ej", 1), state)

    def close(self) -> None:
        """Delete the link, and then the namespace, whose number is free from then on."""
        subprocess.run(["ip", "link", "del", self._link], check=False, capture_output=True)
        subprocess.run(["ip", "netns", "del", self.name], check=False, capture_output=True)


@contextmanager
def second_host() -> Iterator[SecondHost]:
    """Yield a second host for the length of the block."""
    host = SecondHost()
    try:
        yield host
    finally:
        host.close()


MISSING = _why_missing()
