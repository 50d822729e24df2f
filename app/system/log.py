"""The log: one JSON object a line on standard error."""

import json
import logging
from datetime import UTC, datetime
from types import MappingProxyType

from app.domain.clock import rfc3339

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}

CHATTY = MappingProxyType({"alembic": logging.WARNING, "uvicorn.error": logging.ERROR})
"""Libraries that tell what is of no interest here, or is told by a line of ours; and from which level on they may."""


class JsonFormatter(logging.Formatter):
    """Encodes a record as JSON; what was passed as `extra` becomes fields of their own."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line = {
            "at": rfc3339(datetime.fromtimestamp(record.created, UTC)),
            "level": record.levelname.lower(),
            "logger": record.name,
            "text": record.getMessage(),
        }
        line.update((name, value) for name, value in vars(record).items() if name not in STANDARD)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_as_json(level: str) -> None:
    """Send everything from `level` up to standard error. To be called once, by whoever runs the server."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
    for chatty, least in CHATTY.items():
        logging.getLogger(chatty).setLevel(least)
