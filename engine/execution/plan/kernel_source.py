"""The Python source of kernels with everything of the engine that it uses, as definitions that stand alone.

What a definition needs is read off its code: each global name is followed to the statement of its module that binds
it, and from there on. NumPy and the standard library are imported; annotations, which nothing reads, are left out.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from engine.core.errors import EngineError
from engine.execution.plan.module_source import IMPORTED, Name, arguments_of, name_of, read, statement_of


class Import(NamedTuple):
    """A module, or a name of one, that a program imports."""

    module: str
    name: str | None
    alias: str


NUMPY = Import("numpy", None, "np")
"""Every program imports it by this name."""


class KernelSource:
    """Collects definitions. Ask for kernels with `function`, then `bind` names and print with `imports` and `text`."""

    def __init__(self, reserved: Iterable[str] = ()) -> None:
        """Start with nothing; `reserved` are names that no definition may take."""
        self._reserved = {*reserved, *dir(builtins), *keyword.kwlist}
        self._definitions: dict[tuple[str, str], _Definition] = {}  # by module and text, in order of need
        self._targets: dict[Name, Name | Import | None] = {}
        self._names: dict[Name | Import, str] = {NUMPY: "np"}

    def function(self, kernel: Any) -> Name:
        """Take up a function and all that it uses.

        Raises:
            EngineError: its source cannot be had, or it reaches for what is made while the program runs.
        """
        target = self._resolved(name_of(kernel))
        assert isinstance(target, Name)
        return target

    def bind(self) -> frozenset[str]:
        """Give every definition a name of its own; return all names that are taken."""
        taken = set(self._reserved)
        own = frozenset[str]().union(*(definition.locals for definition in self._definitions.values()))
        for target in dict.fromkeys(target for target in self._targets.values() if target is not None):
            if target in self._names:
                continue
            wanted = target.alias if isinstance(target, Import) else target.name
            if wanted in taken or wanted in own:
                wanted = f"{target.module.rpartition('.')[2]}_{wanted.lstrip('_')}"
            while wanted in taken or wanted in own:
                wanted += "_"
            taken.add(wanted)
            self._names[target] = wanted
        return frozenset(taken)

    def name(self, target: Name) -> str:
        """Return what a definition is called, after `bind`."""
        return self._names[target]

    def imports(self) -> list[str]:
        """Print the imports: modules, then names of modules."""
        modules: set[str] = set()
        members: dict[str, set[str]] = {}
        for target, name in self._names.items():
            if isinstance(target, Import):
                given = target.name or target.module
                renamed = given if given == name else f"{given} as {name}"
                (modules if target.name is None else members.setdefault(target.module, set())).add(renamed)
        lines = [f"import {module}" for module in sorted(modules)]
        return lines + [f"from {module} import {', '.join(sorted(names))}" for module, names in sorted(members.items())]

    def text(self) -> Iterator[str]:
        """Print the definitions, each after what it needs to be defined."""
        for definition in self._definitions.values():
            names = {used: self._names[target] for used, target in definition.uses.items() if target is not None}
            inner = {used: name for used, name in names.items() if used in definition.inner}
            renamed = any(used != name for used, name in names.items())
            yield (
                ast.unparse(_GlobalRenamer(names, inner).visit(ast.parse(definition.text)))
                if renamed
                else definition.text
            )

    def _resolved(self, name: Name) -> Name | Import | None:
        """Follow a global name to where it is defined, and take the definition up; None for a builtin."""
        if name not in self._targets:
            self._targets[name] = self._found(name)
        return self._targets[name]

    def _found(self, name: Name) -> Name | Import | None:
        statement = statement_of(name)
        if statement is None:
            if hasattr(builtins, name.name):
                return None
            raise EngineError(f"a program cannot hold {name.name!r} of {name.module}, which no statement there defines")
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._imported(name, statement)
        self._take(name, statement)
        return name

    def _imported(self, name: Name, statement: ast.Import | ast.ImportFrom) -> Name | Import | None:
        alias = next(alias for alias in statement.names if (alias.asname or alias.name) == name.name)
        module = alias.name if isinstance(statement, ast.Import) else statement.module or ""
        if module.partition(".")[0] in IMPORTED:
            return Import(module, None if isinstance(statement, ast.Import) else alias.name, name.name)
        if isinstance(statement, ast.Import) or statement.level or f"{module}.{alias.name}" in sys.modules:
            raise EngineError(f"a program cannot hold the module {name.name!r} of {name.module}: import its names")
        return self._resolved(Name(module, alias.name))

    def _take(self, name: Name, statement: ast.stmt) -> None:
        """Take up a statement, after what it uses."""
        text, bound, outer, inner, own = read(name, statement)
        for made in bound:
            self._targets[Name(name.module, made)] = Name(name.module, made)
        uses = {used: self._resolved(Name(name.module, used)) for used in sorted(outer | inner)}
        self._definitions[name.module, text] = _Definition(text, uses, inner, own)


class _Definition(NamedTuple):
    """A top-level statement.

    Attributes:
        text: the statement as its module has it.
        uses: the definitions of the global names that it binds and reads.
        inner: those that functions in it read.
        locals: the names that belong to these functions.
    """

    text: str
    uses: Mapping[str, Name | Import | None]
    inner: frozenset[str]
    locals: frozenset[str]


class _GlobalRenamer(ast.NodeTransformer):
    """Gives global names their names in the program."""

    def __init__(self, outer: Mapping[str, str], inner: Mapping[str, str]) -> None:
        self._outer = outer
        self._inner = inner

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._outer.get(node.id, node.id)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.name = self._outer.get(node.name, node.name)
        for expression in (*node.bases, *node.keywords, *node.decorator_list):
            self.visit(expression)
        inside = _GlobalRenamer(self._inner, self._inner)
        node.body = [inside.visit(statement) for statement in node.body]
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if self._outer is not self._inner:
            node.name = self._outer.get(node.name, node.name)
        for expression in (*node.decorator_list, *node.args.defaults, *node.args.kw_defaults):
            if expression is not None:
                self.visit(expression)
        inside = _GlobalRenamer(self._inner, self._inner)
        node.body = [inside.visit(statement) for statement in node.body]
        return node


@cache
def numpy_call(kernel: Any) -> tuple[ast.FunctionDef, ast.expr] | None:
    """Return a kernel that only calls NumPy, and this call; None for any other kernel."""
    statement = statement_of(name_of(kernel))
    if not isinstance(statement, ast.FunctionDef):
        return None
    body = [line for line in statement.body if not _is_text(line)]
    if len(body) != 1 or not isinstance(body[0], ast.Return) or not isinstance(body[0].value, ast.Call):
        return None
    call, parameters = body[0].value, {argument.arg for argument in arguments_of(statement.args)}
    names = {node.id for node in ast.walk(call) if isinstance(node, ast.Name)}
    is_numpy = _function_of_numpy(call.func) and kernel.__globals__.get("np") is np
    scoped = any(isinstance(node, ast.Lambda | ast.comprehension) for node in ast.walk(call))
    stores = any(word.arg == "out" for word in call.keywords)
    if not is_numpy or scoped or not stores or names - parameters != {"np"}:
        return None
    return statement, call


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _function_of_numpy(function: ast.expr) -> bool:
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id == "np"
