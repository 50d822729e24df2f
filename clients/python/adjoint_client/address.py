"""Where the server is, and with which key: arguments first, then the environment, as the command line has it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import TextIO
from urllib.parse import SplitResult, urlsplit

DEFAULT_URL = "http://127.0.0.1:8000"
URL_VARIABLE, KEY_VARIABLE, KEY_FILE_VARIABLE = "ADJOINT_URL", "ADJOINT_KEY", "ADJOINT_KEY_FILE"

_PORTS = {"http": 80, "https": 443}
_KEY_CHARACTERS_MAX = 1024


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server is: `path` is what comes before that of every request, "" as a rule."""

    host: str
    port: int
    secure: bool
    path: str

    @classmethod
    def of(cls, url: str) -> Address:
        """Read the base URL of a server.

        Raises:
            ValueError: it is none.
        """
        parts, port = _split(url)
        if parts.scheme not in _PORTS or not parts.hostname:
            raise ValueError(f"{url!r} is no address of a server; write it as {DEFAULT_URL}")
        return cls(parts.hostname, port or _PORTS[parts.scheme], parts.scheme == "https", parts.path.rstrip("/"))

    @property
    def host_header(self) -> str:
        """The value of the header Host."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS["https" if self.secure else "http"] else f"{host}:{self.port}"


def find_url(given: str | None) -> str:
    """Return the URL of the server: what was given, else that of ADJOINT_URL, else the default.

    An address of this machine may leave out `http://`.

    Raises:
        ValueError: it is no URL; the message says what to write.
    """
    url = given if given is not None else os.environ.get(URL_VARIABLE) or DEFAULT_URL
    if "://" not in url:
        if not _is_local(_split(f"//{url}")[0].hostname):
            raise ValueError(f"{url!r} does not say how to reach the server; write http://{url} or https://{url}")
        url = f"http://{url}"
    Address.of(url)
    return url


def find_key(given: str | None) -> str | None:
    """Return the key: what was given, else the content of the file ADJOINT_KEY_FILE, else ADJOINT_KEY, else None.

    Raises:
        ValueError: the file cannot be read or holds no key, or what was given is none.
    """
    file = os.environ.get(KEY_FILE_VARIABLE)
    if given is not None:
        return checked_key(given, "the given key") if given else None
    if file:
        return read_key_file(Path(file))
    key = os.environ.get(KEY_VARIABLE)
    return checked_key(key, KEY_VARIABLE) if key else None


def read_key_file(path: Path) -> str:
    """Return the key in a file.

    Raises:
        ValueError: it cannot be read, or holds no key.
    """
    try:
        with path.open(encoding="utf-8") as file:
            return read_key(file, str(path))
    except OSError as error:
        raise ValueError(f"cannot read the key from {path} ({error.strerror})") from error


def read_key(file: TextIO, source: str) -> str:
    """Return the key in a file that is open, which messages call `source`.

    Raises:
        ValueError: it holds no key.
    """
    try:
        text = file.read(_KEY_CHARACTERS_MAX + 2)
    except UnicodeDecodeError as error:
        raise ValueError(f"cannot read the key from {source} (no text)") from error
    return checked_key(text.strip(), source)


def checked_key(key: str, source: str) -> str:
    """Return a key that can be sent.

    Raises:
        ValueError: it cannot; the message does not show it.
    """
    if not key or len(key) > _KEY_CHARACTERS_MAX or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(f"{source} holds no key: that is one line of printable ASCII without spaces")
    return key


def _split(url: str) -> tuple[SplitResult, int | None]:
    try:
        parts = urlsplit(url)
        return parts, parts.port
    except ValueError as error:
        raise ValueError(f"{url!r} is no address of a server ({error}); write it as {DEFAULT_URL}") from error


def _is_local(host: str | None) -> bool:
    if host == "localhost":
        return True
    try:
        return host is not None and ip_address(host).is_loopback
    except ValueError:
        return False
