import asyncio
import hashlib

import numpy as np
import pytest

from adjoint_client import AsyncClient, Client, ServerError, ServerUnreachable
from adjoint_client.safetensors import encode

X = np.random.default_rng(0).normal(size=(64, 2)).astype(np.float32)
Y = X @ np.array([3.0, -1.0], np.float32) + 2.0
FIELDS = {"epochs": 60, "batch_size": 16, "optimizer": {"kind": "adam", "lr": 0.1}}


def check_result(fit, rows, losses, gradients, parameters, predicted, by_name):
    assert fit.state == "succeeded"
    assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
    assert losses.shape == (240,)
    assert losses[-1] < 1e-3 < losses[0]
    assert set(gradients) == {"", "w", "b"}
    assert all(norms.shape == (240,) for norms in gradients.values())
    np.testing.assert_allclose(gradients[""] ** 2, gradients["w"] ** 2 + gradients["b"] ** 2, rtol=1e-4)
    np.testing.assert_allclose(parameters["w"], [3, -1], atol=0.05)
    assert set(parameters) == {"w", "b"}
    assert parameters["b"].shape == ()
    np.testing.assert_allclose(predicted, Y[:5], atol=0.1)
    np.testing.assert_array_equal(by_name["pred"], predicted)


def test_a_round_trip_without_asyncio(url, line):
    with Client(url) as client:
        dataset = client.upload({"x": X, "y": Y}, name="line")
        graph = client.graph(line)
        fit = client.fit(graph, dataset, validation=0.25, **FIELDS | {"epochs": 1})
        assert fit.wait().state == "succeeded"
        assert fit.losses("validation").shape == (1,)
        fit = client.fit(graph.id, dataset.id, **FIELDS)
        result = fit.wait()
        checkpoint = fit.checkpoint("latest")
        check_result(
            result,
            fit.metrics(),
            fit.losses(),
            fit.gradients(),
            checkpoint.load(),
            fit.predict(X[:5]),
            checkpoint.predict({"x": X[:5]}),
        )
        assert checkpoint.id in [kept.id for kept in fit.checkpoints()]
        assert client.get_checkpoint(checkpoint.id).info == checkpoint.info
        assert client.get_fit(fit.id).info == result
        fit.delete()
        with pytest.raises(ServerError, match="not_found"):
            fit.refresh()


def test_a_round_trip_with_asyncio(url, line):
    async def round_trip():
        async with AsyncClient(url) as client:
            fit = await client.fit(line, {"x": X, "y": Y}, **FIELDS)
            result = await fit.wait()
            checkpoint = await fit.checkpoint("best")
            return (
                result,
                await fit.metrics(),
                await fit.losses(),
                await fit.gradients(),
                await (await fit.checkpoint()).load(),
                await fit.predict(X[:5]),
                await (await fit.checkpoint()).predict({"x": X[:5]}),
                checkpoint,
            )

    *results, best = asyncio.run(round_trip())
    check_result(*results)
    assert best.info.is_best


@pytest.mark.parametrize("ending", ["csv", "npz", "npy", "json", "ndjson"])
def test_a_file_is_uploaded_as_what_its_name_says(client, tmp_path, ending):
    path = tmp_path / f"some-rows.{ending}"
    columns = {"x": np.arange(4.0)}
    match ending:
        case "csv":
            path.write_text("x\n0.5\n1.5\n2.5\n3.5\n")
        case "npz":
            np.savez(path, **columns)
        case "npy":
            np.save(path, columns["x"])
        case "json":
            path.write_text('{"columns": {"x": [0.0, 1.0, 2.0, 3.0]}}')
        case "ndjson":
            path.write_text("".join(f'{{"x": {value}}}\n' for value in columns["x"]))
    dataset = client.upload(path)
    assert (dataset.name, dataset.format_, dataset.rows) == ("some-rows", ending, 4)
    assert [column.name for column in dataset.columns] == ["x"]


def test_a_large_file_is_streamed_and_its_digest_is_that_of_its_bytes(client, tmp_path):
    path = tmp_path / "large.npy"
    np.save(path, np.zeros((1 << 19, 2), np.float32))
    assert client.upload(path).digest == hashlib.sha256(path.read_bytes()).hexdigest()


def test_large_arrays_are_sent_in_pieces(client, url):
    columns = {"x": np.arange(1 << 19, dtype=np.int64)}
    digest = hashlib.sha256(encode(columns)).hexdigest()

    async def upload():
        async with AsyncClient(url) as other:
            return await other.upload(columns)

    assert client.upload(columns).digest == asyncio.run(upload()).digest == digest


def test_columns_of_a_csv_file_are_grouped(client, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("a,b,kind\n1,2,low\n3,4,high\n")
    dataset = client.upload(path, columns="x:float32[2]=b,a,kind:class", name="points")
    x, kind = dataset.columns
    assert (x.shape, x.maximum, kind.classes) == ([2], 4, ["high", "low"])


def test_a_csv_file_without_a_header_keeps_its_first_row(client, tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("1,2,low\n3,4,high\n")
    assert client.upload(path, columns="x:float32[2],kind:class", header=False).rows == 2


def test_a_file_of_an_unknown_kind_is_refused_before_anything_is_sent(tmp_path):
    path = tmp_path / "rows.xlsx"
    path.touch()
    with Client("http://127.0.0.1:9") as client, pytest.raises(ValueError, match=r"rows\.xlsx"):
        client.upload(path)


def test_a_computation_gives_outputs_losses_and_gradients(client):
    square = {"inputs": {"a": [], "b": []}, "parameters": {"x": []}, "program": "f = a * x ** 2 + b"}
    result = client.compute(square, {"a": 3.0, "b": 4.0}, {"x": 2.0})
    assert result.losses == {"f": 16.0}
    assert result.outputs["f"] == 16.0
    assert result.gradients["x"] == 12.0


def test_derivatives_take_and_give_arrays(client):
    cubes = {"inputs": {"a": []}, "parameters": {"x": [2]}, "program": "loss = a * sum(x ** 3)"}
    wants = [{"hvp": {"by": {"x": np.ones(2)}}}, {"gradient_of": ["loss"], "cotangents": {"loss": 2.0}, "by": ["a"]}]
    result = client.compute(cubes, {"a": 1.0}, {"x": np.array([1.0, 2.0])}, want=wants)
    assert result.gradients == {}
    assert [{name: array.tolist() for name, array in found.items()} for found in result.derivatives] == [
        {"x": [6.0, 12.0]},
        {"a": 18.0},
    ]


def test_gradients_are_checked(client):
    kink = {"inputs": {}, "parameters": {"w": [2], "v": [200]}, "program": "loss = sum(relu(w)) + sum(v ** 2)"}
    result = client.gradcheck(kink, parameters={"w": np.array([1.0, 0.0])}, elements=5)
    assert not result.ok
    assert not result.gradients["w"].ok
    assert result.gradients["w"].worst == (1,)
    assert result.gradients["v"].ok
    assert result.gradients["v"].checked == len(result.gradients["v"].elements) == 5


def test_a_loss_that_is_not_finite_arrives_as_what_it_is(client):
    overflow = {"inputs": {"a": []}, "parameters": {"x": []}, "program": "f = exp(a) * x"}
    result = client.compute(overflow, {"a": 1000.0}, {"x": 1.0}, want=["outputs"])
    assert np.isinf(result.losses["f"])
    assert np.isinf(result.outputs["f"])


def test_a_refusal_names_every_fault_with_its_place(client):
    with pytest.raises(ServerError) as caught:
        client.graph({"inputs": {"x": ["batch"]}, "parameters": {"w": []}, "program": "loss = maen(x * w)"})
    error = caught.value
    assert error.status == 422
    assert error.findings
    assert "mean" in str(error)
    assert error.findings[0].pointer in str(error)
    assert error.request_id


def test_a_misspelt_field_of_a_fit_is_an_error(client, line):
    with pytest.raises(ServerError, match="epoch") as caught:
        client.fit(line, {"x": X, "y": Y}, epoch=3)
    assert caught.value.status == 422


def test_a_fit_is_cancelled(client, line):
    fit = client.fit(line, {"x": X, "y": Y}, steps=1_000_000)
    assert fit.cancel().state in ("cancelling", "cancelled")
    assert fit.wait().state == "cancelled"


def test_a_missing_server_is_reported_in_one_line():
    with Client("http://127.0.0.1:9") as client, pytest.raises(ServerUnreachable, match=r"127\.0\.0\.1:9") as caught:
        client.system()
    assert "\n" not in str(caught.value)


def test_waiting_shows_progress_to_a_function_and_ends_with_the_last_state(client, line):
    seen = []
    client.fit(line, {"x": X, "y": Y}, steps=20).wait(progress=seen.append)
    assert seen[-1].state == "succeeded"
    assert (seen[-1].step, seen[-1].total_steps) == (20, 20)
    assert [progress.step for progress in seen] == sorted(progress.step for progress in seen)
    assert seen[-1].values["loss"] > 0


def test_what_a_fit_normalises_and_averages_predictions_do_too(client, line):
    raw = X * [100, 0.01] + [50, 3]
    fields = {"epochs": 40, "batch_size": 16, "optimizer": {"kind": "adam", "lr": 0.1}}
    fit = client.fit(
        line,
        {"x": raw, "y": Y},
        normalize={"x": "standard"},
        average={"kind": "ema", "decay": 0.9},
        early_stopping={"monitor": "loss", "patience": 3},
        **fields,
    )
    assert fit.wait().state == "succeeded"
    np.testing.assert_allclose(fit.predict(raw[:5]), Y[:5], atol=0.2)
    scaled = (raw - raw.mean(0)) / raw.std(0)
    last = fit.checkpoint("latest").load()
    # The last weights are not the average that predictions are made with.
    assert not np.allclose(fit.predict(raw[:5]), scaled[:5] @ last["w"] + last["b"], rtol=1e-6, atol=0)


def test_several_datasets_are_one(client, line):
    whole = client.upload({"x": X, "y": Y})
    parts = [client.upload({"x": X[rows], "y": Y[rows]}) for rows in (slice(0, 10), slice(10, 64))]
    fields = {"epochs": 2, "batch_size": 16}
    fits = [
        client.fit(line, whole, validation=whole, **fields),
        client.fit(line, parts, validation=[part.id for part in parts], **fields),
    ]
    assert [fit.wait().state for fit in fits] == ["succeeded", "succeeded"]
    assert fits[0].metrics() == fits[1].metrics()
    assert fits[1].info.datasets == [part.id for part in parts]


def test_a_fit_that_ended_early_says_why(client, line):
    fit = client.fit(line, {"x": X, "y": Y}, epochs=100, budget={"steps": 3})
    assert "3 steps" in fit.wait().stop_reason
    assert (fit.info.step, fit.info.progress) == (3, 1.0)
