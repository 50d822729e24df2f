"""How functions are compiled that only kernels call.

By default numba optimises each function by itself and emits its machine code, which nobody runs, before it becomes part
of its caller: what lies below four levels of calls is compiled four times. Functions that only kernels call are linked
into them as they are, and optimised there.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class LinkedCompiler(Compiler):  # type: ignore[misc] # numba has no types
    """Compiles functions that are linked into kernels."""

    def compile_extra(self, func: Any) -> Any:
        """Compile a function."""
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc] # numba has no types
    """The code of one function, to be linked into that of its callers."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave the code as it is."""
        ll_module.data_layout = str(self._codegen.target_data)

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""

    def _finalize_final_module(self) -> None:
        """Emit no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    @property
    def codegen(self) -> Any:
        """What numba tells the environment of the machine code."""
        return _NoMachineCode()


class _NoMachineCode:
    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: there is no code that would look for it."""
