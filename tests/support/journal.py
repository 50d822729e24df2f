"""What the journal of a fit says, as a client reads it."""

import json
import time

import httpx

from tests.support.patience import PATIENCE


def is_logged(http: httpx.Client, fit_id: str, code: str) -> bool:
    """Return whether an event with this code is there by now."""
    journal = http.get(f"/v1/fits/{fit_id}/events", params={"metrics": False, "timeout": 1}).text.splitlines()
    events = [json.loads(line.removeprefix("data:")) for line in journal if line.startswith("data:")]
    return any(event.get("code") == code for event in events)


def until_logged(http: httpx.Client, fit_id: str, code: str) -> None:
    """Wait until an event with this code is there."""
    end = time.monotonic() + PATIENCE
    while not is_logged(http, fit_id, code):
        assert time.monotonic() < end, f"no event of the fit says {code}"
