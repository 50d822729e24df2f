"""The BLAS that kernels share with NumPy."""

import threadpoolctl

from engine.execution.native.blas import numpy_blas


def threads():
    """The threads of each BLAS that is not SciPy's, which another test may have loaded."""
    pools = [pool for pool in threadpoolctl.threadpool_info() if pool["user_api"] == "blas"]
    return [pool["num_threads"] for pool in pools if "scipy.libs" not in pool["filepath"]]


def test_products_take_one_thread_until_the_last_that_asked_has_left():
    with threadpoolctl.threadpool_limits(2, user_api="blas"):
        blas = numpy_blas()
        with blas.one_thread():
            assert set(threads()) == {1}
            with blas.one_thread():
                assert set(threads()) == {1}
            assert set(threads()) == {1}
        assert set(threads()) == {2}
