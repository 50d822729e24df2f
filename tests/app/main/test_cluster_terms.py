"""What several servers have to agree on, and how a server that does not is refused."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from app.config.settings import Settings
from app.domain.errors import DatabaseUnusable
from app.domain.servers import ServerRecord
from app.main.cluster import AGREED, BLOBS, PLACES, SECRETS, SESSIONS, check_agreement, data_directory_id, terms_of
from app.store.data_directory import SERVERS
from app.system.durable import Durable

SECRET, KEY = "the-secret-of-these-servers", "a-key-of-the-operator"
SHARED: dict[str, Any] = {
    "database_url": "postgresql+psycopg://adjoint:hunter2@db/adjoint",
    "cluster_secret": SECRET,
    "api_key": KEY,
    "workers": 2,
}


def terms(blobs: str = "s3://models", sessions: str = "the database", **settings: Any) -> dict[str, Any]:
    return terms_of(Settings(**{**SHARED, **settings}), {BLOBS: blobs, SESSIONS: sessions})


def refusal(own: dict[str, Any], theirs: dict[str, Any], url: str = "http://10.0.0.5:8000") -> str:
    with pytest.raises(DatabaseUnusable) as caught:
        check_agreement(own, ServerRecord("srv_1", url, "0.1.0", theirs))
    return caught.value.detail


def test_all_that_is_compared_is_a_setting() -> None:
    assert {*AGREED, *SECRETS, *PLACES} <= Settings.model_fields.keys()
    assert terms().keys() == {*AGREED, *SECRETS, *PLACES, BLOBS, SESSIONS}


def test_servers_with_the_same_settings_agree_whatever_is_their_own() -> None:
    other = terms(port=8002, host="127.0.0.1", internal_url="http://10.0.0.6:8000", log_level="debug", workers=7)
    check_agreement(terms(), ServerRecord("srv_1", "", "0.1.0", other))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_rows": 5}, "ADJOINT_MAX_ROWS is 1000000000 here and 5 there"),
        ({"runner": "ray", "ray_address": "10.0.0.9:6379"}, "ADJOINT_RUNNER is local here and ray there"),
        ({"retention_days": 3.0}, "ADJOINT_RETENTION_DAYS is None here and 3.0 there"),
        ({"cluster_secret": "another-secret-of-theirs"}, "ADJOINT_CLUSTER_SECRET differs"),
        ({"api_key": None}, "ADJOINT_API_KEY differs"),
        ({"blobs": "gs://models"}, "its stored files are in s3://models, and those of http://10.0.0.5:8000 in gs://"),
        (
            {"sessions": "the data directory 5"},
            "its sessions are kept in the database, and those of http://10.0.0.5:8000 in the data directory 5",
        ),
    ],
)
def test_a_difference_is_named_in_one_line_without_secrets(settings: dict[str, Any], said: str) -> None:
    theirs = terms(**settings)
    detail = refusal(terms(), theirs)
    assert said in detail
    assert "\n" not in detail
    for secret in (SECRET, KEY, "another-secret-of-theirs", "hunter2"):
        assert secret not in detail + str(theirs)


def test_all_differences_are_named_at_once() -> None:
    detail = refusal(terms(), terms(max_rows=5, max_columns=6), url="")
    assert "srv_1" in detail
    assert detail.index("ADJOINT_MAX_COLUMNS") < detail.index("ADJOINT_MAX_ROWS")


def test_a_server_that_never_leads_runs_no_fits_anywhere() -> None:
    on_ray = terms(runner="ray", ray_address="10.0.0.9:6379")
    check_agreement(terms(workers=0), ServerRecord("srv_1", "", "0.1.0", on_ray))
    check_agreement(on_ray, ServerRecord("srv_1", "", "0.1.0", terms(workers=0)))


def test_versions_that_compare_more_or_less_can_run_beside_one_another() -> None:
    older = {name: value for name, value in terms().items() if name not in PLACES}
    check_agreement(terms(runner="ray", ray_address="10.0.0.9:6379"), ServerRecord("srv_1", "", "0.0.9", older))
    check_agreement(older, ServerRecord("srv_1", "", "0.2.0", {**terms(), "new": 1}))


def test_a_data_directory_has_one_name_whoever_asks_first(tmp_path: Path) -> None:
    for folder in ("shared", "other"):
        (tmp_path / folder / SERVERS).mkdir(parents=True)
    with ThreadPoolExecutor(8) as pool:
        names = {*pool.map(lambda _: data_directory_id(tmp_path / "shared", Durable()), range(16))}
    assert len(names) == 1
    assert data_directory_id(tmp_path / "other", Durable()) not in names
    assert [path.name for path in (tmp_path / "shared" / SERVERS).iterdir()] == ["identity"]
