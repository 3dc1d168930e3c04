"""Whether tests can fail: changes one place of a file at a time, and lists the changes that no test notices.

python -m tools.mutants src/condyle/readers/urdf.py               20 mutants of one file
python -m tools.mutants src/condyle/model --count 100 --jobs 2    of a folder
python -m tools.mutants src/condyle/ground/feet.py --tests tests/ground/test_laws.py

A mutant is a copy of the package in which one sign, operator, comparison, constant, default, term, part of a tuple or
statement is another one. The tests that `tests.where` names run on the copy; the checkout is only read. A survivor
needs a test that fails on it, or it is equivalent: nothing that can be observed tells it from the original.

cosmic-ray writes mutants into the checkout and has no dropped terms; mutmut 3 puts a dispatcher around every function,
which changes what is traced and hashed here. So mutants are made by this file alone.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import pytest
from tqdm import tqdm

from tests.where import ROOT, places

SOURCE = ROOT / "src" / "condyle"
_WORDS = (
    "Add + -, Sub - +, Mult * /, Div / *, MatMult @ *, And and or, Or or and, Lt < <=, LtE <= <, Gt > >=, GtE >= >, "
    "Eq == !=, NotEq != ==, Is is is_not, IsNot is_not is, In in not_in, NotIn not_in in"  # codespell:ignore
)
WORDS = {name: (old.replace("_", " "), new.replace("_", " ")) for name, old, new in map(str.split, _WORDS.split(", "))}
"""Operators by their names in `ast`: how they are written, and what becomes of them."""
OF_ALL = ("tests/test_conventions.py",)
"""Tests that hold every file; they run after those of the file."""
SLOWER, START = 3.0, 20.0
"""A mutant that takes this many times as long as the original, and these seconds, does not end: it is killed."""


@dataclass(frozen=True)
class Edit:
    """The bytes from begin to end become others."""

    begin: int
    end: int
    new: str


@dataclass(frozen=True)
class Mutant:
    """path: from the package's folder. before, after: the line. text: the whole file."""

    path: Path
    line: int
    before: str
    after: str
    text: str


class Edits(ast.NodeVisitor):
    """All edits of a file. Annotations, texts, and what a raise says are left alone."""

    def __init__(self, text: str) -> None:
        lines = text.encode().splitlines(keepends=True)
        self._starts = [sum(map(len, lines[:k])) for k in range(len(lines))]
        self._bytes, self.found = text.encode(), list[Edit]()

    def _span(self, node: ast.AST) -> tuple[int, int]:
        """Where a node begins and ends."""
        begin, end = getattr(node, "lineno"), getattr(node, "end_lineno")  # noqa: B009
        columns = getattr(node, "col_offset"), getattr(node, "end_col_offset")  # noqa: B009
        return self._starts[begin - 1] + columns[0], self._starts[end - 1] + columns[1]

    def _text(self, begin: int, end: int) -> str:
        return self._bytes[begin:end].decode()

    def _replace(self, node: ast.AST, new: str) -> None:
        self.found.append(Edit(*self._span(node), new))

    def _swap(self, operator: ast.AST, left: ast.AST, right: ast.AST) -> None:
        old, new = WORDS.get(type(operator).__name__, ("", ""))
        begin, end = self._span(left)[1], self._span(right)[0]
        between = self._text(begin, end)
        if old and between.count(old) == 1:
            self.found.append(Edit(begin, end, between.replace(old, new)))

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._swap(node.op, node.left, node.right)
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            self._replace(node, self._text(*self._span(node.left)))
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        for operator, left, right in zip(node.ops, (node.left, *node.comparators), node.comparators, strict=False):
            self._swap(operator, left, right)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in pairwise(node.values):
            self._swap(node.op, left, right)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, (ast.USub, ast.Not)):
            self._replace(node, f"({self._text(*self._span(node.operand))})")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self._replace(node, str(not node.value))
        elif isinstance(node.value, int):
            self._replace(node, str(node.value + 1))
        elif isinstance(node.value, float):
            self._replace(node, repr(2.0 * node.value if node.value else 1.0))

    def visit_Tuple(self, node: ast.Tuple) -> None:
        """Without each of its parts, as a key or a table could be."""
        if isinstance(node.ctx, ast.Load):
            for left, right in pairwise(self._span(part)[1] for part in node.elts):
                self.found.append(Edit(left, right, "," if len(node.elts) == 2 else ""))
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass")

    def visit_Expr(self, node: ast.Expr) -> None:
        """A statement that is a call may check something, or keep it."""
        if isinstance(node.value, ast.Call):
            self._replace(node, "pass")
            self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> None: ...

    def visit_keyword(self, node: ast.keyword) -> None:
        """`strict` of zip says what is known: no test can tell."""
        if node.arg != "strict":
            self.generic_visit(node)

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None: ...

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for part in (*node.decorator_list, node.args, *node.body):
            self.visit(part)


def edits_of(text: str) -> dict[int, list[Edit]]:
    """The edits of each line that has any; some make no mutant."""
    edits, by_line = Edits(text), dict[int, list[Edit]]()
    edits.visit(ast.parse(text))
    for edit in dict.fromkeys(edits.found):
        by_line.setdefault(text.encode().count(b"\n", 0, edit.begin), []).append(edit)
    return by_line


def mutant_of(path: Path, text: str, line: int, edit: Edit) -> Mutant | None:
    """The file after an edit; none if it is not Python or the same program."""
    data = text.encode()
    changed = (data[: edit.begin] + edit.new.encode() + data[edit.end :]).decode()
    try:
        same = ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
    except SyntaxError:
        return None
    before, after = (version.splitlines()[line].strip() for version in (text, changed))
    return None if same else Mutant(path, line + 1, before, after, changed)


def spread(names: Sequence[Path], count: int, seed: int, package: Path = SOURCE) -> Iterator[Mutant]:
    """Mutants of files: the lines that can be changed, in order, are cut into equal parts, and each part gives one.

    So every folder has as many as its code has lines."""
    texts = {name: (package / name).read_text(encoding="utf-8") for name in names}
    lines = [(name, line, edits) for name, text in texts.items() for line, edits in sorted(edits_of(text).items())]
    chance, count = random.Random(seed), min(count, len(lines))
    for part in range(count):
        places = lines[part * len(lines) // count : (part + 1) * len(lines) // count]
        tries = (
            mutant_of(name, texts[name], line, edit)
            for name, line, edits in chance.sample(places, len(places))
            for edit in chance.sample(edits, len(edits))
        )
        yield from islice(filter(None, tries), 1)


def run(tests: Sequence[str], package: Path, mutant: Mutant | None, limit: float | None) -> str:
    """What becomes of a mutant of a package: killed, survived or timeout; of none, of a copy as it is."""
    with tempfile.TemporaryDirectory(prefix="condyle-mutant-") as folder:
        copy = Path(folder) / package.name
        shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
        if mutant is not None:
            (copy / mutant.path).write_text(mutant.text, encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
        environment = {**os.environ, "PYTHONPATH": folder, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        try:
            done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=limit, check=False)
        except subprocess.TimeoutExpired:
            return "timeout"
        # a place may have slow tests only
        failed = done.returncode not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        if mutant is None and failed:
            raise SystemExit(f"the tests fail without a mutant:\n{done.stdout.decode()[-2000:]}")
        return "killed" if failed else "survived"


def killed(groups: Mapping[tuple[str, ...], Sequence[Mutant]], jobs: int, package: Path = SOURCE) -> tuple[int, int]:
    """Runs the mutants of each group of tests and prints the survivors; how many were killed, and how many of them by
    their time. First every file and folder of tests runs once without a mutant, for the time limits."""

    def seconds(place: str) -> float:
        began = time.monotonic()
        run([place], package, None, None)
        return time.monotonic() - began

    with ThreadPoolExecutor(jobs) as pool:
        each = list(dict.fromkeys(place for tests in groups for place in tests))
        durations = dict(zip(each, tqdm(pool.map(seconds, each), "tests", len(each), disable=None), strict=True))
        limit = {tests: START + SLOWER * sum(durations[place] for place in tests) for tests in groups}
        mutants = [(tests, mutant) for tests, group in groups.items() for mutant in group]
        results = list[str]()
        of_each = pool.map(lambda case: run(case[0], package, case[1], limit[case[0]]), mutants)
        for (_, mutant), result in zip(mutants, tqdm(of_each, "mutants", len(mutants), disable=None), strict=True):
            results.append(result)
            if result == "survived":
                print(f"{mutant.path}:{mutant.line}\n  - {mutant.before}\n  + {mutant.after}", flush=True)
    return len(results) - results.count("survived"), results.count("timeout")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser("python -m tools.mutants", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="+", type=Path, help="files or folders of src/condyle")
    parser.add_argument(
        "--count", type=int, default=20, help="mutants of all paths together, spread evenly over their lines"
    )
    parser.add_argument("--seed", type=int, default=0, help="chooses them")
    parser.add_argument("--jobs", type=int, default=1, help="mutants at a time")
    parser.add_argument("--tests", nargs="+", help="tests to run, instead of those of each file's folder")
    options = parser.parse_args(arguments)
    files = {file.resolve() for path in options.paths for file in ([path] if path.is_file() else path.rglob("*.py"))}
    names = [file.relative_to(SOURCE) for file in sorted(files)]
    drawn = list(spread(names, options.count, options.seed))
    by_tests: dict[tuple[str, ...], list[Mutant]] = {}
    for mutant in drawn:
        nearest = places(mutant.path.as_posix())
        if not (options.tests or nearest):
            raise SystemExit(f"no tests of {mutant.path}: name some with --tests")
        by_tests.setdefault(tuple(options.tests or (*nearest, *OF_ALL)), []).append(mutant)
    dead, late = killed(by_tests, options.jobs)
    print(f"{dead} of {len(drawn)} mutants killed ({dead / len(drawn):.0%}), {late} of them by their time limit")


if __name__ == "__main__":
    main()
