"""The log on standard error: JSON, one object a line, or text for people at a terminal."""

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, Literal

import orjson

from app.domain.clock import rfc3339

LogFormat = Literal["auto", "text", "json"]
"""`auto` is text in a terminal, JSON elsewhere."""

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}

CHATTY = MappingProxyType({"alembic": logging.WARNING, "uvicorn.error": logging.ERROR})
"""Libraries whose records are of no interest here, or repeat one of ours, and the level from which they are kept."""

EXPECTED = MappingProxyType({"uvicorn.error": "Cancel %s running task(s)"})
"""Beginnings of messages that are an error to a library and none here: requests are cut off by an orderly stop."""


class JsonFormatter(logging.Formatter):
    """Encodes a record as JSON; what was passed as `extra` becomes fields of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line = {
            "at": rfc3339(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": record.getMessage(),
            **_extra(record),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return _encode(line)


def _encode(line: Mapping[str, Any]) -> str:
    """Return `line` as JSON in ASCII, which a stream of any encoding takes."""
    try:
        text = orjson.dumps(line, default=str).decode()
    except TypeError:  # an integer of more than 64 bits, a lone surrogate
        text = ""
    return text if text and text.isascii() else json.dumps(line, default=str, separators=(",", ":"))


class TextFormatter(logging.Formatter):
    """Formats a record as `22:10:46.123 INFO    adjoint.access: request  status=200`, in local time."""

    def format(self, record: logging.LogRecord) -> str:
        """Return a line, and the traceback of an exception below it."""
        moment = datetime.fromtimestamp(record.created).astimezone()
        fields = "".join(f"  {name}={_printable(value)}" for name, value in _extra(record).items())
        text = _printable(record.getMessage())
        line = f"{moment:%H:%M:%S}.{moment.microsecond // 1000:03} {record.levelname:<7} {record.name}: {text}{fields}"
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


def configure_log(level: str, log_format: LogFormat = "auto") -> None:
    """Send everything from `level` up to standard error. Call it once in a process."""
    as_text = log_format == "text" or (log_format == "auto" and sys.stderr.isatty())
    handler = logging.StreamHandler()
    handler.setFormatter(TextFormatter() if as_text else JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    # What no line shows need not be looked up for each of them.
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    for chatty, least in CHATTY.items():
        logging.getLogger(chatty).setLevel(least)
    for library, beginning in EXPECTED.items():
        logging.getLogger(library).addFilter(_LevelFilter(beginning))


class _LevelFilter(logging.Filter):
    """Makes warnings of the errors whose message begins like this."""

    def __init__(self, beginning: str) -> None:
        super().__init__()
        self._beginning = beginning

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith(self._beginning):
            record.levelno, record.levelname = logging.WARNING, logging.getLevelName(logging.WARNING)
            return logging.getLogger().isEnabledFor(logging.WARNING)
        return True


def _extra(record: logging.LogRecord) -> Mapping[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in STANDARD}


def _printable(value: object) -> str:
    """Return a value as text that cannot control the terminal: it may come from a client."""
    text = str(value)
    return text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
