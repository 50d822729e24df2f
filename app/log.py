"""The log: one JSON object a line on standard error."""

import json
import logging
from datetime import UTC, datetime

from app.domain.clock import rfc3339

STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "color_message", "taskName"}

CHATTY = ("alembic", "uvicorn.error")
"""Libraries that tell on the level info what is of no interest here."""


class JsonFormatter(logging.Formatter):
    """Spells a record as JSON; what was passed as `extra` becomes fields of their own."""

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
    for chatty in CHATTY:
        logging.getLogger(chatty).setLevel(logging.WARNING)
