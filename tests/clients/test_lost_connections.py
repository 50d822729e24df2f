import asyncio
import hashlib

import numpy as np
import pytest

from adjoint_client import AsyncClient, Client, DownloadDamaged, ServerUnreachable

X = np.ones((8, 2), np.float32)
Y = np.ones(8, np.float32)
CUTS = [700, 1500, 900, 3000, 50]


@pytest.fixture(scope="module")
def finished(url, line):
    """The id of a fit with some dozens of events and a checkpoint."""
    with Client(url) as client:
        fit = client.fit(line, {"x": X, "y": Y}, steps=40)
        fit.wait()
        return fit.id


@pytest.fixture(scope="module")
def large(url):
    """The id of a fit whose checkpoint has some hundred kilobytes."""
    wide = {"inputs": {"x": ["batch", 2], "y": ["batch"]}, "parameters": {"u": [2, 20000], "v": [20000]}}
    with Client(url) as client:
        fit = client.fit({**wide, "program": "loss = mean((x @ u @ v - y) ** 2)"}, {"x": X, "y": Y}, steps=1)
        fit.wait()
        return fit.id


def test_events_cut_off_anywhere_come_once_each_and_in_order(url, finished, cut):
    with Client(url) as client:
        undisturbed = list(client.get_fit(finished).watch())
    assert [event.id for event in undisturbed] == list(range(1, len(undisturbed) + 1))
    assert undisturbed[-1].kind == "end"
    with cut(CUTS) as proxy, Client(proxy.url) as client:
        assert list(client.get_fit(finished).watch()) == undisturbed
        assert proxy.connections > len(CUTS)


def test_events_cut_off_anywhere_come_once_each_with_asyncio_too(url, finished, cut):
    async def watched(address):
        async with AsyncClient(address) as client:
            fit = await client.get_fit(finished)
            return [event async for event in fit.watch(after=3)]

    with cut(CUTS) as proxy:
        ids = [event.id for event in asyncio.run(watched(proxy.url))]
    assert ids == list(range(4, len(ids) + 4))


def test_a_watched_fit_goes_on_across_a_cut(url, line, cut):
    with cut([1_000_000, 2500]) as proxy, Client(proxy.url) as client:
        assert client.fit(line, {"x": X, "y": Y}, steps=200).wait(progress=lambda _: None).step == 200


def test_a_download_goes_on_where_it_was_cut(url, large, tmp_path, cut):
    with cut([50_000, 100_000]) as proxy, Client(proxy.url) as client:
        checkpoint = client.get_fit(large).checkpoint("latest")
        assert checkpoint.info.size_bytes > 300_000
        path = checkpoint.download(tmp_path / "large.safetensors")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == checkpoint.info.digest
    assert proxy.connections == 3
    assert proxy.answered_bytes < checkpoint.info.size_bytes + 10_000, "no byte came twice"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_download_that_was_given_up_is_gone_on_with_later(url, large, tmp_path, cut):
    path = tmp_path / "large.safetensors"
    with cut([50_000, *[1] * 20]) as proxy, Client(proxy.url) as client:
        checkpoint = client.get_fit(large).checkpoint("latest")
        with pytest.raises(ServerUnreachable):
            checkpoint.download(path)
    (partial,) = tmp_path.iterdir()
    assert 0 < partial.stat().st_size < checkpoint.info.size_bytes
    with Client(url) as client:
        client.get_checkpoint(checkpoint.id).download(path)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == checkpoint.info.digest


def test_a_download_whose_beginning_is_wrong_is_refused_and_the_next_one_is_right(client, large, tmp_path):
    checkpoint = client.get_fit(large).checkpoint("latest")
    partial = tmp_path / f"model.safetensors.{checkpoint.info.digest[:12]}.part"
    partial.write_bytes(b"something else")
    with pytest.raises(DownloadDamaged, match=checkpoint.info.digest):
        checkpoint.download(tmp_path / "model.safetensors")
    path = checkpoint.download(tmp_path / "model.safetensors")
    assert hashlib.sha256(path.read_bytes()).hexdigest() == checkpoint.info.digest


def test_a_repeated_request_takes_effect_once(url, line, cut):
    # The first answer is lost after the server has done its work; the second try gets the same one.
    with cut([20]) as proxy, Client(proxy.url) as client:
        graph = client.graph({**line, "name": "sent twice"})
        assert proxy.connections == 2
    with Client(url) as client:
        named = [item.id for item in client.graphs() if item.name == "sent twice"]
    assert named == [graph.id]


def test_a_checkpoint_is_loaded_without_a_file(client, large):
    checkpoint = client.get_fit(large).checkpoint("latest")
    everything = checkpoint.tensors().arrays
    parameters = checkpoint.load()
    assert set(parameters) == {"u", "v"}
    assert parameters["u"].shape == (2, 20000)
    assert any(name.startswith("optimizer:") for name in everything)
