import asyncio
import json
from typing import Any

import pytest

from app.domain.fit import Event
from app.service.fits.control import FitControl
from app.service.fits.event_log import BATCH, BATCH_CHARACTERS, Events, StreamOptions, encode_event
from app.service.fits.fits import Fits
from app.service.resources.notifier import Notifier
from app.store.unit_of_work import Store


@pytest.fixture
def events(store: Store, notifier: Notifier) -> Events:
    return Events(store, notifier, 0.05)


@pytest.fixture
def fit_id(fits: Fits, request_: dict[str, Any]) -> str:
    """Queue a fit; its journal holds one event."""
    return fits.submit(request_, lambda _work, _view: None).fit.id


async def take(events: Events, fit_id: str, count: int, **terms: Any) -> list[Event | None]:
    """Return so many events, with None for a heartbeat."""
    seen: list[Event | None] = []
    async for several in events.stream(fit_id, StreamOptions(**terms)):
        seen += several or [None]
        if len(seen) >= count:
            break
    return seen[:count]


def test_what_is_stored_comes_first_then_what_happens(events: Events, control: FitControl, fit_id: str) -> None:
    async def follow() -> list[str]:
        kinds = []
        async for several in events.stream(fit_id, StreamOptions()):
            kinds += [event.kind for event in several]
            if [event.seq for event in several] == [1]:
                await asyncio.to_thread(control.cancel, fit_id)
        return kinds

    assert asyncio.run(follow()) == ["state", "state", "end"]


def test_silence_is_broken_by_heartbeats(events: Events, fit_id: str) -> None:
    seen = asyncio.run(take(events, fit_id, 3))
    assert [event and event.kind for event in seen] == ["state", None, None]


def test_wakeups_without_messages_do_not_end_the_silence(events: Events, notifier: Notifier, fit_id: str) -> None:
    async def follow() -> list[Event | None]:
        async def wake() -> None:
            while True:
                notifier.notify(fit_id)
                await asyncio.sleep(0.01)

        waking = asyncio.create_task(wake())
        try:
            return await asyncio.wait_for(take(events, fit_id, 3), 10)
        finally:
            waking.cancel()

    assert [event and event.kind for event in asyncio.run(follow())] == ["state", None, None]


@pytest.mark.parametrize(("length", "most"), [(10, BATCH), (BATCH_CHARACTERS // 4, 4), (2 * BATCH_CHARACTERS, 1)])
def test_a_stream_holds_little_for_a_client_that_takes_nothing_however_long_events_are(
    events: Events, store: Store, control: FitControl, fit_id: str, length: int, most: int
) -> None:
    row = json.dumps("x" * (length - 2))
    with store.begin() as work:
        work.events.append_metrics(fit_id, [(seq, row) for seq in range(1, 181)])

    control.cancel(fit_id)

    async def lengths() -> list[int]:
        return [len(several) async for several in events.stream(fit_id, StreamOptions(after=1))]

    taken = asyncio.run(lengths())
    assert sum(taken) == 182  # with the state and the end
    assert max(taken[:-1]) == most


def test_a_stream_ends_at_its_limits(events: Events, fit_id: str) -> None:
    assert len(asyncio.run(take(events, fit_id, 9, events_max=1))) == 1
    assert asyncio.run(take(events, fit_id, 9, after=1, seconds=0.01)) == []


def test_a_stream_ends_when_the_server_stops(events: Events, notifier: Notifier, fit_id: str) -> None:
    async def follow() -> int:
        task = asyncio.create_task(take(events, fit_id, 10**6))
        await asyncio.sleep(0.02)
        notifier.close()
        return len(await task)

    assert asyncio.run(asyncio.wait_for(follow(), 5)) >= 1


def test_a_stream_ends_when_the_fit_is_deleted(events: Events, fits: Fits, control: FitControl, fit_id: str) -> None:
    async def follow() -> list[Event | None]:
        task = asyncio.create_task(take(events, fit_id, 10**6, after=3))
        await asyncio.sleep(0.02)
        await asyncio.to_thread(control.cancel, fit_id)
        await asyncio.to_thread(fits.delete, fit_id)
        return await task

    seen = asyncio.run(asyncio.wait_for(follow(), 5))
    assert {event and event.kind for event in seen} <= {None, "end"}


def test_a_journal_longer_than_a_batch_comes_whole(
    events: Events, store: Store, control: FitControl, fit_id: str
) -> None:
    with store.begin() as work:
        work.events.append_metrics(fit_id, [(seq, f'{{"seq":{seq}}}') for seq in range(1, 1801)])
    control.cancel(fit_id)
    seen = asyncio.run(take(events, fit_id, 10**6))
    assert [event.seq for event in seen if event is not None] == [*range(1, 1804)]


def test_an_event_is_encoded_as_browsers_read_it(events: Events, fit_id: str) -> None:
    (event,) = asyncio.run(take(events, fit_id, 1))
    assert event is not None
    first, second, third, *rest = encode_event(event).split("\n")
    assert (first, second, rest) == ("id: 1", "event: state", ["", ""])
    assert third == f"data: {event.body}"
