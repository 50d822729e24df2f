"""What must hold whatever was killed, each a function that raises Broken where it does not.

All of it is judged by what a client was sent and has noted, or by what lies on the disk once the server has stopped.
"""

import hashlib
import itertools
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import engine
from app.domain.fit import TERMINAL, TRANSITIONS, FitState
from app.service.admin.directory_identity import MARKER
from app.store.blobs.local import LocalBlobStore
from app.store.blobs.store import is_digest
from app.store.database import FILE_NAME
from app.store.unit_of_work import Store
from tests.chaos.driver import Driver, Event, Journal, Observed
from tests.chaos.places import ClusterPlace, unfinished_files

BLOBS_MAX = 1_000_000
Row = Mapping[str, Any]


class Broken(AssertionError):
    """An invariant does not hold."""


def no_acknowledged_fit_is_lost(journal: Journal, exists: Callable[[str], bool]) -> None:
    """Whatever was answered with an id is there."""
    for key, fit_id in journal.acknowledged():
        _demand(exists(fit_id), f"fit {fit_id} was acknowledged for {key!r} and is gone")


def one_key_made_one_fit(journal: Journal, known: Sequence[str]) -> None:
    """A key was always answered with the same fit, and no fit is there that no key has."""
    first: dict[str, str] = {}
    for key, fit_id in journal.acknowledged():
        _demand(first.setdefault(key, fit_id) == fit_id, f"key {key!r} made {first[key]} and {fit_id}")
    strangers = set(known) - set(first.values())
    _demand(not strangers, f"fits nobody asked for: {sorted(strangers)}")


def moves_are_legal(events: Sequence[Event]) -> None:
    """Events are numbered without a gap, and each state may follow the one before."""
    _demand([event.seq for event in events] == [*range(1, len(events) + 1)], "events have gaps")
    states = _states(events)
    _demand(states[:1] in ([FitState.QUEUED], [FitState.PAUSED]), f"a fit begins as {states[:1]}")
    for before, after in itertools.pairwise(states):
        _demand(after in TRANSITIONS[before], f"a fit went from {before} to {after}")


def there_is_one_end(events: Sequence[Event]) -> None:
    """A fit ends in one terminal state, which nothing follows; one that was reopened has one end all the same."""
    last = _states(events)[-1]
    _demand(last in TERMINAL, f"the last state is {last}")
    ends = [event.body["state"] for event in events if event.kind == "end"]
    _demand(ends == [last] and events[-1].kind == "end", f"ends {ends} after {last}; the last is a {events[-1].kind}")


def rows_are_gap_free(rows: Sequence[Row]) -> None:
    """Rows are numbered from 1 on without a gap, and training steps go up."""
    _demand([row["seq"] for row in rows] == [*range(1, len(rows) + 1)], "rows have gaps, or are out of order")
    steps = [row["step"] for row in rows if row["split"] == "train"]
    _demand(all(a < b for a, b in itertools.pairwise(steps)), "training steps do not go up")


def rows_never_change(read: Sequence[Row], present: Sequence[Row]) -> None:
    """Every row that was ever read is still there, as it was."""
    _demand(len(present) >= len(read), f"{len(read)} rows were read, {len(present)} are left")
    changed = [before["seq"] for before, now in zip(read, present, strict=False) if before != now]
    _demand(not changed, f"rows {changed[:5]} are not what they were")


def same_bits(observed: Observed, undisturbed: Observed) -> None:
    """The curve and the last checkpoint are those of a fit that nothing disturbed, bit for bit."""
    _demand(
        observed.fit["state"] == undisturbed.fit["state"],
        f"it ended as {observed.fit['state']}: {observed.fit['error']}",
    )
    _demand(observed.rows == undisturbed.rows, f"rows differ: {_first_difference(observed.rows, undisturbed.rows)}")
    ours, theirs = (each.contents[each.final["id"]] for each in (observed, undisturbed))
    _demand(observed.final["step"] == undisturbed.final["step"], "the last checkpoint is of another step")
    _demand(ours == theirs, "the last checkpoint differs")


def every_listed_checkpoint_loads(observed: Observed, folder: Path) -> None:
    """What is listed can be fetched, is what its digest says, and holds the step that it is listed for."""
    for listed in observed.checkpoints:
        content = observed.contents[listed["id"]]
        digest = hashlib.sha256(content).hexdigest()
        _demand(digest == listed["digest"], f"checkpoint {listed['id']} of step {listed['step']} is damaged")
        path = folder / digest
        path.write_bytes(content)
        try:
            step = engine.Checkpoint.load(path).cursor["step"]
        except engine.CheckpointError as error:
            raise Broken(f"checkpoint {listed['id']} cannot be loaded: {error}") from error
        _demand(step == listed["step"], f"checkpoint {listed['id']} is of step {step}, not {listed['step']}")


def attempts_go_forward(attempts: Sequence[Row], newest: int, events: Sequence[Event]) -> None:
    """Attempts of a fit that has ended are numbered from 1 on and have ended; states are stored in their order."""
    numbers = [attempt["number"] for attempt in attempts]
    _demand(numbers == [*range(1, newest + 1)], f"attempts are numbered {numbers}, and {newest} is the newest")
    _demand(all(attempt["ended_at"] for attempt in attempts), "an attempt of a fit that has ended goes on")
    reported = [event.body["attempt"] for event in events if event.kind == "state"]
    _demand(reported == sorted(reported), f"states were reported of the attempts {reported}")


def nothing_is_left_over(data_dir: Path) -> None:
    """A stopped server leaves no temporary file, no staging folder and no blob that nothing refers to."""
    for folder in (data_dir / "blobs" / "tmp", data_dir / "staging", data_dir / "scratch"):
        left = [*folder.rglob("*")] if folder.exists() else []
        _demand(not left, f"left over: {[str(path.relative_to(data_dir)) for path in left]}")
    files = [path for path in (data_dir / "blobs").rglob("*") if path.is_file()]
    strange = [path for path in files if not is_digest(path.name) and path.name != MARKER]
    _demand(not strange, f"strange files among the blobs: {strange}")
    with Store.open(data_dir) as store, store.begin() as work:
        referenced = work.blob_references.all()
    present = set(LocalBlobStore(data_dir).digests())
    _demand(present <= referenced, f"{len(present - referenced)} blobs are orphans")
    _demand(referenced <= present, f"{len(referenced - present)} blobs are missing")


def every_blob_is_what_its_name_says(data_dir: Path) -> None:
    """Whoever asks for bytes by their digest gets them."""
    for path in (data_dir / "blobs" / "sha256").glob("*/*"):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        _demand(digest == path.name, f"blob {path.name} holds the bytes of {digest}")


def the_database_is_whole(data_dir: Path) -> None:
    """SQLite finds nothing wrong with the file of a stopped server."""
    connection = sqlite3.connect(data_dir / FILE_NAME)
    try:
        found = connection.execute("PRAGMA integrity_check").fetchall()
        foreign = connection.execute("PRAGMA foreign_key_check").fetchall()
    finally:
        connection.close()
    _demand(found == [("ok",)] and not foreign, f"the database is damaged: {found[:3]} {foreign[:3]}")


def all_hold(driver: Driver, folder: Path, *, to_the_end: bool = True) -> dict[str, Observed]:
    """Check everything once all fits have ended, then stop the server and look at what it leaves.

    With `to_the_end` each fit is to come to what it comes to undisturbed. Returns what was reported, by key.
    """
    journal = driver.journal
    no_acknowledged_fit_is_lost(journal, lambda fit_id: driver.answered("GET", f"/v1/fits/{fit_id}").is_success)
    for key in driver.wanted:
        driver.post(key)
    one_key_made_one_fit(journal, [fit["id"] for fit in driver.asked("/v1/fits", limit=1000)["data"]])
    observed = {key: driver.observe(fit_id) for key, fit_id in dict(journal.acknowledged()).items()}
    for each in observed.values():
        moves_are_legal(each.events)
        there_is_one_end(each.events)
        rows_are_gap_free(each.rows)
        rows_never_change(driver.read.get(each.fit["id"], []), each.rows)
        attempts_go_forward(each.fit["attempts"], each.fit["attempt"], each.events)
        every_listed_checkpoint_loads(each, folder)
    for key, undisturbed in driver.undisturbed([*driver.wanted] if to_the_end else ()).items():
        same_bits(observed[key], undisturbed)
    driver.stop()
    what_servers_leave_is_clean(driver)
    return observed


def what_servers_leave_is_clean(driver: Driver) -> None:
    """Check everything that the stopped servers of a driver have left."""
    if isinstance(driver.place, ClusterPlace):
        # The first server of all marks what killed ones have stored and not committed.
        driver.start_one()
        driver.stop()
        the_shared_storage_is_clean(driver.place)
    else:
        the_disk_is_clean(driver.data_dir)


def the_disk_is_clean(data_dir: Path) -> None:
    """Check everything about the folder of a stopped server."""
    the_database_is_whole(data_dir)
    every_blob_is_what_its_name_says(data_dir)
    nothing_is_left_over(data_dir)


def the_shared_storage_is_clean(place: ClusterPlace) -> None:
    """Each blob of the bucket is whole, and in use or to be deleted; all that are in use are there."""
    left = unfinished_files(place)
    _demand(not left, f"left over: {[str(path) for path in left]}")
    with place.store() as store, store.begin() as work:
        referenced = work.blob_references.all()
        noted = work.discarded_blobs.take(timedelta(0), BLOBS_MAX)
    present = place.digests()
    _demand(referenced <= present, f"{len(referenced - present)} blobs are missing")
    orphans = present - referenced - {*noted} - place.orphans()
    _demand(not orphans, f"{len(orphans)} blobs are orphans: {sorted(orphans)}")
    for digest in present:
        found = hashlib.sha256(place.read_blob(digest)).hexdigest()
        _demand(found == digest, f"blob {digest} holds the bytes of {found}")


def _states(events: Sequence[Event]) -> list[FitState]:
    return [FitState(event.body["state"]) for event in events if event.kind == "state"]


def _first_difference(ours: Sequence[Row], theirs: Sequence[Row]) -> str:
    for a, b in zip(ours, theirs, strict=False):
        if a != b:
            return f"{json.dumps(a)} in place of {json.dumps(b)}"
    return f"{len(ours)} in place of {len(theirs)}"


def _demand(holds: bool, complaint: str) -> None:
    if not holds:
        raise Broken(complaint)
