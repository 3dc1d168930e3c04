"""The exported project compiles anywhere without a word, checks itself, and holds no text of the model."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.backends.c.export import export_c
from condyle.backends.c.target import TARGET
from condyle.backends.common.exported_files import Coordinates, counted
from condyle.backends.common.facts import Facts, Vectors
from condyle.errors import UnsupportedError
from condyle.ir.program import Program
from condyle.operations import OPERATIONS
from tests.backends.c.small import meaning, states, tangle, toy
from tests.processor import slow
from tests.programs import call, needs, tool

STRICT = ["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-pedantic"]
COMPILERS = [name for name in ("gcc", "clang", "clang-19") if tool(name)]
EVIL = '*/ int x; "\n#error évil'
JOINTS = [
    Coordinates("shoulder_1", "free", range(7), range(6)),
    Coordinates(EVIL, "revolute", range(7, 8), range(6, 7)),
    Coordinates("finger", "revolute", range(7, 7), range(6, 6), "shoulder_1"),
    Coordinates("thumb", "revolute", range(7, 7), range(6, 6), "<b>|`x"),
]


def vectors(program: Program, n: int = 5, dtype: str = "float64") -> Vectors:
    inputs = states(program, n, dtype)
    return Vectors(tuple(inputs), tuple(meaning(program, inputs)), 1e-10 if dtype == "float64" else 1e-4)


def project(out: Path, name: str = "arm", dtype: str = "float64") -> list[Path]:
    programs = [toy("id"), tangle(3)]
    cases = {program.name: vectors(program, dtype=dtype) for program in programs}
    return export_c(programs, Facts(5, 5, "abc123", "0.1.0", name), out, cases, {"joints": [EVIL]}, JOINTS, dtype)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("machine", ["-march=native", "-mtune=generic", "-DCD_SCALAR"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_compiles_without_a_word_and_is_right(tmp_path: Path, compiler: str, machine: str, dtype: str) -> None:
    project(tmp_path, dtype=dtype)
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    call([compiler, *STRICT, machine, *sources, "-o", "check", "-lm"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 3


@pytest.mark.slow
@needs("cmake")
def test_cmake(tmp_path: Path) -> None:
    project(tmp_path)
    call(["cmake", "-S", ".", "-B", "build"], tmp_path)
    call(["cmake", "--build", "build"], tmp_path)
    call(["ctest", "--test-dir", "build"], tmp_path)


LIBRARY = {"sincos", "memcpy", "memset", "memmove", "fma", "fmod"} | {row.c for row in OPERATIONS.values() if row.c}
"""What exported code may call, also with an f behind it; none of it allocates."""


@pytest.mark.slow
@needs("nm")
@pytest.mark.parametrize("machine", [slow("-march=native"), "-DCD_SCALAR"])
def test_nothing_is_allocated(tmp_path: Path, machine: str) -> None:
    """Straight code, loops, products of matrices: only mathematics is called, and `_with` of our own."""
    project(tmp_path)
    long = condyle.chain(40)
    condyle.export(long, "c", tmp_path / "long", ("dfd",), name="long_one")  # loops
    for source in (*tmp_path.glob("arm_*.c"), *tmp_path.glob("long/long_one_*.c")):
        call(["cc", *STRICT, "-fno-stack-protector", machine, "-c", str(source), "-o", "one.o"], tmp_path)
        wanted = {line.split()[-1] for line in call(["nm", "-u", "one.o"], tmp_path).splitlines()}
        assert {name.rstrip("f") for name in wanted} <= LIBRARY, source


@pytest.mark.slow
def test_loops_have_no_table_that_nothing_reads(tmp_path: Path) -> None:
    condyle.export(condyle.chain(40), "c", tmp_path, ("fd",), name="arm")
    call([COMPILERS[0], *STRICT, "-fsyntax-only", "arm_fd.c"], tmp_path)


@pytest.mark.slow  # the C compiler takes seconds
def test_a_long_workspace_is_given(tmp_path: Path) -> None:
    """It has no plain call, which would put it on the stack; the test and the README use the other one."""
    condyle.export(condyle.chain(40), "c", tmp_path, ("m", "dfd"), name="arm")
    header = (tmp_path / "arm.h").read_text()
    assert "int arm_m(size_t n" in header
    assert "int arm_m_with(size_t n" in header
    assert "int arm_dfd(" not in header and "int arm_dfd_f_ext(" not in header
    assert "int arm_dfd_with(size_t n" in (tmp_path / "README.md").read_text()
    sizes = dict(re.findall(r"enum \{ ARM_(\w+)_WORK = (\d+) \};", header))
    assert int(sizes["M"]) <= TARGET.stack < int(sizes["DFD"]) < int(sizes["DFD_F_EXT"])
    call(["sh", "-c", "cc -O0 -w *.c -lm -o check"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 7


def test_a_workspace_lies_anywhere(tmp_path: Path) -> None:
    """At any address, and no byte outside it is touched."""
    condyle.export(condyle.chain(3), "c", tmp_path, ("id",), name="arm")
    (tmp_path / "main.c").write_text(ANYWHERE)
    call(["cc", *STRICT, "-march=native", "main.c", "arm_id.c", "-lm", "-o", "anywhere"], tmp_path)
    call(["./anywhere"], tmp_path)


ANYWHERE = """
#include "arm.h"
#include <string.h>
int main(void)
{
    static unsigned char room[ARM_ID_WORK + 130];
    double x[ARM_NV] = {1, 2, 3}, want[ARM_NV], got[ARM_NV];
    size_t k, size = arm_id_work();
    int bad = size > ARM_ID_WORK || arm_id(1, x, x, x, want) != 0;
    for (k = 1; k < 66; k++) {
        memset(room, 7, sizeof room);
        bad |= arm_id_with(1, x, x, x, got, room + k) != 0 || memcmp(got, want, sizeof want) != 0;
        bad |= room[k - 1] != 7 || room[k + size] != 7;
    }
    return bad;
}
"""


def test_a_wrong_answer_is_found(tmp_path: Path) -> None:
    program = toy()
    good = vectors(program)
    bad = Vectors(good.inputs, (good.outputs[0] + 1e-6, good.outputs[1]), good.tolerance)
    export_c([program], Facts(5, 5), tmp_path, {"id": bad}, {}, [])
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    call(["cc", *STRICT, *sources, "-o", "check", "-lm"], tmp_path)
    done = subprocess.run(["./check"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "WRONG" in done.stdout


def test_two_robots_link_into_one_program(tmp_path: Path) -> None:
    for name in ("arm", "leg"):
        project(tmp_path / name, name)
    sizes = "double q[ARM_NQ], v[LEG_NV]; return arm_nq == sizeof q / 8 && leg_nv == sizeof v / 8 ? 0 : 1;"
    main = f'#include "arm/arm.h"\n#include "leg/leg.h"\nint main(void) {{ {sizes} }}\n'
    (tmp_path / "main.c").write_text(main)
    sources = [str(path) for path in tmp_path.glob("*/*.c") if path.name != "test.c"]
    call(["cc", *STRICT, "main.c", *sources, "-o", "both", "-lm"], tmp_path)
    call(["./both"], tmp_path)


@needs("g++")
def test_header_is_cpp_too(tmp_path: Path) -> None:
    project(tmp_path)
    call(["g++", "-Wall", "-Wextra", "-Werror", "-pedantic", "-fsyntax-only", "-x", "c++", "arm.h"], tmp_path)


def test_no_model_text_outside_robot_json(tmp_path: Path) -> None:
    for path in project(tmp_path):
        text = path.read_text(encoding="ascii")
        assert ("vil" in text) == (path.name == "robot.json")
    assert {path.name for path in tmp_path.iterdir()} == {
        "arm.h", "arm_id.c", "arm_did.c", "arm_facts.c", "test.c", "CMakeLists.txt", "README.md", "robot.json",
        "condyle-export.json",
    }  # fmt: skip


def test_writing_again_gives_the_same_files(tmp_path: Path) -> None:
    first = {path: path.read_bytes() for path in project(tmp_path)}
    assert {path: path.read_bytes() for path in project(tmp_path)} == first


def test_the_readme_has_files_functions_and_joints(tmp_path: Path) -> None:
    files = project(tmp_path)
    page = (tmp_path / "README.md").read_text(encoding="ascii")
    assert all(f"`{file.name}`" in page for file in files if file.name != "README.md")
    assert "int arm_id(size_t n, const double *" in page
    assert "Condyle 0.1.0 from robot `abc123`" in page
    assert "\n2 functions of one robot" in page and counted(1) == "1 function"
    assert page.split("|---|---|---|---|---|")[-1].strip().splitlines()[:4] == [
        "| 0 | `shoulder_1` | free | 0 to 6 | 0 to 5 |",
        "| 1 | (see `robot.json`) | revolute | 7 | 6 |",
        "| 2 | `finger` | revolute | follows `shoulder_1` | follows `shoulder_1` |",
        "| 3 | `thumb` | revolute | follows (see `robot.json`) | follows (see `robot.json`) |",
    ]


@pytest.mark.parametrize("compiler", COMPILERS[:1])
def test_the_command_of_the_readme_builds_and_tests(tmp_path: Path, compiler: str) -> None:
    project(tmp_path)
    (line,) = [line for line in (tmp_path / "README.md").read_text().splitlines() if line.startswith("cc ")]
    call(["sh", "-c", line.replace("cc", compiler, 1)], tmp_path)


def test_names_for_people_must_be_json(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        export_c([], Facts(1, 1), tmp_path, {}, {"mass": np.inf}, [])
    assert not list(tmp_path.iterdir())


def test_other_dtypes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="float16"):
        export_c([], Facts(1, 1), tmp_path, {}, {}, [], "float16")
