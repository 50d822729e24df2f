import asyncio

import pytest

from adjoint_client import AsyncClient, BackupDamaged, Client, ServerError, ServerUnreachable, archive


@pytest.fixture
def stored(client):
    """A server that has something to be backed up."""
    client.upload({"x": [[float(row), 1.0] for row in range(50_000)]})
    return client


def backed_up(client, path):
    """Make a backup, waiting for one that was just given up."""
    while True:
        try:
            return client.backup(path)
        except ServerError as error:
            if error.code != "backup_in_progress":
                raise


def test_a_backup_is_a_file_that_is_whole(stored, tmp_path):
    path = tmp_path / "backup.tar"
    path.write_text("the one of yesterday")
    manifest = backed_up(stored, path)
    assert manifest.counts["datasets"] >= 1
    assert [file.name for file in tmp_path.iterdir()] == ["backup.tar"]
    with path.open("rb") as file:
        assert archive.read_archive(file, archive.Nowhere()) == manifest


def test_a_backup_is_made_with_asyncio_too(url, stored, tmp_path):
    async def create():
        async with AsyncClient(url) as client:
            return await client.backup(tmp_path / "backup.tar")

    assert asyncio.run(create()).blobs == backed_up(stored, tmp_path / "again.tar").blobs


def test_a_lost_connection_leaves_what_was_there(stored, tmp_path, cut):
    path = tmp_path / "backup.tar"
    path.write_text("the one of yesterday")
    with cut([100_000]) as proxy, Client(proxy.url) as client, pytest.raises(ServerUnreachable):
        client.backup(path)
    assert [file.name for file in tmp_path.iterdir()] == ["backup.tar"]
    assert path.read_text() == "the one of yesterday"
    backed_up(stored, path)


def test_a_backup_that_turns_out_to_be_damaged_leaves_what_was_there(stored, tmp_path, monkeypatch):
    def damaged(_file, _sink):
        raise BackupDamaged("it is torn")

    monkeypatch.setattr("adjoint_client._sync.backup.read_archive", damaged)
    with pytest.raises(BackupDamaged):
        backed_up(stored, tmp_path / "backup.tar")
    assert [*tmp_path.iterdir()] == []
