"""The front door: everything public is there, sorted, and nothing of the engine's inside hides behind another name."""

import json
import subprocess
import sys

import pytest

import engine
from tests.support.rows import each_row


def test_the_names_are_sorted_and_complete():
    assert engine.__all__ == sorted(set(engine.__all__))
    public = {name for name in vars(engine) if not name.startswith("_")}
    modules = {name for name in public if type(getattr(engine, name)).__name__ == "module"}
    assert set(engine.__all__) == public - (modules - set(engine.__all__))


def test_everything_public_is_documented():
    public = {name: getattr(engine, name) for name in engine.__all__}
    assert not [name for name, value in public.items() if callable(value) and not (value.__doc__ or "").strip()]


@each_row("error", [e for e in vars(engine).values() if isinstance(e, type) and issubclass(e, Exception)])
def test_every_error_has_a_code_and_one_root(error):
    assert issubclass(error, engine.EngineError)
    assert error.code.replace("_", "").isalpha()


@pytest.mark.slow
def test_importing_the_engine_brings_in_nothing_of_the_web():
    code = "import sys, engine; import json; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"app", "fastapi", "pydantic", "sqlalchemy", "httpx", "orjson", "torch"} & set(json.loads(loaded))


ALONE = """
import sys

class OnlyNumPy:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        top = name.partition(".")[0]
        if top in sys.stdlib_module_names or top in ("numpy", "engine") or top.startswith("_"):
            return self.finder.find_spec(name, path, target)

sys.meta_path[:] = map(OnlyNumPy, sys.meta_path)
import engine
import numpy as np
x = np.arange(6.0).reshape(3, 2)
graph = engine.parse_graph({"inputs": {"x": ["n", 2]}, "parameters": {"w": [2]}, "program": "loss = sum(x @ w)"})
fit = engine.Fit(graph, engine.read_recipe({"steps": 1, "batch_size": 3}), {"x": x})
fit.advance()
print(engine.executors(), engine.grad(lambda x: x * x)(2.0).item())
"""


def test_the_engine_needs_nothing_but_numpy():
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True)
    assert done.stdout.split() == ["('numpy',)", "4.0"], done.stderr
