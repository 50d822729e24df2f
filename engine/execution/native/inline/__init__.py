"""Functions that become part of the kernels that call them.

The compiler reads its options when the first function is declared, so they are set here, before.
"""

import llvmlite.binding
import numba


def _use_whole_registers() -> None:
    """Let the compiler use all 512 bits of registers that have them: gelu takes 0.65 of the time then.

    LLVM keeps to 256 of them for the sake of processors that once became slower. What the environment says counts more.
    """
    features = llvmlite.binding.get_host_cpu_features()
    if numba.config.CPU_FEATURES is None and features.get("avx512f"):
        numba.config.CPU_FEATURES = f"{features.flatten()},-prefer-256-bit"


_use_whole_registers()
