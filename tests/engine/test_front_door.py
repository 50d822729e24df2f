"""The front door: everything public is there, sorted, and nothing of the engine's inside hides behind another name."""

import json
import subprocess
import sys

import pytest

import engine


def test_the_names_are_sorted_and_complete():
    assert engine.__all__ == sorted(set(engine.__all__))
    public = {name for name in vars(engine) if not name.startswith("_")}
    modules = {name for name in public if type(getattr(engine, name)).__name__ == "module"}
    assert set(engine.__all__) == public - (modules - set(engine.__all__))


def test_everything_public_is_documented():
    public = {name: getattr(engine, name) for name in engine.__all__}
    assert not [name for name, value in public.items() if callable(value) and not (value.__doc__ or "").strip()]


@pytest.mark.parametrize(
    "error", [e for e in vars(engine).values() if isinstance(e, type) and issubclass(e, Exception)]
)
def test_every_error_has_a_code_and_one_root(error):
    assert issubclass(error, engine.EngineError)
    assert error.code.replace("_", "").isalpha()


@pytest.mark.slow
def test_importing_the_engine_brings_in_nothing_of_the_web():
    code = "import sys, engine; import json; print(json.dumps(sorted({m.partition('.')[0] for m in sys.modules})))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not {"app", "fastapi", "pydantic", "sqlalchemy", "httpx", "orjson", "torch"} & set(json.loads(loaded))
