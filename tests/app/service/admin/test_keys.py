from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.domain.access import ApiKeyRecord, Scope
from app.domain.errors import Conflict, Invalid, NotFound, Unauthorized
from app.domain.ids import new_id
from app.service.admin.keys import SETTING, KeyRing, Keys
from app.store.pages import PageRequest
from app.store.unit_of_work import Store
from tests.support.manual_clock import ManualClock

MOMENT = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)  # the clock of these tests
MINUTE = timedelta(minutes=1)
EVERYTHING = [Scope.ADMIN]


@pytest.fixture
def ring(clock: ManualClock) -> KeyRing:
    return KeyRing(clock)


@pytest.fixture
def keys(store: Store, ring: KeyRing) -> Keys:
    return Keys(store, ring)


def refusal(ring: KeyRing, sent: str) -> str:
    with pytest.raises(Unauthorized) as caught:
        ring.caller(sent.encode())
    return caught.value.code


def used_at(keys: Keys, key: ApiKeyRecord) -> datetime | None:
    keys.write_uses()
    return keys.get(key.id).used_at


def test_a_key_is_known_as_soon_as_it_is_made_and_until_it_is_revoked(keys: Keys, ring: KeyRing) -> None:
    assert not ring.closed
    key, sent = keys.create("ci", [Scope.TRAIN, Scope.ADMIN], None)
    assert key.scopes == ["train", "admin"]
    caller = ring.caller(sent.encode())
    assert (caller.key_id, caller.tenant, caller.scopes) == (key.id, "default", {*Scope})
    keys.revoke(key.id)
    assert refusal(ring, sent) == "unknown_key"
    assert ring.closed


def test_a_revoked_key_stays_on_record_as_it_ended_first(keys: Keys, clock: ManualClock) -> None:
    key, _ = keys.create("ci", EVERYTHING, None)
    keys.revoke(key.id)
    clock.advance(5)
    keys.revoke(key.id)
    assert keys.get(key.id).revoked_at == MOMENT
    assert [known.id for known in keys.list(PageRequest()).items] == [key.id]
    with pytest.raises(NotFound):
        keys.revoke(new_id("key"))


def test_a_key_is_good_up_to_the_moment_it_expires(keys: Keys, ring: KeyRing, clock: ManualClock) -> None:
    _, sent = keys.create("ci", EVERYTHING, MOMENT + MINUTE)
    clock.advance(59.999)
    ring.caller(sent.encode())
    clock.advance(0.001)
    assert refusal(ring, sent) == "expired_key"


def test_the_right_id_with_another_secret_is_nobodys(keys: Keys, ring: KeyRing, clock: ManualClock) -> None:
    key, sent = keys.create("ci", EVERYTHING, MOMENT + MINUTE)
    _, other = keys.create("other", EVERYTHING, None)
    head, _, secret = sent.rpartition("_")
    wrong = [f"{head}_{other.rpartition('_')[2]}", f"{head}_", f"{head}_{secret.upper()}", sent[:-1], sent + "0"]
    clock.advance(120)  # also once it has expired, which only its owner is shown
    assert [refusal(ring, each) for each in wrong] == ["unknown_key"] * len(wrong)
    assert key.digest not in sent


def test_no_secret_is_stored(keys: Keys, store: Store, tmp_path: Path) -> None:
    _, sent = keys.create("ci", EVERYTHING, None)
    store.close()
    secret = sent.rpartition("_")[2].encode()
    assert [path for path in tmp_path.iterdir() if secret in path.read_bytes()] == []


def test_keys_are_known_again_after_a_restart(keys: Keys, store: Store, clock: ManualClock) -> None:
    key, sent = keys.create("ci", EVERYTHING, None)
    later = KeyRing(clock)
    Keys(store, later)
    assert later.closed
    assert later.caller(sent.encode()).key_id == key.id


def test_the_key_of_the_settings_allows_everything(clock: ManualClock) -> None:
    ring = KeyRing(clock, b"from-the-settings")
    assert ring.closed
    assert ring.caller(b"from-the-settings") is SETTING
    assert refusal(ring, "from-the-setting") == "unknown_key"
    assert refusal(ring, "x" * 5000) == "unknown_key"


def test_the_last_use_is_written_down_once_a_minute_at_most(keys: Keys, ring: KeyRing, clock: ManualClock) -> None:
    key, sent = keys.create("ci", EVERYTHING, None)
    assert used_at(keys, key) is None
    for seconds, expected in ((0, 0), (30, 0), (29, 0), (1, 60), (10, 60)):
        clock.advance(seconds)
        ring.caller(sent.encode())
        assert used_at(keys, key) == MOMENT + timedelta(seconds=expected)
    assert ring.take_uses() == {}


def test_the_first_key_closes_the_server_and_a_reset_opens_it(keys: Keys, ring: KeyRing, store: Store) -> None:
    assert keys.closed_by is None
    first, sent = keys.create("boss", EVERYTHING, None)
    keys.create("other", EVERYTHING, None)
    keys.revoke(first.id)
    assert (ring.closed, keys.closed_by) == (True, first.id)
    assert keys.reset(lambda work: work.api_keys.count()) == 2
    assert not ring.closed
    assert keys.list(PageRequest()).items == ()
    assert refusal(ring, sent) == "unknown_key"
    assert keys.create("again", EVERYTHING, None)[0].id == keys.closed_by


def test_what_makes_no_sense_is_refused(keys: Keys) -> None:
    with pytest.raises(Invalid, match="admin") as caught:
        keys.create("ci", [Scope.TRAIN], None)
    assert caught.value.findings[0].pointer == "/scopes"
    keys.create("boss", EVERYTHING, None)
    keys.create("ci", [Scope.TRAIN], None)
    with pytest.raises(Invalid, match="passed") as caught:
        keys.create("ci", [Scope.READ], MOMENT)
    assert caught.value.findings[0].pointer == "/expires_at"


def test_there_is_a_limit_to_keys_and_revoking_frees_space(store: Store, ring: KeyRing) -> None:
    keys = Keys(store, ring, most=1)
    key, _ = keys.create("one", EVERYTHING, None)
    with pytest.raises(Conflict, match="revoke some"):
        keys.create("two", EVERYTHING, None)
    keys.revoke(key.id)
    keys.create("two", EVERYTHING, None)
