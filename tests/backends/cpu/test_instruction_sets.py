"""What one instruction set is said in: its rows and its drivers, and nothing else."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import condyle
from condyle.backends.cpu.target import ISAS
from condyle.runtime import machine
from tests.programs import needs

ROOT = Path(__file__).parents[3]
PACKAGE = Path(condyle.__file__).parent
TEXTS = (".py", ".pyi", ".c", ".h")

FILES = {
    "runtime/instruction_sets.h",
    *(f"runtime/{drivers}/{{name}}_{bits}.c" for drivers in ("tiles", "chain") for bits in (64, 32)),
    "backends/cpu/target.py",
}
"""Of a set with vectors of 32 or 64 bytes."""
ENCODING = {"backends/cpu/encode.py"}
"""What changes if its instructions have another encoding."""
ALSO = {"avx512": {"backends/c/support/vector.h"}}
"""Generated C, whose compiler may have the widest vectors."""


def test_a_set_is_said_in_few_files():
    sources = [path for path in sorted(PACKAGE.rglob("*")) if path.suffix in TEXTS]
    texts = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8") for path in sources}
    assert len(texts) > 100
    for name in ISAS:
        spelled = re.compile(name.replace("avx", "avx-?"), re.IGNORECASE)
        said = {path for path, text in texts.items() if spelled.search(text) or spelled.search(path)}
        assert said == {path.format(name=name) for path in FILES | ENCODING} | ALSO.get(name, set())
        assert len(said) <= 8


def test_the_page_says_how_many_files():
    page = (ROOT / "docs" / "explanation" / "extending.md").read_text(encoding="utf-8")
    (count,) = re.findall(r"(\d): an\s+instruction\s+set\b", page)
    assert int(count) == len(FILES)


@pytest.mark.skipif(not machine.instruction_sets(), reason="no machine code of ours runs here")
def test_both_rows_of_a_set_agree():
    """The runtime's row, in C, and the code generator's."""
    can = machine.instruction_sets()
    assert list(can) == [name for name in ISAS if name in can]  # the best one first
    for name in can:
        assert machine.instruction_set_of(ISAS[name].vector_bytes) == name
    assert machine.instruction_set_of(8) is None


PROJECT = """[project]
name = "condyle"
version = "0"
[tool.setuptools.packages.find]
where = ["src"]
"""
PROGRAM = """
import numpy as np
import condyle
from condyle.runtime import machine

assert machine.instruction_sets()[0] == "again"
robot = condyle.load("iiwa14")
q, v = robot.random_state(37, 1)
tau = np.zeros((37, 4, 7))
reference = robot.compile(target="numpy")
for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-3)):  # of the largest entry
    dyn = robot.compile(dtype=dtype)
    x, y, torques = (values.astype(dtype) for values in (q, v, tau))
    pairs = [
        (dyn.forward_dynamics(x[:n], y[:n], y[:n]), reference.forward_dynamics(q[:n], v[:n], v[:n])) for n in (1, 37)
    ]
    pairs.append((dyn.rollout(x, y, torques, 0.01).q, reference.rollout(q, v, tau, 0.01).q))
    for result, expected in pairs:
        assert np.abs(result - expected).max() < tolerance * np.abs(expected).max()
chain = condyle.chain(60, 0)
q, v = chain.random_state(1, 2)
expected = chain.compile(target="numpy").inverse_dynamics(q, v, v)
assert np.abs(chain.compile(links="scan").inverse_dynamics(q, v, v) - expected).max() < 1e-9 * np.abs(expected).max()
"""
"""Tiles, states alone, loops over time, scans."""


@pytest.mark.slow
@pytest.mark.skipif("avx2" not in machine.instruction_sets(), reason="no machine code of ours runs here")
@needs("gcc")
def test_a_set_more_is_two_rows_and_four_drivers(tmp_path: Path):
    """AVX2 once more, by another name, preferred to all others."""
    shutil.copy(ROOT / "setup.py", tmp_path)
    (tmp_path / "pyproject.toml").write_text(PROJECT)  # one that older versions of setuptools read too
    package = tmp_path / "src" / "condyle"
    shutil.copytree(ROOT / "src" / "condyle", package, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    drivers = sorted(package.glob("runtime/*/avx2_*.c"))
    for old in drivers:
        old.with_name(old.name.replace("avx2", "again")).write_text(old.read_text().replace("avx2", "again"))
    rows = {
        "runtime/instruction_sets.h": (
            "#define INSTRUCTION_SETS(ROW) ROW(avx512",
            """#define HAS_again 1
#define again_FEATURES(EACH) EACH("avx2") EACH("fma")
#define INSTRUCTION_SETS(ROW) ROW(again, 32) ROW(avx512""",
        ),
        "backends/cpu/target.py": (
            "for isa in (AVX512, AVX2)}",
            'for isa in (replace(AVX2, name="again"), AVX512, AVX2)}',
        ),
    }
    assert len(drivers) + len(rows) == len(FILES)
    for name, (old, new) in rows.items():
        text = (package / name).read_text()
        assert text.count(old) == 1
        (package / name).write_text(text.replace(old, new))
    known = {**os.environ, "PYTHONPATH": str(package.parent), "CONDYLE_CACHE_DIR": str(tmp_path / "cache")}
    for command in (("setup.py", "build_ext", "--inplace"), ("-c", PROGRAM)):
        done = subprocess.run(
            [sys.executable, *command], cwd=tmp_path, env=known, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
