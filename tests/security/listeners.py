"""The sockets that processes listen on, as the kernel reports them."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

LISTEN = "0A"


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def listeners(pids: Iterable[int]) -> set[str]:
    """Return the addresses that any of the processes listens on, with the port: IPv4 as usual, IPv6 in hexadecimal."""
    own = {inode for pid in pids for inode in _sockets(pid)}
    return {address for table in ("tcp", "tcp6") for address, inode in _listening(table) if inode in own}


def _listening(table: str) -> Iterable[tuple[str, str]]:
    for line in Path("/proc/net", table).read_text().splitlines()[1:]:
        fields = line.split()
        host, port = fields[1].split(":")
        if fields[3] == LISTEN:
            yield f"{_format_address(host)}:{int(port, 16)}", fields[9]


def _format_address(host: str) -> str:
    return ".".join(str(byte) for byte in reversed(bytes.fromhex(host))) if len(host) == 8 else host


def _sockets(pid: int) -> Iterable[str]:
    with suppress(FileNotFoundError):  # the process has ended
        for descriptor in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                kind, _, inode = str(descriptor.readlink()).partition(":[")
                if kind == "socket":
                    yield inode.rstrip("]")
