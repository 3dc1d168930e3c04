"""Mutants of a toy package: which there are, which ones a weak test lets live, and that nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import mutants

TOY = '''"""1 + 1."""

def sum_below(n: int = 1) -> int:
    if n < 0:
        raise ValueError(f"n = {-n}")
    total = 0
    while n > 0:
        n -= 1
        total = total + n
    return total
'''
WEAK = """from toy.sums import sum_below

def test_it():
    assert sum_below(4) == 6
"""
LINES = {
    "def sum_below(n: int = 2) -> int:",
    "if n <= 0:",
    "if n < 1:",
    "pass",
    "total = 1",
    "while n >= 0:",
    "while n > 1:",
    "n -= 2",
    "total = total - n",
    "total = total",
}


def made(text: str) -> list[mutants.Mutant]:
    edits = [(line, edit) for line, some in mutants.edits_of(text).items() for edit in some]
    return [mutant for one in edits if (mutant := mutants.mutant_of(Path("sums.py"), text, *one)) is not None]


def test_every_kind_of_edit_is_made_once_and_texts_are_left_alone() -> None:
    assert sorted(mutant.after for mutant in made(TOY)) == sorted(LINES)
    after = {mutant.after for mutant in made("x = -a * b[1], not c or d is None\ncheck(x)\n")}
    assert after == {
        "x = (a) * b[1], not c or d is None",
        "x = -a / b[1], not c or d is None",
        "x = -a, not c or d is None",
        "x = -a * b[2], not c or d is None",
        "x = -a * b[1],",
        "x = -a * b[1], (c) or d is None",
        "x = -a * b[1], not c and d is None",
        "x = -a * b[1], not c or d is not None",
        "pass",
    }


def test_mutants_are_spread_over_the_lines_of_all_files(tmp_path: Path) -> None:
    names = [Path(f"{name}.py") for name in "abc"]
    for name, lines in zip(names, (10, 30, 20), strict=True):
        (tmp_path / name).write_text("".join(f"x{k} = {k} + {k}\n" for k in range(lines)))
    drawn = list(mutants.spread(names, 12, 1, tmp_path))
    assert [mutant.path.stem for mutant in drawn] == ["a"] * 2 + ["b"] * 6 + ["c"] * 4
    assert drawn == list(mutants.spread(names, 12, 1, tmp_path)) != list(mutants.spread(names, 12, 2, tmp_path))
    every = list(mutants.spread(names, 100, 1, tmp_path))
    assert len({(mutant.path, mutant.line) for mutant in every}) == 60, "no line twice"


def test_survivors_are_named_and_the_package_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package, tests = tmp_path / "source" / "toy", tmp_path / "test_sums.py"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "sums.py").write_text(TOY)
    tests.write_text(WEAK)
    chosen = [mutant for mutant in made(TOY) if mutant.after in ("total = total - n", "if n < 1:", "total = 1")]
    assert mutants.killed({(str(tests),): chosen}, 1, package) == (2, 0)
    assert capsys.readouterr().out == "sums.py:4\n  - if n < 0:\n  + if n < 1:\n"
    assert sorted(path.name for path in package.iterdir()) == ["__init__.py", "sums.py"]
    assert mutants.run([str(tests)], package, chosen[0], 0.01) == "timeout"
    tests.write_text("")
    assert mutants.run([str(tests)], package, chosen[0], None) == "survived", "no test runs, as where all are slow"
    tests.write_text(WEAK.replace("6", "7"))
    with pytest.raises(SystemExit, match="the tests fail without a mutant"):
        mutants.killed({(str(tests),): chosen}, 1, package)
