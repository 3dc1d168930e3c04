"""Rollouts in the exported CUDA header, compiled for the processor against the shim."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.errors import UnsupportedError
from condyle.jobs.optimal_control import OptimalControl
from tests.backends.cuda.exported import SHIM
from tests.backends.cuda.test_cpp_export import STRICT, build_example, by_nvrtc, needs_gpp
from tests.programs import call

MAIN = """\
#include "iiwa14.cuh"
#include <cstdio>

cudaError_t run(size_t n, size_t steps, size_t every, const iiwa14::Rows<double> *x, double **y)
{
    return iiwa14::rollout_launch<double>(n, steps, every, x[0], x[1], x[2], x[3], y[0], y[1]);
}

/* The last state alone is the last of all; dt is one row for all; answers of no step are refused. */
int main()
{
    const size_t n = 37, steps = 3, nv = iiwa14::NV, size = n * steps * nv;
    double *q, *v, *tau, *dt, *all[2], *last[2];
    for (double **one : {&q, &v, &tau, &dt, &all[0], &all[1], &last[0], &last[1]}) {
        if (cudaMalloc(one, size * sizeof(double)) != cudaSuccess) {
            return 1;
        }
        for (size_t k = 0; k < size; k++) {
            (*one)[k] = one == &dt ? 0.01 : double(k % 13) / 13;
        }
    }
    const iiwa14::Rows<double> rows[] = {{q, nv}, {v, nv}, {tau, 3 * nv}, {dt, 0}};
    int wrong = run(n, 0, 1, rows, all) == cudaSuccess;
    wrong |= run(n, 3, 1, rows, all) != cudaSuccess;
    wrong |= run(n, 3, 0, rows, last) != cudaSuccess;
    for (int port = 0; port < 2; port++) {
        for (size_t k = 0; k < n * nv; k++) {
            wrong |= last[port][k] != all[port][(k / nv * 3 + 2) * nv + k % nv];
        }
    }
    std::printf(wrong ? "WRONG" : "right");
    return wrong;
}
"""


@needs_gpp
@pytest.mark.slow
def test_the_example_runs_and_finds_mistakes(tmp_path: Path) -> None:
    condyle.export(condyle.chain(2, rng=1), "cuda", tmp_path, ("rollout",), name="iiwa14")
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert said.count(" right ") == 2 * (4 + 4) and said.count("rollout_f_ext v_next") == 2
    (tmp_path / "main.cu").write_text(MAIN)
    command = [
        "g++",
        *STRICT,
        "-DSHIM_ROBOT=iiwa14",
        "-x",
        "c++",
        "main.cu",
        str(SHIM / "shim.cpp"),
        "-o",
        "main",
    ]
    call(command, tmp_path)
    assert call(["./main"], tmp_path) == "right"
    text = (tmp_path / "example.cu").read_text()
    (tmp_path / "example.cu").write_text(text.replace("rollout_launch<T>(n, 3, 2,", "rollout_launch<T>(n, 2, 1,", 1))
    done = subprocess.run([str(build_example(tmp_path, tmp_path))], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "WRONG" in done.stdout


def slides(x: object, u: object) -> object:
    """A point that is pushed, and what that costs."""
    return {"x": x + 0.1 * u, "cost": x @ x + u @ u}  # type: ignore[operator]


@pytest.mark.slow
@needs_gpp
def test_a_users_function_with_a_sum(tmp_path: Path) -> None:
    f = condyle.function(slides, inputs={"x": 3, "u": 3})
    f.export("cuda", tmp_path, name="iiwa14", rollout={"by_time": ("u",), "sum": ("cost",)})
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert said.count(" right ") == 2 * 4 and said.count("rollout_slides cost") == 2
    assert "cost[n][1]" in (tmp_path / "iiwa14.cuh").read_text()


LEG = condyle.random_tree(1, 1, types=("revolute",), floating_base=True)
FOOT = condyle.Contact("link0")


def hops(at: Any, tau: Any, active: Any, dt: Any, f_ext: Any) -> dict[str, Any]:
    """A step of a robot that floats, with a foot that is held at some steps, and what it costs."""
    a, force = at.constrained_forward_dynamics(tau, active, f_ext=f_ext)
    after = at.stepped(at.v + dt * a, dt)
    return {"q": after.q, "v": after.v, "cost": tau @ tau + np.sum(force * force)}


@needs_gpp
def test_a_users_function_with_contacts_and_forces_of_a_robot_that_floats(tmp_path: Path) -> None:
    """It agrees with the reference, and NVRTC compiles it and its rollout, whose flags change with time."""
    inputs = {"q": "nq", "v": "nv", "tau": "nv", "active": 1, "dt": (), "f_ext": ("n_bodies", 6)}
    f = LEG.function(hops, inputs=inputs, contacts=(FOOT,))
    f.export("cuda", tmp_path, name="iiwa14", rollout={"by_time": ("tau", "active"), "sum": ("cost",)})
    page = (tmp_path / "README.md").read_text()
    assert (
        "tau [steps * 7], active [steps * 1], dt [1], f_ext [12] | q_next [rows * 8], v_next [rows * 7], cost" in page
    )
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert said.count(" right ") == 2 * (3 + 3) and "WRONG" not in said
    header = (tmp_path / "iiwa14.cuh").read_text()
    for arch in ARCHITECTURES[:2]:
        assert by_nvrtc(header, "iiwa14", ("hops", "rollout_hops"), arch)[:4] == b"\x7fELF"


@needs_gpp
@pytest.mark.slow
def test_steps_and_rollouts_with_contacts_of_a_robot_that_floats(tmp_path: Path) -> None:
    """With flags of contacts and forces: a step, its derivatives A, B and E, and a rollout."""
    condyle.export(LEG, "cuda", tmp_path, ("dstep", "rollout"), name="iiwa14", contacts=(FOOT,))
    said = call([str(build_example(tmp_path, tmp_path))], tmp_path)
    assert said.count(" right ") == 2 * 13 and "WRONG" not in said
    for answer in ("dstep_active A ", "dstep_active B ", "dstep_f_ext_active E ", "rollout_f_ext_active v_next "):
        assert said.count(answer) == 2
    header = (tmp_path / "iiwa14.cuh").read_text()
    for arch in ARCHITECTURES[:2]:
        assert by_nvrtc(header, "iiwa14", ("dstep_active", "rollout_f_ext_active"), arch)[:4] == b"\x7fELF"


def test_errors(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="'rollout' is not one of"):
        condyle.export(condyle.load("iiwa14"), "verilog", tmp_path, ("rollout",))
    job = OptimalControl(LEG, lambda at, u: {"residual": u}, knots=2, dt=0.1)
    with pytest.raises(UnsupportedError, match=r"OptimalControl write projects of their own: call its export\(...\)"):
        condyle.export(LEG, "cuda", tmp_path, [job])
