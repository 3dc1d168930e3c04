"""No file of the package imports itself through others, imports inside functions and those of types included."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import condyle

PACKAGE = Path(condyle.__file__).parent


def modules() -> dict[str, Path]:
    """Every file by the name of its module; a package is its `__init__.py`."""
    parts = {path: path.relative_to(PACKAGE.parent).with_suffix("").parts for path in PACKAGE.rglob("*.py")}
    return {".".join(names[:-1] if names[-1] == "__init__" else names): path for path, names in parts.items()}


def imported(path: Path, among: Mapping[str, Path]) -> Iterator[str]:
    """The modules that a file imports; of `from package import name` the module of that name, or the package."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.module is not None and not node.level, f"{path}: a relative import"
            full = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in among else node.module for name in full)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def first_circle(imports: Mapping[str, set[str]]) -> list[str]:
    """The modules of a circle, in order; none where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_circle_of_imports() -> None:
    among = modules()
    imports = {name: {*imported(path, among)} & (among.keys() - {name}) for name, path in among.items()}
    assert first_circle(imports) == []


def test_a_circle_is_seen() -> None:
    assert first_circle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
