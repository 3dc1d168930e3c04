"""Names that say nothing stay out of signatures: parameters, fields, attributes, functions and constants of modules."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent / "src" / "condyle"
MOST = {"at": 5, "found": 0, "given": 0, "known": 4, "made": 0, "of": 16, "one": 0, "own": 3}
"""How often each may still cross a function, with underscores around it, or in upper case as a constant. Take a number
down when names go; none goes up."""


def crossing(module: ast.Module) -> Iterator[str]:
    """The names that other functions or modules see."""
    for node in module.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        yield from (target.id.lower() for target in targets if isinstance(target, ast.Name))
    for node in ast.walk(module):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
            yield from (argument.arg for argument in ast.walk(node.args) if isinstance(argument, ast.arg))
        elif isinstance(node, ast.ClassDef):
            fields = [line.target for line in node.body if isinstance(line, ast.AnnAssign)]
            yield from (field.id for field in fields if isinstance(field, ast.Name))
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def counted(text: str) -> Counter[str]:
    return Counter(bare for name in crossing(ast.parse(text)) if (bare := name.strip("_")) in MOST)


def test_names_that_cross_a_function_say_what_they_are() -> None:
    count = sum((counted(path.read_text(encoding="utf-8")) for path in PACKAGE.rglob("*.py")), Counter[str]())
    more = {name: f"{count[name]} times, at most {most}" for name, most in MOST.items() if count[name] > most}
    assert not more, "take names that say what the thing is"


def test_each_way_across_a_function_counts() -> None:
    text = """
ONE: int = 1
class A:
    own: int
    def _at(self, of, *given, made=0, **found):
        self.known_, at = 1, lambda of: of
"""
    assert counted(text) == Counter(MOST.keys())
    assert not counted("def f(x):\n    one, at = x\n    return g(x, of=one)")
