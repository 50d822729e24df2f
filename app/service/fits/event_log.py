"""The event log of a fit: appending events, and streaming them to clients."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from math import inf

from app.domain.clock import add_time, rfc3339
from app.domain.errors import Finding, Invalid
from app.domain.fit import Event, FitRecord
from app.domain.messages import Log
from app.service.resources.notifier import Notifier
from app.store.unit_of_work import Store, UnitOfWork

REOPENED = "reopened"
"""The code of the log event of a fit that was reopened after its end."""


def record_reopening(work: UnitOfWork, fit: FitRecord) -> None:
    """Replace the `end` event of a fit by a log event `reopened`."""
    text = f"the fit had {fit.state} at step {fit.step} and was reopened"
    body = {"level": "info", "code": REOPENED, "text": text}
    work.events.reopen(fit.id, json.dumps(body, separators=(",", ":")))


def record_state(work: UnitOfWork, fit: FitRecord) -> None:
    """Append the fit's state to its event log; a terminal one is followed by the `end` event."""
    body = {
        "state": fit.state,
        "phase": fit.phase,
        "step": fit.step,
        "epoch": fit.epoch,
        "attempt": fit.attempt,
        "error": fit.error,
        "at": rfc3339(work.now),
    }
    work.events.append(fit.id, "state", json.dumps(body, separators=(",", ":")))
    if fit.terminal:
        work.events.append(fit.id, "end", json.dumps({"state": fit.state}, separators=(",", ":")))


def record_log(work: UnitOfWork, fit_id: str, entry: Log) -> None:
    """Append a log entry to the event log of a fit."""
    body: dict[str, object] = {"level": entry.level, "code": entry.code, "text": entry.text}
    if entry.total is not None:
        body |= {"count": entry.count, "total": entry.total}
    work.events.append(fit_id, "log", json.dumps(body, separators=(",", ":"), allow_nan=False))


BATCH = 100
REST_SECONDS = 0.25
BATCH_CHARACTERS = 64 * 1024
"""Maximum characters of events in memory for a client that does not read them."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """How far a stream goes: `after` which event it starts, how many events it sends, and for how long.

    And what it sends: `metrics` or only all other events, `timestamps` in each, and how many seconds at least lie
    between two deliveries (`interval`), which saves the server work where a client draws less often than rows come.
    """

    after: int = 0
    events_max: int | None = None
    seconds: float | None = None
    interval: float = 0.0
    metrics: bool = True
    timestamps: bool = False


@dataclass(frozen=True, slots=True)
class _Reading:
    """Events; whether they are the last ones (`finished`), and whether long ones were cut off the batch (`cut`)."""

    events: tuple[Event, ...]
    finished: bool
    cut: bool = False


class Events:
    """The use cases of event logs."""

    def __init__(self, store: Store, notifier: Notifier, heartbeat_seconds: float) -> None:
        """Read from `store`, wait for `notifier`; an idle stream sends a heartbeat every `heartbeat_seconds`."""
        self._store = store
        self._notifier = notifier
        self._heartbeat_seconds = heartbeat_seconds

    def check(self, fit_id: str, after: int = 0) -> None:
        """Raise NotFound if there is no such fit, Invalid if it has no event `after`."""
        with self._store.read() as work:
            work.fits.get(fit_id)
            last = work.events.last_seq(fit_id)
        if after > last:
            detail = f"the last event of the fit is {last}, so there is none to go on after {after}"
            raise Invalid(detail, code="out_of_range", findings=[Finding("/after", "out_of_range", detail)])

    async def stream(self, fit_id: str, terms: StreamOptions) -> AsyncIterator[tuple[Event, ...]]:
        """Yield the events that follow `terms.after` as they come, several at a time, and none for a heartbeat.

        Ends after the `end` event, at the limits of `terms`, or when the server stops or the fit is deleted. Holds
        neither a thread nor the database while it waits, or while its events are not read.
        """
        clock = asyncio.get_running_loop().time
        deadline = inf if terms.seconds is None else clock() + terms.seconds
        after, left, most = terms.after, terms.events_max, BATCH
        heartbeat_at = clock() + self._heartbeat_seconds
        with self._notifier.subscribe(fit_id) as subscription:
            while True:
                limit = most if left is None else min(most, left)
                reading = await asyncio.to_thread(self._read, fit_id, after, limit, terms.metrics)
                most = len(reading.events) if reading.cut else min(BATCH, 2 * most)
                if reading.events or clock() >= heartbeat_at:
                    yield reading.events
                    heartbeat_at = clock() + self._heartbeat_seconds
                if reading.events:
                    after = reading.events[-1].seq
                left = None if left is None else left - len(reading.events)
                if reading.finished or left == 0 or clock() >= deadline or self._notifier.closed:
                    return
                if not reading.events:
                    await subscription.wait(max(0.0, min(heartbeat_at, deadline) - clock()))
                elif len(reading.events) < limit and not reading.cut:
                    await self._rest(min(terms.interval, deadline - clock()))

    async def _rest(self, seconds: float) -> None:
        """Wait between two deliveries, in short parts: a server that stops does not wait for it."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while (left := until - clock()) > 0 and not self._notifier.closed:
            await asyncio.sleep(min(left, REST_SECONDS))

    def _read(self, fit_id: str, after: int, limit: int, metrics: bool) -> _Reading:
        with self._store.read() as work:
            events = work.events.after(fit_id, after, limit, metrics=metrics)
            if events:
                kept = _limit_batch(events, BATCH_CHARACTERS)
                return _Reading(kept, finished=kept[-1].kind == "end", cut=len(kept) < len(events))
            last = work.events.last_seq(fit_id)
            if last == 0:
                return _Reading((), finished=True)  # deleted while it was being streamed
            # A client that has seen everything, and comes back after the end, receives the `end` event again.
            final = work.events.after(fit_id, last - 1, 1)[0]
            ended = final.kind == "end"
            return _Reading((final,) if ended else (), finished=ended)


def _limit_batch(events: Sequence[Event], characters: int) -> tuple[Event, ...]:
    """Return the first events up to this number of characters in total, at least one."""
    lengths = accumulate(len(event.body) for event in events)
    count = sum(1 for _ in takewhile(lambda length: length <= characters, lengths))
    return tuple(events[: max(1, count)])


def encode_event(event: Event, *, timestamps: bool = False) -> str:
    """Encode an event as an entry of a `text/event-stream` (https://html.spec.whatwg.org/#server-sent-events).

    With `timestamps` its data hold `at`, the time at which it was stored, as those of a state event always do.
    """
    # One line of data: JSON text has no line break of its own that would matter.
    data = event.body if "\n" not in event.body else json.dumps(json.loads(event.body), separators=(",", ":"))
    if timestamps and event.kind != "state":
        data = add_time(data, event.created_at)
    return f"id: {event.seq}\nevent: {event.kind}\ndata: {data}\n\n"
