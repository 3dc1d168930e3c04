"""Derivatives of every function, on every target and in both exports: what NumPy computes of them.

That NumPy computes derivatives is shown by differences here, and by sharper means in `tests/derivatives`.
"""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Contact, Dynamics, Robot, UnsupportedError
from condyle.backends.cuda.target import TARGET
from condyle.cli import main
from condyle.cli.check import error, relative
from condyle.cli.states import Array, States, draw
from condyle.derivatives import DERIVATIVE_KINDS
from condyle.functions import FUNCTIONS, function_of
from condyle.runtime.toolchain import find_compiler
from condyle.specification import Function
from tests.backends.cuda.simulate import made, simulate
from tests.held import held
from tests.processor import slow
from tests.programs import needs

N = 5
CONDITION = 1e2
"""Of the mass matrices of this robot, at most."""


@cache
def robot() -> Robot:
    """A ball joint that carries a hinge."""
    return condyle.random_tree(2, rng=9, types=("spherical", "revolute"))


@cache
def compiled(target: str, dtype: str = "float64", name: str = "fd") -> Dynamics:
    return made_for(target, dtype, held(robot(), name))


@cache
def made_for(target: str, dtype: str, contacts: tuple[Contact, ...]) -> Dynamics:
    return robot().compile(target=target, dtype=dtype, frames=frames(), contacts=contacts)


def frames() -> tuple[str, ...]:
    return (list(robot().frames)[-1],)


@cache
def known(name: str) -> tuple[States, tuple[Array, ...]]:
    """Random states, and what NumPy answers."""
    states = draw(robot(), N, "float64", [function_of(name)], frames=1, contacts=held(robot(), name))
    return states, compiled("numpy", name=name).call(name, states.arguments(function_of(name)))


def allowed(name: str, dtype: str = "float64") -> float:
    function = function_of(name)
    solving = function.condition * CONDITION * float(np.finfo(dtype).eps)
    return max(getattr(function.accuracy, dtype), solving)


def worst(found: tuple[Array, ...], want: tuple[Array, ...]) -> float:
    return max(relative(one, two) for one, two in zip(found, want, strict=True))


def is_long(kind: str, function: str) -> bool:
    """Second derivatives, and first ones of matrices, of what solves with M: seconds each."""
    return kind in ("hessian", "jacobian") and function_of(function).solves and not function_of(function).is_vector


SWEPT = ("cfric",)
"""Its residual is zero but for rounding at a solution, and has no derivative there; tests/contacts/test_friction.py."""
EVERY = [name for name, one in FUNCTIONS.items() if name not in SWEPT and not one.needs.drives]
"""Those of joint forces and actuators are in tests/drives."""
NAMES = [f"{kind}_{function}" for kind in DERIVATIVE_KINDS for function in EVERY]
FORCED = [
    f"{kind}_{function}_f_ext" for kind in DERIVATIVE_KINDS for function in EVERY if function_of(function).takes_f_ext
]
QUICK = [name if not (name.startswith("hessian") or is_long(*name.split("_", 1))) else slow(name) for name in NAMES]


def test_the_robot_is_what_the_tests_say() -> None:
    condition = np.linalg.cond(compiled("numpy").mass_matrix(robot().random_state(50, 0).q)).max()
    assert condition < CONDITION and robot().nq > robot().nv


@pytest.mark.parametrize("name", [*QUICK, *(slow(name) for name in FORCED)])
def test_machine_code_computes_what_numpy_does(name: str) -> None:
    """Dense, packed, one state; and the answer is that of differences."""
    states, want = known(name)
    given, call = states.arguments(function_of(name)), compiled("cpu", name=name).function(name)
    assert error(robot(), compiled("numpy", name=name), function_of(name), states) < max(1e-6, allowed(name))
    many = compiled("cpu", name=name).call(name, given)
    assert worst(many, want) < allowed(name)
    packed = [call.pack(x, port.name) for x, port in zip(given, function_of(name).inputs, strict=True)]
    found = tuple(x.dense() for x in compiled("cpu", name=name).call(name, packed))
    assert worst(found, want) < allowed(name)
    one = compiled("cpu", name=name).call(name, [x[0] for x in given])
    assert worst(tuple(x[None] for x in one), tuple(x[:1] for x in want)) < allowed(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, *FORCED])
@pytest.mark.parametrize(("target", "dtype"), [("cpu", "float32"), ("numpy", "float32"), slow("c", "float64")])
def test_other_targets_and_numbers(name: str, target: str, dtype: str) -> None:
    states, want = known(name)
    given = [x.astype(dtype) for x in states.arguments(function_of(name))]
    assert worst(compiled(target, dtype, name).call(name, given), want) < allowed(name, dtype)


@pytest.mark.parametrize("name", ["vjp_id", *(slow(name) for name in NAMES if name != "vjp_id")])
def test_kernels_of_a_gpu_compute_it_too(name: str) -> None:
    """A thread a state, as PTX that is interpreted."""
    states, want = known(name)
    given = [np.reshape(x, (N, -1)) for x in states.arguments(function_of(name))]
    found = simulate(made(robot(), name, 64, target=TARGET, frames=frames(), contacts=held(robot(), name)), given)
    assert worst(tuple(found), tuple(np.reshape(x, (N, -1)) for x in want)) < allowed(name)


def test_a_gpu_is_told_of(tmp_path: Path) -> None:
    dyn = robot().compile(target="cuda", kernels={"vjp_id": "thread"})
    assert "thread, estimated" in dyn.vjp("id").explain(100)
    states, _ = known("vjp_id")
    assert dyn.vjp("id").memory(100) >= 8 * 100 * sum(x.size for x in states.first(1).arguments(function_of("vjp_id")))
    with pytest.raises(UnsupportedError, match="no function 'vjp_idd'"):
        robot().compile(target="cuda", kernels={"vjp_idd": "thread"})


EXPORTED = ("fd", "vjp_fd", "vjp_fd_f_ext", "jacobian_fd_by_q_v", "hessian_ke", "hessian_id", "jvp_fk", "vjp_integrate")
"""Factors `lam` and answers `H` of several sizes; a number a state; frames; a configuration as the answer."""


def exported(target: str, folder: Path, *more: str) -> None:
    command = ["export", "iiwa14", "--target", target, "--functions", ",".join(EXPORTED), "--out", str(folder)]
    assert main([*command, "--frames", "iiwa_link_7", *more]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float64", slow("float32")])
def test_c_projects_pass_their_own_tests(dtype: str, tmp_path: Path) -> None:
    exported("c", tmp_path, "--dtype", dtype)
    sources = [str(path) for path in tmp_path.glob("*.c")]
    strict = ["-std=c99", "-O0", "-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([find_compiler().path, *strict, *sources, "-lm", "-o", str(tmp_path / "check")], check=True)
    done = subprocess.run([str(tmp_path / "check")], check=True, capture_output=True, text=True)
    answers = sum(len(function_of(name).outputs) for name in (*EXPORTED, "fd"))  # fd with forces too
    assert done.stdout.count(" right ") == answers and "WRONG" not in done.stdout
    header = (tmp_path / "iiwa14.h").read_text()
    assert "/* vjp_fd_f_ext: the derivative of the cotangent times forward dynamics with external forces, by" in header
    assert "* in  lam[n]  factors of the entries of kinetic_energy" in header
    assert "out H[n][14][14]  " in header and "out da_dv[n][7][7]  derivative of a by v" in header
    assert "int iiwa14_hessian_ke(size_t n, const double *q, const double *v, const double *lam, double *H);" in (
        header.replace("float", "double")
    )
    assert '"vjp_fd": [' in (tmp_path / "robot.json").read_text()


@needs("g++")
@pytest.mark.slow
def test_the_header_of_cuda_passes_its_own_test(tmp_path: Path) -> None:
    """On the processor: the functions share buffers, which have room for the largest answer of a name."""
    from tests.backends.cuda.test_cpp_export import build_example

    exported("cuda", tmp_path)
    done = subprocess.run([str(build_example(tmp_path, tmp_path))], capture_output=True, text=True, check=True)
    answers = sum(len(function_of(name).outputs) for name in (*EXPORTED, "fd"))
    assert done.stdout.count(" right ") == 2 * answers and "WRONG" not in done.stdout
    assert "*h_H, *d_H;  // 441" in (tmp_path / "iiwa14.cuh").read_text()


def test_what_exports_refuse(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="target 'verilog' has no 'vjp_id', targets 'c' and 'cuda'"):
        condyle.export(robot(), "verilog", tmp_path, ("id", "vjp_id"))
    with pytest.raises(UnsupportedError, match=r"'vjp_idd' is not one of .*derivative of one such as 'vjp_fd'"):
        condyle.export(robot(), "c", tmp_path, ("vjp_idd",))
    with pytest.raises(UnsupportedError, match="vjp_frame_placements: no frames were named"):
        condyle.export(robot(), "c", tmp_path, ("vjp_fk",))
    assert not list(tmp_path.iterdir())


def test_commands_serve_derivatives(capsys: pytest.CaptureFixture[str]) -> None:
    named = "vjp_ke,hessian_ke,hessian_com,jacobian_fk"  # factors of two sizes
    assert main(["check", "iiwa14", "--functions", named]) == 0
    said = capsys.readouterr().out
    for name in named.split(","):
        assert f"{name} against the reference" in said and f"{name} against differences" in said
    assert main(["bench", "iiwa14", "--functions", named, "--batch", "16"]) == 0
    assert "hessian_com" in capsys.readouterr().out
    assert main(["info", "iiwa14", "--target", "numpy", "--also", "vjp_ke"]) == 0
    assert "\nvjp_ke " in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["check", "iiwa14", "--functions", "vjp_kee"])
    assert "'vjp_kee' is not one of" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["jvp_fk", "vjp_ke", "jacobian_fk", "hessian_ke", "jacobian_ke_by_v"])
def test_differences_see_a_wrong_entry(name: str) -> None:
    states, _ = known(name)
    right = compiled("numpy").call

    class Wrong:
        """One entry off by a thousandth of the largest."""

        def call(self, asked: Function, given: object) -> tuple[Array, ...]:
            found = right(asked, given)
            if asked.name != name:
                return found
            first = found[0].copy()
            first.reshape(-1)[-1] += 1e-3 * np.abs(first).max()
            return (first, *found[1:])

    assert error(robot(), compiled("numpy", name=name), function_of(name), states) < 1e-6
    assert error(robot(), Wrong(), function_of(name), states) > 1e-6
