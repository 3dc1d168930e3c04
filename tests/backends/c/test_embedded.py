"""Embedded projects: right answers without any library, one state a call, and errors that say what to do."""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.c.embedded import export_embedded
from condyle.backends.common.facts import Facts, Vectors
from condyle.errors import UnsupportedError
from tests.backends.c.test_export import COMPILERS
from tests.driven import OPTIONS, driven
from tests.processor import slow
from tests.products import CASES, case_of
from tests.programs import call, needs

STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wdouble-promotion", "-Wconversion", "-Wno-sign-conversion"]
STRICT += ["-Wvla", "-Werror", "-fno-stack-protector"]


def export(out: Path, robot: condyle.Robot, functions: list[str], dtype: str = "float32", **options: Any) -> list[str]:
    """The sources of the functions, without the test."""
    files = condyle.export(robot, "c", out, functions, name="r", dtype=dtype, embedded=True, **options)
    return [path.name for path in files if path.name.startswith("r_") and path.suffix == ".c"]


def check(out: Path, *flags: str) -> None:
    """Compiles without a word; every function is right."""
    for compiler in COMPILERS:
        call([compiler, *STRICT, *flags, *(path.name for path in out.glob("*.c")), "-o", "check", "-lm"], out)
        assert "WRONG" not in call(["./check"], out)


def bare(out: Path, source: str, *flags: str) -> None:
    """Nothing is undefined, and nothing is data that is written."""
    for compiler in COMPILERS:
        told = ("-ffreestanding",) if "clang" in compiler else ()  # as CMakeLists.txt does; else it calls memset
        call([compiler, *STRICT, *told, *flags, "-c", source, "-o", "bare.o"], out)
        symbols = [line.split()[-2:] for line in call(["nm", "bare.o"], out).splitlines()]
        assert {kind for kind, _ in symbols} <= set("rtT"), (compiler, source, flags)


@needs("gcc", "nm")
@pytest.mark.parametrize(
    ("robot", "dtype"), [("iiwa14", "float32"), ("iiwa14", "float64"), ("hyq", "float32"), slow("atlas", "float32")]
)
def test_right_and_bare(tmp_path: Path, robot: str, dtype: str) -> None:
    sources = export(tmp_path, condyle.load(robot), ["id", "dfd"], dtype)
    assert sources == ["r_id.c", "r_dfd.c"]
    check(tmp_path, "-O1")
    for source in sources:
        bare(tmp_path, source, "-O2")


@pytest.mark.slow
@needs("gcc", "nm")
def test_loops_over_joints(tmp_path: Path) -> None:
    """With a product of matrices between them."""
    (source,) = export(tmp_path, condyle.chain(40), ["difd"])
    text = (tmp_path / source).read_text()
    assert "cd_multiply(&f" in text
    assert "_parent[" in text
    check(tmp_path, "-O1")
    bare(tmp_path, source, "-O2")


@needs("gcc", "nm")
def test_segments(tmp_path: Path) -> None:
    """Programs between products of matrices; weights are read where they stand."""
    case = case_of(*CASES["network of inputs"])
    inputs = [x[:2].astype(np.float32) for x in case.inputs]
    vectors = {case.code.name: Vectors(tuple(inputs), tuple(y[:2] for y in case.expected), 5e-5)}
    export_embedded([case.code], Facts(1, 1, name="r"), tmp_path, vectors, {}, [], "float32")
    assert "const real *const in[] = {theta};" in (tmp_path / "r_f.c").read_text()
    check(tmp_path, "-O1")
    bare(tmp_path, "r_f.c", "-O2")


@pytest.mark.slow
@needs("gcc", "nm")
def test_forces_contacts_frames_and_inputs(tmp_path: Path) -> None:
    """Whatever else a function may take: all its code is as bare, by any optimisation."""
    robot = driven(condyle.load("iiwa14"))
    options = {"frames": ("iiwa_link_7",), "contacts": (condyle.Contact("iiwa_link_7"),)}
    functions = ["id_f_ext", "step", "cfd", "fk", "vjp_fd", "reg"]
    sources = export(tmp_path, robot, functions, **options, **OPTIONS, inputs=("gravity",))
    check(tmp_path, "-O1")
    for level in ("-O0", "-O3", "-Os"):
        bare(tmp_path, sources[2], level)


@needs("gcc", "nm")
def test_functions_of_users(tmp_path: Path) -> None:
    """With operations that are expanded into others, and a derivative."""

    def power(at: Any, x: Any) -> dict[str, Any]:
        angle = np.arctan2(x, at.q[0])
        return {"y": np.exp(-(x**2)) + np.tanh(x) * angle, "z": np.sqrt(np.maximum(x, 0.0) + np.log(1 + x * x))}

    function = condyle.load("iiwa14").function(power, {"q": "nq", "x": 3})
    function.export("c", tmp_path, derivatives=("jacobian",), name="r", dtype="float32", embedded=True)
    check(tmp_path, "-O1")
    bare(tmp_path, "r_power.c", "-O0")
    bare(tmp_path, "r_jacobian_power.c", "-O2")


@needs("gcc")
@pytest.mark.skipif(platform.machine() != "x86_64" or platform.system() != "Linux", reason="the start is for x86-64")
def test_runs_without_any_library(tmp_path: Path) -> None:
    export(tmp_path, condyle.load("iiwa14"), ["id", "fd"])
    start = 'int r_check(void);\n__asm__(".globl _start\\n_start:\\n and $-16, %rsp\\n call begin\\n");\n'
    start += "void begin(void);\nvoid begin(void)\n{\n    const long status = r_check();\n"
    start += '    __asm__ volatile("syscall" : : "a"(60L), "D"(status));\n}\n'
    (tmp_path / "start.c").write_text(start)
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    flags = ["-O2", "-DCONDYLE_BARE", "-ffreestanding", "-nostdlib", "-static", "-fno-pie", "-Wl,--fatal-warnings"]
    call(["gcc", *STRICT, *flags, *sources, "-o", "alone"], tmp_path)
    call(["./alone"], tmp_path)


@needs("gcc")
def test_a_wrong_answer_is_seen(tmp_path: Path) -> None:
    (source,) = export(tmp_path, condyle.load("iiwa14"), ["id"])
    text = (tmp_path / source).read_text()
    (tmp_path / source).write_text(text.replace("tau[k] = w[", "tau[k] = 1.01f * w["))
    call(["gcc", *STRICT, source, "test.c", "-DCONDYLE_BARE", "-shared", "-fPIC", "-o", "r.so"], tmp_path)
    assert ctypes.CDLL(str(tmp_path / "r.so")).r_check() == 1


@pytest.fixture(scope="module")
def inverse_dynamics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("embedded")
    export(folder, condyle.load("iiwa14"), ["id"])
    return folder


def answer(folder: Path, level: str, arrays: list[np.ndarray]) -> np.ndarray:
    library = folder / f"r{level}.so"
    call(["gcc", level, "-ffp-contract=off", "-shared", "-fPIC", "r_id.c", "-o", library.name], folder)
    out = np.full(7, 3.0, np.float32)
    ctypes.CDLL(str(library)).r_id(*(x.ctypes.data_as(ctypes.c_void_p) for x in (*arrays, out)))
    return out


@needs("gcc")
def test_equal_bits_without_contraction(inverse_dynamics: Path) -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.uniform(-1, 1, 7).astype(np.float32) * scale for scale in (np.float32(1e4), 1, 1)]
    first, *others = [answer(inverse_dynamics, level, arrays) for level in ("-O0", "-O2", "-O3")]
    for other in others:
        np.testing.assert_array_equal(first.view(np.uint32), other.view(np.uint32))


@needs("gcc")
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_gives_nan(inverse_dynamics: Path, bad: float) -> None:
    """Every joint of an arm feels the angle and the velocity of joint 3."""
    for k in range(2):
        arrays = [np.ones(7, np.float32) for _ in range(3)]
        arrays[k][3] = bad
        assert np.isnan(answer(inverse_dynamics, "-O2", arrays)).all()


def smooth(at: Any, x: Any) -> dict[str, Any]:
    """What has no limit at infinity."""
    height = np.sqrt(x * x + np.log(2.0 + x * x))
    return {"y": np.sin(x) * height, "z": np.minimum(height, x), "w": at.q[0] * np.ones(2) + x[1]}


def limited(at: Any, x: Any, s: Any) -> dict[str, Any]:
    return {"chosen": np.where(s[0] > 0.0, x, 2.0), "clipped": np.clip(x, -1.0, 1.0), "limit": np.tanh(x) + np.exp(-x)}


def exported(folder: Path, source: Any, functions: list[str], **options: Any) -> dict[str, partial[np.ndarray]]:
    """The functions of an export of float64, compiled."""
    files = {"name": "r", "embedded": True, **options}
    if isinstance(source, condyle.Robot):
        condyle.export(source, "c", folder, functions, **files)
    else:
        source.export("c", folder, **files)
    call(["gcc", "-O0", "-shared", "-fPIC", *(f"r_{name}.c" for name in functions), "-o", "r.so"], folder)
    library, header = ctypes.CDLL(str(folder / "r.so")), (folder / "r.h").read_text()
    return {name: partial(answers_of, library, name, header) for name in functions}


def sizes_of(name: str, header: str) -> tuple[list[int], list[int]]:
    """Of the inputs, and of the outputs."""
    head = header.split(f"void r_{name}(")[1].split(")")[0].split(", ")
    sizes = [(word.startswith("const"), int(word.split("[")[1][:-1])) for word in head]
    return [size for is_input, size in sizes if is_input], [size for is_input, size in sizes if not is_input]


def answers_of(library: ctypes.CDLL, name: str, header: str, inputs: Sequence[np.ndarray]) -> np.ndarray:
    """All outputs, one behind the other."""
    outputs = [np.full(size, 7.0) for size in sizes_of(name, header)[1]]
    getattr(library, f"r_{name}")(*(ctypes.c_void_p(x.ctypes.data) for x in (*inputs, *outputs)))
    return np.concatenate(outputs)


def spread(run: partial[np.ndarray]) -> None:
    """What depends on an entry of an input, by differences at finite states, is not finite where that is not; NaN gives
    NaN. Nothing else is touched, but in dfd, where terms cancel because the last link is symmetric."""
    rng, (_, name, header) = np.random.default_rng(0), run.args
    inputs = [rng.uniform(-1.0, 1.0, (16, size)) for size in sizes_of(name, header)[0]]
    states = [[rows[n] for rows in inputs] for n in range(16)]
    usual = [run(state) for state in states]
    assert np.isfinite(usual).all()
    for k, rows in enumerate(inputs):
        for entry in range(rows.shape[1]):

            def changed(state: list[np.ndarray], x: float, k: int = k, entry: int = entry) -> np.ndarray:
                state = [y.copy() for y in state]
                state[k][entry] = x
                return run(state)

            depends = np.any([changed(s, s[k][entry] + 0.37) != y for s, y in zip(states, usual, strict=True)], axis=0)
            for bad in (np.nan, np.inf, -np.inf):
                got = changed(states[0], bad)
                finite, where = np.isfinite(got), (name, k, entry, bad)
                assert not (finite & depends).any() and (name == "dfd" or finite[~depends].all()), where
                assert not np.isnan(bad) or np.isnan(got[depends]).all(), where


@needs("gcc")
@pytest.mark.parametrize("robot", ["iiwa14", "hyq"])
def test_what_depends_on_a_bad_number_is_bad(tmp_path: Path, robot: str) -> None:
    """Of each entry of each input in turn."""
    if robot == "hyq":
        runs = exported(tmp_path, condyle.load(robot, floating_base=True), ["fd"])
    else:
        options = {"frames": ("iiwa_link_7",), "contacts": (condyle.Contact("iiwa_link_7"),)}
        runs = exported(tmp_path, condyle.load(robot), ["fd", "dfd", "fk", "cfd"], **options)
    for run in runs.values():
        spread(run)


@needs("gcc")
def test_what_users_compute_of_a_bad_number(tmp_path: Path) -> None:
    """Only what is chosen, and limits at infinity, are numbers (docs/how-to/embedded.md)."""
    arm = condyle.chain(2)
    spread(exported(tmp_path / "a", arm.function(smooth, {"q": 2, "x": 2}), ["smooth"])["smooth"])
    run = exported(tmp_path / "b", arm.function(limited, {"x": 1, "s": 1}), ["limited"])["limited"]

    def of(x: float, s: float) -> list[float]:
        return run([np.array([x]), np.array([s])]).tolist()

    assert of(np.inf, -1.0) == [2.0, 1.0, 1.0] and of(0.0, np.nan) == [2.0, 0.0, 1.0]
    assert of(np.inf, 1.0) == [np.inf, 1.0, 1.0]
    np.testing.assert_array_equal(of(np.nan, -1.0), [2.0, np.nan, np.nan])


def test_the_text_is_the_same_again(tmp_path: Path, inverse_dynamics: Path) -> None:
    export(tmp_path, condyle.load("iiwa14"), ["id"])
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (inverse_dynamics / path.name).read_bytes()


@needs("gcc", "g++")
def test_sizes_of_arrays_are_checked_when_compiled(tmp_path: Path, inverse_dynamics: Path) -> None:
    text = '#include "r.h"\nvoid f(void);\nvoid f(void)\n{\n    float q[7] = {0}, v[SIZE] = {0}, a[7] = {0};\n'
    (tmp_path / "f.c").write_text(text + "    R_ID(q, v, a, a);\n}\n")
    flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", f"-I{inverse_dynamics}", "-c", "f.c"]
    call(["gcc", "-std=c99", "-DSIZE=7", *flags], tmp_path)
    call(["g++", "-xc++", "-DSIZE=7", *flags], tmp_path)
    with pytest.raises(AssertionError, match="negative"):
        call(["gcc", "-std=c99", "-DSIZE=6", *flags], tmp_path)


@pytest.mark.slow
@needs("cmake")
def test_cmake(inverse_dynamics: Path, tmp_path: Path) -> None:
    for option in ("ON", "OFF"):
        build = str(tmp_path / option)
        call(["cmake", "-S", str(inverse_dynamics), "-B", build, f"-DCONDYLE_CONTRACT={option}"], tmp_path)
        call(["cmake", "--build", build], tmp_path)
        call(["ctest", "--test-dir", build], tmp_path)


@needs("gcc", "nm")
def test_libm(tmp_path: Path) -> None:
    (source,) = export(tmp_path, condyle.load("iiwa14"), ["id"], libm=True)
    check(tmp_path, "-O1")
    call(["gcc", "-O2", "-c", source, "-o", "libm.o"], tmp_path)
    assert {line.split()[-1] for line in call(["nm", "-u", "libm.o"], tmp_path).splitlines()} <= {
        "sinf",
        "cosf",
        "sincosf",
    }


def test_errors(tmp_path: Path) -> None:
    robot = condyle.chain(2)

    def nothing(at: Any, x: Any) -> dict[str, Any]:
        return {"y": 2.0 * x}

    nothing.__name__ = "check"
    with pytest.raises(UnsupportedError, match=r"'rollout': embedded=True has no rollouts.*'step'"):
        condyle.export(robot, "c", tmp_path, ("rollout",), embedded=True)
    with pytest.raises(UnsupportedError, match="libm=True: target 'c' takes it with embedded=True"):
        condyle.export(robot, "c", tmp_path, ("id",), libm=True)
    with pytest.raises(UnsupportedError, match=r"embedded .of target 'c'."):
        condyle.export(robot, "cuda", tmp_path, ("id",), embedded=True)
    with pytest.raises(UnsupportedError, match="'check': the test of an embedded project"):
        robot.function(nothing, {"x": 2}).export("c", tmp_path, embedded=True)
    assert not list(tmp_path.iterdir())
