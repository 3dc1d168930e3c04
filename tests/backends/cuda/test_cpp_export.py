"""The exported CUDA project: what is written, that it builds with what is here, and that its example finds mistakes."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.cpp.project import example
from condyle.backends.cuda.cpp.rollout import number
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.errors import ModelWarning, SingularError, UnsupportedError
from tests.backends.cuda.exported import SHIM, planned, text
from tests.backends.cuda.simulate import robot
from tests.programs import needs

needs_gpp = needs("g++")
needs_nvcc = needs("nvcc")
STRICT = ["-std=c++17", "-O0", "-Wall", "-Wextra", "-Werror", "-Wno-unknown-pragmas", f"-I{SHIM}"]
FILES = {"iiwa14.cuh", "example.cu", "known.h", "CMakeLists.txt", "README.md", "robot.json", "condyle-export.json"}


def call(command: Sequence[str], cwd: Path) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[:4000]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    assert {path.name for path in condyle.export(robot("iiwa14"), "cuda", folder)} == FILES
    return folder


def test_the_readme_has_files_calls_and_joints(project: Path) -> None:
    page = (project / "README.md").read_text(encoding="ascii")
    assert all(f"`{name}`" in page for name in FILES - {"README.md"})
    assert robot("iiwa14").fingerprint in page
    assert "| `dfd` | `forward_dynamics_derivatives` | q [7], v [7], tau [7] | da_dq [49]," in page
    assert "| 6 | `iiwa_joint_7` | revolute | 6 | 6 |\n\nA free joint has" in page


def build_example(folder: Path, work: Path) -> Path:
    """example.cu by g++ against the shim."""
    sources = ["-x", "c++", "example.cu", str(SHIM / "shim.cpp")]
    call(["g++", *STRICT, "-DSHIM_ROBOT=iiwa14", *sources, "-o", str(work / "example")], folder)
    return work / "example"


@pytest.mark.slow
@needs_gpp
def test_the_example_runs_and_is_right(project: Path, tmp_path: Path) -> None:
    said = call([str(build_example(project, tmp_path))], tmp_path)
    # outputs of the seven functions, of those with external forces, and the round trip, in both types
    assert said.count(" right ") == 2 * (11 + 9 + 1)
    assert "WRONG" not in said


@pytest.mark.slow
@needs_gpp
def test_an_iteration_is_written_out(tmp_path: Path) -> None:
    """Its example runs it on states with known answers; float32 ends where rounding says so, within its tolerance."""

    def roots(x: Any, a: Any) -> dict[str, Any]:
        y = 0.5 * (1.0 + abs(x) + (1.0 + abs(a)) / (1.0 + abs(x)))
        return {"x": y - 1.0, "done": 1e-3 - np.max(np.abs(y - 1.0 - x))}

    f = condyle.function(roots, inputs={"x": 2, "a": 2})
    f.export("cuda", tmp_path, name="iiwa14", iterate={"most": 8})
    header = (tmp_path / "iiwa14.cuh").read_text()
    assert "iterate_roots: user roots until done > 0, at most 8 times" in header
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert "WRONG" not in said and re.search(r"iterate_roots iterations +double +right", said)


@pytest.mark.slow
@needs_gpp
def test_answers_of_contacts_have_tolerances_of_their_own(tmp_path: Path) -> None:
    """The residual of a solution is rounding alone: its tolerance goes by the impulse."""
    leg = condyle.random_tree(1, 1, types=("revolute",), floating_base=True)
    condyle.export(leg, "cuda", tmp_path, ("cfric",), name="iiwa14", contacts=(condyle.Contact("link0"),))
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert re.findall(r"cfric_f_ext (\w+) +(\w+) +(\w+)", said) == [
        (answer, dtype, "right") for dtype in ("double", "float") for answer in ("v_next", "impulse", "residual")
    ]
    assert said.count(" right ") == 2 * (3 + 3) and "WRONG" not in said


@needs_gpp
def test_inputs_may_have_names_that_the_header_has(tmp_path: Path) -> None:
    """Entry 0 of x is x0 in a body, which is an input here; others are names of its functions and arguments."""

    def sums(x: Any, x0: Any, t: Any, sin: Any, stream: Any, scratch: Any, launch: Any) -> dict[str, Any]:
        return {"y": np.sin(x) + x0 * t + sin * stream, "rows": scratch + launch}

    names = ("x", "x0", "t", "sin", "stream", "scratch", "launch")
    condyle.function(sums, inputs=dict.fromkeys(names, 2)).export("cuda", tmp_path, name="iiwa14", rollout={})
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert said.count(" right ") == 2 * (2 + 2) and "WRONG" not in said


@needs_gpp
def test_the_example_finds_a_wrong_answer(tmp_path: Path) -> None:
    condyle.export(robot("iiwa14"), "cuda", tmp_path, functions=("m",))
    known = (tmp_path / "known.h").read_text()
    head, _, rest = known.partition("m_M[245] = {\n    ")
    value, comma, tail = rest.partition(",")
    (tmp_path / "known.h").write_text(f"{head}m_M[245] = {{\n    {float(value) * (1 + 1e-6)!r}{comma}{tail}")
    done = subprocess.run([str(build_example(tmp_path, tmp_path))], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.findall(r"m M +(\w+) +(\w+)", done.stdout) == [("double", "WRONG"), ("float", "right")]


@needs_gpp
def test_two_robots_in_one_program(tmp_path: Path) -> None:
    for name in ("arm", "leg"):
        condyle.export(robot("iiwa14"), "cuda", tmp_path, functions=("id",), name=name)
    main = (
        '#include "arm.cuh"\n#include "leg.cuh"\nint main() { return arm::NQ == leg::NQ && arm::ABI == 2 ? 0 : 1; }\n'
    )
    (tmp_path / "main.cpp").write_text(main)
    call(["g++", *STRICT, "-fsyntax-only", "main.cpp"], tmp_path)


def test_writing_again_gives_the_same_files(tmp_path: Path) -> None:
    first = {path: path.read_bytes() for path in condyle.export(robot("iiwa14"), "cuda", tmp_path, functions=("id",))}
    again = condyle.load("iiwa14")
    assert {path: path.read_bytes() for path in condyle.export(again, "cuda", tmp_path, functions=("id",))} == first


def test_no_model_text_outside_robot_json(tmp_path: Path) -> None:
    builder = condyle.Builder("nasty")
    builder.body('"; #error évil', mass=1.0, com=(0.1, 0.0, 0.0), inertia=np.eye(3) * 0.01)
    builder.joint("*/ évil", type="revolute", parent="world", child='"; #error évil', axis=(0, 1, 0))
    nasty = builder.build()
    for path in condyle.export(
        nasty, "cuda", tmp_path, ("id", "fk"), frames=[name for name in nasty.frames if "vil" in name]
    ):
        written = path.read_text(encoding="ascii")
        assert ("vil" in written) == (path.name == "robot.json")


@pytest.mark.slow
def test_long_functions_are_stages() -> None:
    quadruped = planned(robot("hyq", True), ("dfd",))
    (dfd,), written = quadruped.functions, text(quadruped, Facts(19, 18))
    assert [part.texts[0].name for part in dfd.parts.launches] == ["minv", "fd", "did", "condyle_product"]
    assert f"constexpr size_t DFD_SCRATCH = {18 + 2 * 18 * 18};" in written
    assert "dfd_kernel" not in written


def test_what_cannot_be_said_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="constant 1e\\+300"):
        number(1e300)
    with pytest.raises(UnsupportedError, match="Bad"):
        condyle.export(robot("iiwa14"), "cuda", tmp_path, name="Bad")
    with pytest.raises(UnsupportedError, match="too long"):
        condyle.export(condyle.chain(400), "cuda", tmp_path, functions=("id",))
    point = condyle.Builder().body("b", mass=1.0, com=(0, 0, 0), inertia=[[0.0] * 3] * 3)
    point.joint("j", type="revolute", parent="world", child="b", axis=(0, 0, 1))
    with pytest.warns(ModelWarning):
        singular = point.build()
    with pytest.raises(SingularError, match="'j'"):
        condyle.export(singular, "cuda", tmp_path, functions=("fd",))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow  # nvrtc takes seconds
@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_nvrtc_compiles_the_kernels(arch: str) -> None:
    """The device side alone, as a program that compiles at run time would."""
    names = ("id", "fd", "m", "minv", "did", "dfd", "difd") if arch == "sm_90" else ("id", "fd")
    image = by_nvrtc(text(planned(robot("iiwa14"), names), Facts(7, 7, name="iiwa14")), "iiwa14", names, arch)
    assert image[:4] == b"\x7fELF"


@pytest.mark.slow
def test_nvrtc_compiles_a_humanoid() -> None:
    assert by_nvrtc(text(planned(robot("atlas"), ("id",)), Facts(30, 30, name="atlas")), "atlas", ("id",), "sm_90")


def by_nvrtc(source: str, name: str, functions: Sequence[str], arch: str) -> bytes:
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="pip install 'condyle[test]' brings NVRTC")
    status, program = nvrtc.nvrtcCreateProgram(source.encode("ascii"), b"robot.cuh", 0, [], [])
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS
    for function in functions:
        nvrtc.nvrtcAddNameExpression(program, f"{name}::{function}_kernel<float>".encode("ascii"))
    options = [f"--gpu-architecture={arch}".encode("ascii"), b"--std=c++17"]
    (status,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    log = bytes(nvrtc.nvrtcGetProgramLogSize(program)[1])
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == nvrtc.nvrtcResult.NVRTC_SUCCESS, log.decode()
    assert not log.strip(b"\0 \n"), log.decode()
    image = bytes(nvrtc.nvrtcGetCUBINSize(program)[1])
    nvrtc.nvrtcGetCUBIN(program, image)
    return image


@pytest.mark.slow
@needs_nvcc
def test_nvcc_compiles_the_example_without_a_word(project: Path, tmp_path: Path) -> None:
    codes = [f"-gencode=arch=compute_{arch[3:]},code={arch}" for arch in ARCHITECTURES]
    flags = ["-std=c++17", "--threads", "2", "-Xcompiler=-Wall,-Wextra,-Werror", "-Werror=all-warnings"]
    assert not call(["nvcc", *flags, *codes, "-c", "example.cu", "-o", str(tmp_path / "example.o")], project)


@pytest.mark.slow
@needs_nvcc
@needs("cmake")
def test_cmake(tmp_path: Path) -> None:
    condyle.export(robot("iiwa14"), "cuda", tmp_path, functions=("id", "fd"))
    call(["cmake", "-S", ".", "-B", "build"], tmp_path)
    call(["cmake", "--build", "build"], tmp_path)
    assert (tmp_path / "build" / "condyle_iiwa14_example").is_file()


def test_what_has_no_known_numbers_is_said_to_have_no_test(project: Path) -> None:
    assert "no test" not in (project / "example.cu").read_text()
    said = example(planned(robot("iiwa14"), ("id", "m")), Facts(7, 7, "abc123", "0.1.0", "iiwa14"), {})
    assert re.findall(r'"%s: no test: %s\\n", "(\w+)"', said) == ["id", "m"]
