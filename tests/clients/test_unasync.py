import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "clients" / "unasync.py"


@pytest.fixture(scope="module")
def unasync():
    spec = importlib.util.spec_from_file_location("unasync", PATH)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.unasync


CASES = {
    "async def f():\n    return await g()\n": "def f():\n    return g()\n",
    "async with a as b:\n    pass\n": "with a as b:\n    pass\n",
    "x = [e async for e in s]\n": "x = [e for e in s]\n",
    "return_value = AsyncClient(await f(AsyncFitHandle))\n": "return_value = Client(f(FitHandle))\n",
    "async def __aiter__(self):\n    yield 1\n": "def __iter__(self):\n    yield 1\n",
    "await asyncio.sleep(1)\n": "time.sleep(1)\n",
    'f("await async asyncio", AsyncClient)\n': 'f("await async asyncio", Client)\n',
    '"""See `AsyncClient`.\n\nAnd AsyncFitHandle."""\nx = 1\n': '"""See `Client`.\n\nAnd FitHandle."""\nx = 1\n',
    "from adjoint_client._async.fit import AsyncFitHandle\n": "from adjoint_client._sync.fit import FitHandle\n",
    "an_async_name = 1  # async\n": "an_async_name = 1  # async\n",
}


@pytest.mark.parametrize(("source", "expected"), CASES.items())
def test_asyncio_code_becomes_blocking_code(unasync, source, expected):
    assert unasync(source) == expected
