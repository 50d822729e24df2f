"""The application over sessions without processes, on a port of its own, and what a test needs to speak of them."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import cast

import httpx
import uvicorn

from app.config.settings import Settings
from app.http.http_protocol import Connection
from app.http.server import Server, bound_socket, url_of
from app.main.application import create_app
from app.main.bootstrap import open_container
from app.service.sessions.sessions import Sessions
from tests.app.api.fake_sessions import SESSION, FakeSessions
from tests.support.patience import PATIENCE

LIMIT = 32 * 1024
HERE = f"/v1/sessions/{SESSION}"


@contextmanager
def application(data_dir: Path, sessions: FakeSessions) -> Iterator[httpx.Client]:
    """Serve the application from a thread, and return a client; no process runs behind it."""
    settings = Settings(data_dir=data_dir, max_json_bytes=LIMIT, max_step_bytes=LIMIT, log_level="warning")
    with open_container(settings) as container, bound_socket("127.0.0.1", 0) as listener:
        services = replace(container.services, sessions=cast(Sessions, sessions))
        app = create_app(replace(container, services=services))
        config = uvicorn.Config(app, http=Connection, lifespan="off", log_config=None, access_log=False)
        ready = threading.Event()
        server = Server(config, ready.set, lambda: None)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            assert ready.wait(PATIENCE)
            with httpx.Client(base_url=url_of(listener), timeout=PATIENCE, verify=False) as client:
                yield client
        finally:
            server.should_exit = True
            thread.join(PATIENCE)


def faults(answer: httpx.Response, status: int = 422) -> list[tuple[str, str]]:
    """Return the pointers and codes of a refusal."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    return [(each["pointer"], each["code"]) for each in answer.json()["errors"]]
