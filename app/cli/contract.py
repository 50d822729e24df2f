"""The contract of the HTTP interface, without a server."""

import tempfile
from pathlib import Path
from typing import Any

from app.bootstrap import open_container
from app.main import create_app
from app.settings import Settings


def openapi_document() -> dict[str, Any]:
    """Return the OpenAPI document as a server gives it out.

    The application is put together over an empty data directory, which is gone afterwards; nothing is started.
    """
    with tempfile.TemporaryDirectory() as folder, open_container(Settings(data_dir=Path(folder))) as container:
        return create_app(container).openapi()
