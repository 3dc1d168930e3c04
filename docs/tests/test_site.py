"""The manual: its contents name every page, its tutorials run as they stand, its equations need no network."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.processor import slow
from tests.programs import HERE, page_named, skip_without
from tools.manual.docstrings import plain, readable, rewritten
from tools.manual.pages import INCLUDED, contents, parts

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
INDEX = DOCS / "index.md"
DECISIONS = DOCS / "explanation" / "decisions.md"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILES = {"cpp": "main.cpp", "cmake": "CMakeLists.txt"}


def test_contents_name_every_page_once() -> None:
    listed = [(DOCS / page).resolve() for _, pages in parts(INDEX.read_text()) for page in pages]
    assert len(listed) == len(set(listed))
    wanted = {path for pattern in INCLUDED for path in ROOT.glob(pattern.replace("**.md", "**/*.md"))} - {INDEX}
    assert wanted <= set(listed)


def test_contents_keep_the_order_of_the_page() -> None:
    page = "# T\n[a](a.md)\n## One\n* [b](x/b.md): text\n* [c](../C.md#there)\n* [p](p.py)\n* [d](d.md)\n## Two\n"
    assert list(parts(page)) == [("One", ["x/b.md", "d.md"]), ("Two", [])]
    assert contents(page) == "```{toctree}\n:hidden:\n:caption: One\n\nx/b\nd\n```"


def test_every_named_decision_is_on_the_page() -> None:
    """Code and pages name decisions by the numbers that the page's sections have."""
    held = set(re.findall(r"\b0\d{3}\b", " ".join(re.findall(r"^\*20.*?\)\.\*", DECISIONS.read_text(), re.MULTILINE))))
    named = {
        (path.name, number)
        for pattern in ("src/**/*.py", "src/**/*.md", "docs/**/*.md", "*.md")
        for path in ROOT.glob(pattern)
        for number in re.findall(r"decision (\d+)\b", path.read_text(), re.IGNORECASE)
    }
    assert len(held) > 100
    assert len(named) > 10
    assert not [place for place in named if place[1] not in held]


def test_tutorials_are_short() -> None:
    assert TUTORIALS
    for page in TUTORIALS:
        assert len(page.read_text().splitlines()) <= 100, page


def test_pages_are_short() -> None:
    """Words with code; decisions are a record, and the table of functions is written by a program."""
    pages = [page for page in DOCS.rglob("*.md") if page not in (DECISIONS, DOCS / "reference" / "functions.md")]
    assert len(pages) > 40
    words = {page.relative_to(DOCS).as_posix(): len(page.read_text(encoding="utf-8").split()) for page in pages}
    longest = sorted(words, key=lambda page: -words[page])[:5]
    assert sum(words.values()) <= 35_000, f"{sum(words.values())} words; the longest pages are {', '.join(longest)}"


def run(command: list[str], folder: Path) -> str:
    path = os.pathsep.join([HERE, os.environ["PATH"]])
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


@pytest.mark.parametrize("page", ["guide", "coming-from", "large-jobs", "links", "fpga", "drives"])
def test_programs_of_a_page_run(page: str, tmp_path: Path) -> None:
    if page == "fpga":
        skip_without("iverilog", "make")
    needed = {"large-jobs": "dask.array", "coming-from": "pinocchio"}
    if page in needed:
        pytest.importorskip(needed[page], reason="pip install 'condyle[test]'")
    shutil.copy(DOCS / "arm.urdf", tmp_path)
    blocks = BLOCK.findall(page_named(page).read_text())
    run([sys.executable, "-W", "error", "-c", "\n".join(text for kind, text in blocks if kind == "python")], tmp_path)


@pytest.mark.parametrize("page", ["gpu"])
def test_programs_of_the_gpu_page_run_on_the_fake_driver(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = drivers.Driver(FakeDriver())
    monkeypatch.setattr(drivers, "driver", lambda: one)
    drivers.gpu.cache_clear()
    blocks = [text for kind, text in BLOCK.findall(page_named(page).read_text()) if kind == "python"]
    assert blocks
    try:
        exec("\n".join(blocks), {})
    finally:
        drivers.gpu.cache_clear()


@pytest.mark.parametrize("name", ["arm", "identification", "legs", "predictive_control", slow("jax")])
def test_python_of_a_tutorial_runs_and_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    blocks = BLOCK.findall((DOCS / "tutorials" / f"{name}.md").read_text())
    program = "\n".join(text for kind, text in blocks if kind == "python")
    printed = run([sys.executable, "-W", "error", "-c", program], tmp_path)
    for kind, text in blocks:
        assert kind in {"python", "text"}
        assert kind != "text" or text in printed


@pytest.mark.parametrize("learns", [False, slow(True)])
def test_a_quadruped_of_the_tutorial_stands_and_learns(learns: bool, tmp_path: Path) -> None:
    """Blocks that need the trainer are `py`; here they make two iterations of 16 robots."""
    if learns:
        pytest.importorskip("rsl_rl", reason="pip install rsl-rl-lib")
    blocks = BLOCK.findall((DOCS / "tutorials" / "quadruped.md").read_text())
    assert {kind for kind, _ in blocks} == {"python", "py"}
    program = "\n".join(text for kind, text in blocks if learns or kind == "python")
    assert not learns or program.count("= 2048, 190") == 1
    printed = run([sys.executable, "-W", "error", "-c", program.replace("= 2048, 190", "= 16, 2")], tmp_path)
    assert "(64, 48)" in printed
    assert (tmp_path / "walk.svg").exists() == learns


OTHERS = {
    "arm": {
        "iiwa14": "ur5e",
        "iiwa_link_7": "tool0",
        "0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0": "0.0, -1.2, 1.2, 0.0, 0.3, 0.0",
    },
    "legs": {"hyq": "anymal_kinova", **{f"{leg}_foot": f"{leg.upper()}_FOOT" for leg in ("lf", "rf", "lh", "rh")}},
    "predictive_control": {
        "iiwa14": "ur5e",
        "iiwa_link_7": "tool0",
        "0.0, 0.6, 0.0, -1.2, 0.0, 0.8, 0.0": "0.0, -1.2, 1.2, 0.0, 0.3, 0.0",
    },
    "jax": {"iiwa14": "ur5e"},
}
"""What a reader with another robot changes in a tutorial."""


@pytest.mark.parametrize("name", ["arm", "legs", slow("predictive_control"), slow("jax")])
def test_a_tutorial_is_for_other_robots_too(name: str, tmp_path: Path) -> None:
    program = "\n".join(
        text for kind, text in BLOCK.findall((DOCS / "tutorials" / f"{name}.md").read_text()) if kind == "python"
    )
    for old, new in OTHERS[name].items():
        assert program.count(old) == 1
        program = program.replace(old, new)
    run([sys.executable, "-W", "error", "-c", program], tmp_path)


@pytest.mark.parametrize("name", ["cpp", "fpga"])
def test_commands_of_a_tutorial_run_in_their_order(name: str, tmp_path: Path) -> None:
    skip_without(*{"cpp": ("cmake", "g++"), "fpga": ("iverilog", "make")}[name])
    shutil.copy(DOCS / "arm.urdf", tmp_path)
    blocks = BLOCK.findall((DOCS / "tutorials" / f"{name}.md").read_text())
    for kind, text in blocks:
        if kind in FILES:
            (tmp_path / FILES[kind]).write_text(text)
    printed = ""
    for kind, text in blocks:
        if kind == "sh":
            printed = run(["bash", "-euo", "pipefail", "-c", text], tmp_path)
        elif kind == "python":
            run([sys.executable, "-W", "error", "-c", text], tmp_path)
        elif kind == "text":
            assert text in printed


def test_every_page_with_a_program_is_named_by_a_test() -> None:
    tests = "\n".join(path.read_text() for path in (*ROOT.glob("tests/**/*.py"), *ROOT.glob("*/tests/**/*.py")))
    pages = [path for path in DOCS.rglob("*.md") if "```python\n" in path.read_text()]
    assert len(pages) > 20
    assert not [page.stem for page in pages if f'"{page.stem}"' not in tests and f'"{page.name}"' not in tests]


def test_equations_become_mathml() -> None:
    pytest.importorskip("latex2mathml")
    from latex2mathml.converter import convert

    equations = re.findall(r"\$\$(.*?)\$\$", page_named("algorithms").read_text(), re.DOTALL)
    assert equations
    for equation in equations:
        made = convert(equation, display="block")
        assert made.startswith("<math") and "\\" not in made, equation


def test_markup_outside_code_is_escaped() -> None:
    assert plain("a*b in `x*y_`, |q| and dt_") == r"a\*b in `x*y_`, \|q\| and dt\_"


def test_parameters_and_quantities_of_a_docstring_become_lists() -> None:
    text = ["Moves it.", "", "step [s]: how long. limit: (3,) [m], at most; see", "`load`. ModelError says why."]
    assert rewritten(text, ["step", "limit"]) == [
        *("Moves it.", "", "* step [s]: how long.", "", "* limit: (3,) [m], at most; see `load`.", ""),
        *("ModelError says why.", ""),
    ]
    hanging = ["mimic: follow, or", "    not; dt: a step.", "All others", "limit (3,): of it.", "", "    q = 1  # code"]
    assert rewritten(hanging, []) == [
        *("* mimic: follow, or not; dt: a step.", "", "All others", "", "* limit (3,): of it.", ""),
        *("::", "", "        q = 1  # code", ""),
    ]
    port = "q (..., nq) [rad | m], frame joint: configuration"
    assert rewritten(["id.", "", port], []) == ["id.", "", r"* q (..., nq) [rad \| m], frame joint: configuration", ""]


def test_types_are_readable() -> None:
    assert readable(None) is None
    assert readable("(q: TypeAliasForwardRef('ArrayLike') | None)") == "(q: ArrayLike | None)"
    assert readable("dict[str, ndarray[tuple[Any, ...], dtype[floating]]]") == "dict[str, ndarray]"


def test_a_page_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("furo")
    pytest.importorskip("sphinx")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text("# Manual\n\n## Part\n\n* [a page](page.md)\n")
    (tmp_path / "docs" / "page.md").write_text(
        "# A page\n\nFor $x_1$, back to [the index](index.md#part).\n\n$$y^2$$\n"
    )
    made = tmp_path / "made"
    settings = ROOT / "tools" / "manual"
    run([sys.executable, "-m", "sphinx", "-q", "-W", "-c", str(settings), str(tmp_path), str(made)], ROOT)
    page = (made / "docs" / "page.html").read_text()
    assert page.count("<math") == 2 and 'href="index.html#part"' in page
    loaded = re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"([^\"]*)", page)
    assert loaded and not [place for place in loaded if "//" in place]
    assert "docs/index.html" in (made / "index.html").read_text()
