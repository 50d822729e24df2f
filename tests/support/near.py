"""Comparing arrays within a tolerance, at a tenth of the cost of NumPy's function where they agree."""

import numpy as np
from numpy.typing import NDArray


def assert_near(found: NDArray, wanted: NDArray, what: str, *, rtol: float, atol: float) -> None:
    """Compare numbers as `numpy.testing.assert_allclose` does, which shows how they differ if they do."""
    if found.shape == wanted.shape and found.dtype.kind == wanted.dtype.kind == "f":
        with np.errstate(all="ignore"):
            if (np.abs(found - wanted) <= atol + rtol * np.abs(wanted)).all():
                return
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol, equal_nan=True, err_msg=what)
