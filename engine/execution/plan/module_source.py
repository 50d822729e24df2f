"""Modules as statements: what each name is bound by, and which names a statement binds and reads."""

from __future__ import annotations

import ast
import base64
import dis
import inspect
import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from types import CodeType, MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from engine.core.dtypes import BFLOAT16, DType, is_float
from engine.core.errors import EngineError
from engine.core.registry import Op
from engine.core.value import Array

SHORT = 64
"""Elements that are written as numbers; longer arrays are written as bytes."""


def is_plain(value: Any) -> bool:
    """Tell whether `literal` can write a value."""
    if isinstance(value, tuple | list):
        return type(value) in (tuple, list) and all(map(is_plain, value))
    if isinstance(value, Mapping):
        return type(value) is dict and all(is_plain(item) for pair in value.items() for item in pair)
    return value is None or type(value) in (bool, int, float, str) or isinstance(value, np.dtype)


def literal(value: Any) -> str:
    """Write a number, text, dtype, or a list or dict of these, as an expression of Python."""
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, np.dtype):
        return dtype_literal(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{literal(key)}: {literal(item)}" for key, item in value.items()) + "}"
    return repr(value)


def dtype_literal(dtype: DType) -> str:
    """Write an element type."""
    return "np.dtype(ml_dtypes.bfloat16)" if dtype is BFLOAT16 else f'np.dtype("{dtype.name}")'


def array_literal(array: Array) -> str:
    """Write an array: as numbers when it is short and finite, else as its bytes."""
    dtype, shape = dtype_literal(array.dtype), array.shape
    exact = array.dtype is not BFLOAT16 and (not is_float(array.dtype) or bool(np.isfinite(array).all()))
    if array.size <= SHORT and exact:
        return f"np.array({array.tolist()!r}, {dtype}).reshape({shape!r})"
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
    return f'np.frombuffer(base64.b64decode("{data}"), {dtype}).reshape({shape!r})'


IMPORTED = sys.stdlib_module_names | {"numpy", "ml_dtypes"}
"""Packages that a program may import; the source of all others is carried over."""

OPERATIONS = ("STORE_NAME", "LOAD_NAME", "LOAD_GLOBAL", "IMPORT_NAME")
"""Instructions that work on names outside of functions."""


class Name(NamedTuple):
    """A global name of a module."""

    module: str
    name: str


class Reading(NamedTuple):
    """The text of a definition, the names it binds, reads when it is made and when it is called, and its own."""

    text: str
    bound: frozenset[str]
    outer: frozenset[str]
    inner: frozenset[str]
    own: frozenset[str]


def read(name: Name, statement: ast.stmt) -> Reading:
    """Read a statement without what a program has no use for; a plain number as it is now."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return _read_definition(name)
    value = _value(name)
    if is_plain(value) and not isinstance(value, np.dtype):
        return _reading(f"{name.name} = {literal(value)}", name)
    return _reading(ast.unparse(_Bare(name.module).visit(ast.parse(ast.unparse(statement)))), name)


@cache
def _read_definition(name: Name) -> Reading:
    statement = statement_of(name)
    assert statement is not None
    return _reading(ast.unparse(_Bare(name.module).visit(ast.parse(ast.unparse(statement)))), name)


def _reading(text: str, name: Name) -> Reading:
    statement, *parts = _codes(compile(text, "<kernel>", "exec", dont_inherit=True))
    names = [_names(part) for part in (statement, *parts)]
    bound = frozenset(names[0]["STORE_NAME"])
    outer = bound | names[0]["LOAD_NAME"]
    inner, own = _globals(names[1:]), _locals(parts)
    if inner & own:
        both = min(inner & own)
        raise EngineError(f"a program cannot hold {name.name!r} of {name.module}: {both!r} has two meanings in it")
    for module in sorted(frozenset[str]().union(*(part["IMPORT_NAME"] for part in names))):
        if module.partition(".")[0] not in IMPORTED:
            raise EngineError(f"a program cannot hold {name.name!r} of {name.module}: it imports {module} when it runs")
    return Reading(text, bound, outer, inner, own)


@cache
def _statements(module: str) -> Mapping[str, ast.stmt]:
    """Return the top-level statement of a module that binds each name; the last one, where there are several."""
    try:
        source = inspect.getsource(sys.modules[module])
    except (OSError, TypeError) as error:
        raise EngineError(f"the source of the module {module!r} cannot be had, so no program can hold it") from error
    bound: dict[str, ast.stmt] = {}
    for statement in ast.parse(source).body:
        bound.update(dict.fromkeys(_bound(statement), statement))
    return MappingProxyType(bound)


def _bound(statement: ast.stmt) -> Iterable[str]:
    """Return the names that a top-level statement binds."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return (statement.name,)
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    return _names(compile(ast.Module([statement], []), "<module>", "exec", dont_inherit=True))["STORE_NAME"]


def name_of(kernel: Any) -> Name:
    """Return the name under which a module defines a function or a class."""
    name = Name(kernel.__module__, kernel.__qualname__)
    found = _value(name)
    if kernel is not (found.body if isinstance(found, Op) else found):
        raise EngineError(f"a program cannot hold {name.name!r}: define it at the top level of {name.module}")
    return name


def statement_of(name: Name) -> ast.stmt | None:
    """Return the top-level statement that binds a name."""
    return _statements(name.module).get(name.name)


def _value(name: Name) -> Any:
    return getattr(sys.modules[name.module], name.name, None)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> Mapping[str, set[str]]:
    """Return the names that code works on by each of OPERATIONS; code within it has names of its own."""
    names: dict[str, set[str]] = {operation: set() for operation in OPERATIONS}
    for instruction in dis.get_instructions(code):
        if instruction.opname in names:
            names[instruction.opname].add(instruction.argval)
    return names


def _globals(parts: Iterable[Mapping[str, set[str]]]) -> frozenset[str]:
    """Return the global names that functions and classes in a statement read, given the names in their code."""
    found: set[str] = set()
    for names in parts:
        found |= names["LOAD_NAME"] - names["STORE_NAME"] - {"__module__", "__qualname__", "__name__"}
        found |= names["LOAD_GLOBAL"]
    return frozenset(found)


def _locals(parts: Iterable[CodeType]) -> frozenset[str]:
    """Return the names that belong to functions."""
    return frozenset(n for part in parts for n in (*part.co_varnames, *part.co_cellvars, *part.co_freevars))


def arguments_of(arguments: ast.arguments) -> list[ast.arg]:
    """Return all parameters of a function."""
    optional = [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *optional]


class _Bare(ast.NodeTransformer):
    """Strips a definition of annotations, and takes ops for their kernels."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._classes = 0

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if isinstance(_value(Name(self._module, node.name)), Op):
            node.decorator_list = []
        node.returns = None
        for argument in arguments_of(node.args):
            argument.annotation = None
        classes, self._classes = self._classes, 0
        self.generic_visit(node)
        self._classes = classes
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        self._classes += 1
        self.generic_visit(node)
        self._classes -= 1
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        self.generic_visit(node)
        if self._classes and not ast.unparse(node.annotation).startswith("ClassVar"):
            node.annotation = ast.Name("object")  # a field is recognised by having an annotation of any kind
            return node
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign([node.target], node.value), node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr != "body" or not isinstance(node.value, ast.Name):
            return node
        return node.value if isinstance(_value(Name(self._module, node.value.id)), Op) else node
