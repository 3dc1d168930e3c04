"""Rollouts in exported C projects: of any number of steps, with any strides, checked by the project itself."""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from tests.backends.c.test_export import COMPILERS, STRICT
from tests.programs import call
from tests.rollouts.test_c import controlled, robot_of, states

STEPS = 6


def library(out: Path, machine: str = "-march=native") -> ctypes.CDLL:
    sources = sorted(path.name for path in out.glob("*.c") if path.name != "test.c")
    call([COMPILERS[0], *STRICT, machine, "-fPIC", "-shared", *sources, "-o", "lib.so", "-lm"], out)
    return ctypes.CDLL(str(out / "lib.so"))


def pointers(arrays: Sequence[np.ndarray]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def numbers(*values: int) -> Any:
    return (ctypes.c_ssize_t * len(values))(*values)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ctypes.CDLL]:
    out = tmp_path_factory.mktemp("zoo")
    condyle.export(robot_of(False), "c", out, ("rollout",), name="zoo")
    return out, library(out)


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize(
    ("machine", "dtype"),
    [
        ("-march=native", "float64"),
        pytest.param("-march=native", "float32", marks=pytest.mark.slow),
        pytest.param("-mtune=generic", "float32", marks=pytest.mark.slow),
        pytest.param("-DCD_SCALAR", "float64", marks=pytest.mark.slow),
    ],
)
def test_compiles_without_a_word_and_is_right(tmp_path: Path, compiler: str, machine: str, dtype: str) -> None:
    condyle.export(condyle.load("iiwa14"), "c", tmp_path, ("step", "rollout"), dtype=dtype)
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    call([compiler, *STRICT, machine, *sources, "-o", "check", "-lm"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 8


@pytest.mark.parametrize("every", [0, 1, 4])
def test_as_compiled(made: tuple[Path, ctypes.CDLL], every: int) -> None:
    robot, n = robot_of(False), 11
    given = [np.ascontiguousarray(x) for x in states(robot, n, STEPS)]
    kept = {0: "_last", 1: "", 4: "_every_4"}[every]
    wanted = robot.compile(target="numpy").call(f"rollout_{STEPS}_by_tau{kept}_of_step", given)
    found = [np.full(x.shape, np.nan) for x in wanted]
    arrays = [ctypes.c_void_p(x.ctypes.data) for x in (*given, *found)]
    assert made[1].zoo_rollout(*map(ctypes.c_size_t, (n, STEPS, every)), *arrays) == 0
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12)


def test_any_strides(made: tuple[Path, ctypes.CDLL]) -> None:
    """dt by time, one tau for all, forces for each state at each step, answers with gaps."""
    robot, n = robot_of(False), 9
    nq, nv, nf = robot.nq, robot.nv, 6 * len(robot.bodies)
    q, v, tau, _ = states(robot, n, STEPS)
    rng = np.random.default_rng(4)
    dt, forces = np.linspace(1e-3, 5e-3, STEPS), rng.uniform(-1, 1, (n, STEPS, nf // 6, 6))
    name = f"rollout_{STEPS}_by_dt_f_ext_every_4_of_step_f_ext"
    wanted = robot.compile(target="numpy").call(name, (q, v, tau[0, 0], dt, forces))
    found = np.full((n, 2, nq + 3), np.nan), np.full((n, 2, nv), np.nan)
    strides = numbers(nq, nv, 0, 0, STEPS * nf), numbers(7, 7, 0, 1, nf)
    after = numbers(2 * (nq + 3), 2 * nv), numbers(nq + 3, nv)
    inputs, work = pointers([q, v, tau, dt, forces]), np.empty(made[1].zoo_rollout_f_ext_work() + 8, np.uint8)
    place = ctypes.c_void_p(work.ctypes.data + 3)
    head = [ctypes.c_size_t(x) for x in (n, STEPS, 4)]
    assert made[1].zoo_rollout_f_ext_strided(*head, inputs, *strides, pointers(found), *after, place) == 0
    np.testing.assert_allclose(found[0][..., :nq], wanted[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(found[1], wanted[1], rtol=0, atol=1e-12)
    assert np.isnan(found[0][..., nq:]).all()
    none = [ctypes.c_size_t(x) for x in (n, 0, 1)]
    assert made[1].zoo_rollout_f_ext_strided(*none, inputs, *strides, pointers(found), *after, place) == 1


def test_a_wrong_answer_is_found(made: tuple[Path, ctypes.CDLL]) -> None:
    out, text = made[0], (made[0] / "test.c").read_text()
    (out / "wrong").mkdir(exist_ok=True)
    for path in out.glob("*.[ch]"):
        shutil.copy(path, out / "wrong")
    (out / "wrong" / "test.c").write_text(text.replace("zoo_rollout(5, 3, 2,", "zoo_rollout(5, 3, 3,", 1))
    sources = sorted(path.name for path in (out / "wrong").glob("*.c"))
    call([COMPILERS[0], *sources, "-o", "check", "-lm"], out / "wrong")
    with pytest.raises(AssertionError, match="WRONG"):
        call(["./check"], out / "wrong")


def test_the_documents_say_what_is_by_time(made: tuple[Path, ctypes.CDLL]) -> None:
    header, said = ((made[0] / name).read_text() for name in ("zoo.h", "README.md"))
    nv = robot_of(False).nv
    assert f"in  tau[n][steps][{nv}]" in header and f"out v_next[n][rows][{nv}]" in header and " dt[n] " in header
    assert "rows = ceil(steps / every)" in said and f"| `tau` | in | n x steps x {nv} |" in said


@pytest.mark.slow
def test_a_users_function_with_a_network(tmp_path: Path) -> None:
    f = condyle.function(controlled, inputs={"x": 14, "u": 14, "w0": (40, 14), "w1": (14, 40)})
    f.export("c", tmp_path, name="net", rollout={"by_time": ("u",), "sum": ("cost",)})
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    call([COMPILERS[0], *STRICT, *sources, "-o", "check", "-lm"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 4
    header = (tmp_path / "net.h").read_text()
    assert "int net_rollout_controlled_with(size_t n, size_t steps, size_t every, const double *x" in header
    assert "out cost[n]" in header and "in  w0[40][14]" in header


def roots(x: Any, a: Any) -> dict[str, Any]:
    """Newton's square roots, from 1 to a and back to it."""
    y = 0.5 * (1.0 + abs(x) + (1.0 + abs(a)) / (1.0 + abs(x)))
    return {"x": y - 1.0, "done": 1e-9 - np.max(np.abs(y - 1.0 - x))}


def test_an_iteration_of_a_users_function(tmp_path: Path) -> None:
    f = condyle.function(roots, inputs={"x": 2, "a": 2})
    f.export("c", tmp_path, name="net", iterate={"most": 40})
    sources = sorted(path.name for path in tmp_path.glob("*.c"))
    call([COMPILERS[0], *STRICT, *sources, "-o", "check", "-lm"], tmp_path)
    assert call(["./check"], tmp_path).count("right") == 5
    assert "roots until done > 0, at most 40 times" in (tmp_path / "net.h").read_text()
    exported = library(tmp_path).net_iterate_roots
    a = np.exp(np.linspace(-9.0, 9.0, 38)).reshape(19, 2)
    a[4, 1] = np.nan
    x, (end, done, count) = np.zeros((19, 2)), (np.empty(shape) for shape in ((19, 2), 19, 19))
    arrays = (ctypes.c_void_p(array.ctypes.data) for array in (x, a, end, done, count))
    assert exported(ctypes.c_size_t(19), *arrays) == 0
    wanted = f.compile("numpy").iterate(x, a, most=40)
    np.testing.assert_array_equal(count, wanted.iterations)
    assert count[4] == 40.0 and len(set(count)) > 3
    np.testing.assert_allclose(end, wanted.x, rtol=1e-12, atol=1e-12)  # rounding of fused operations


def test_errors(tmp_path: Path) -> None:
    robot = robot_of(False)
    with pytest.raises(UnsupportedError, match="any number of steps"):
        condyle.export(robot, "c", tmp_path, ("rollout_3_by_tau_of_step",))
    with pytest.raises(UnsupportedError, match="two rollouts"):
        condyle.export(robot, "c", tmp_path, ("rollout", "rollout_of_step"))
    with pytest.raises(UnsupportedError, match="rollout_by_a_of_step"):
        condyle.export(robot, "c", tmp_path, ("rollout_by_a_of_step",))
    f = condyle.function(controlled, inputs={"x": 14, "u": 14, "w0": (40, 14), "w1": (14, 40)})
    for options, words in (({"by": ("u",)}, "'by_time' and 'sum'"), ({"by_time": ("x",)}, "not carried")):
        with pytest.raises(UnsupportedError, match=words):
            f.export("c", tmp_path, rollout=options)
    for target, options, words in (
        ("c", {"by_time": ("u",)}, "allowed are 'until' and 'most'"),
        ("c", {"until": "x"}, "name an output that is one number: cost"),
        ("c", {"until": "cost", "most": 0}, "most=0; give a whole number"),
        ("casadi", {"until": "cost"}, "target 'casadi' has no iterations"),
    ):
        with pytest.raises(UnsupportedError, match=words):
            f.export(target, tmp_path, iterate=options)


def test_an_exported_iteration_ends_after_fifty_steps(tmp_path: Path) -> None:
    condyle.function(roots, inputs={"x": 2, "a": 2}).export("c", tmp_path, name="net", iterate={})
    assert "roots until done > 0, at most 50 times" in (tmp_path / "net.h").read_text()
