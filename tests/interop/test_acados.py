"""Exports for CasADi, called as acados calls them: through its C interface, and in the functions that it generates."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import condyle
from tests.programs import skip_without

CALLER = Path(__file__).with_name("acados_call.c")
CHECKED = ("cc", "-O0", "-g", "-Dcasadi_int=int", "-fsanitize=address,undefined")
N = 3


@pytest.fixture(scope="module")
def case(tmp_path_factory):
    """A robot, its functions on the cpu, the folder of its export, and one state."""
    robot = condyle.chain(N, rng=4)
    folder = tmp_path_factory.mktemp("acados")
    condyle.export(robot, "casadi", folder, ("fd", "m"), name="arm")
    skip_without("cc")
    subprocess.run([*CHECKED, "-c", "arm.c"], cwd=folder, check=True)
    q, v = robot.random_state(1, 5)
    return robot.compile(threads=1), folder, (q[0], v[0], np.array([1.0, -2.0, 0.5]))


def called(folder, function, *given, sources=("arm.o",), links=()):
    """The answers of a function, one behind the other, columns one behind the other."""
    command = [*CHECKED, f"-DFUN={function}", str(CALLER), *sources, *links, "-o", f"call_{function}", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    said = "\n".join(repr(float(x)) for one in given for x in np.ravel(one, order="F"))
    done = subprocess.run([f"./call_{function}"], cwd=folder, input=said, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.array(done.stdout.split(), float)


@pytest.mark.slow
def test_values_and_first_derivatives_through_the_c_interface(case):
    dyn, folder, args = case
    a = dyn.forward_dynamics(*args)
    np.testing.assert_allclose(called(folder, "arm_fd", *args), a, rtol=1e-11)
    np.testing.assert_allclose(called(folder, "arm_m", args[0]), dyn.mass_matrix(args[0]).ravel(), rtol=1e-11)
    J = np.hstack(dyn.jacobian("fd")(*args))
    found = called(folder, "jac_arm_fd", *args, a).reshape(3 * N, N).T
    np.testing.assert_allclose(found, J, rtol=0, atol=1e-10 * np.abs(J).max())
    bar = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(called(folder, "adj1_arm_fd", *args, a, bar), bar @ J, atol=1e-10 * np.abs(J).max())


def test_second_derivatives_through_the_c_interface(case):
    dyn, folder, args = case
    bar, nothing = np.array([1.0, 2.0, 3.0]), np.zeros(N)
    found = called(folder, "jac_adj1_arm_fd", *args, nothing, bar, nothing, nothing, nothing)
    H, J = dyn.hessian("fd")(*args, bar), np.hstack(dyn.jacobian("fd")(*args))
    rows = found.reshape(N, 5, N, N).transpose(0, 3, 1, 2)  # for each input: by q, v, tau, a, and the cotangent
    np.testing.assert_allclose(rows[:, :, :3].reshape(3 * N, 3 * N), H, atol=1e-10 * np.abs(H).max())
    assert not rows[:, :, 3].any()
    np.testing.assert_allclose(rows[:, :, 4].reshape(3 * N, N), J.T, atol=1e-10 * np.abs(J).max())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_functions_that_acados_generates(case, monkeypatch):
    """Explicit dynamics, forward sensitivities and Hessian, with the expressions and the options that acados has."""
    ca = pytest.importorskip("casadi")
    dyn, folder, (q, v, tau) = case
    monkeypatch.chdir(folder)
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "arm.c", "-o", "libarm.so", "-lm"], check=True)
    fd = ca.external("arm_fd", "./libarm.so")
    x, u, lam = ca.MX.sym("x", 2 * N), ca.MX.sym("u", N), ca.MX.sym("lam", 2 * N)
    Sx, Su = ca.MX.sym("Sx", 2 * N, 2 * N), ca.MX.sym("Su", 2 * N, N)
    f = ca.vertcat(x[N:], fd(x[:N], x[N:], u))
    by_x, by_u = ca.jtimes(f, x, Sx), ca.jacobian(f, u) + ca.jtimes(f, x, Su)
    adjoint = ca.jtimes(f, ca.vertcat(x, u), lam, True)
    seeds = ca.vertcat(ca.horzcat(Sx, Su), ca.horzcat(ca.DM.zeros(N, 2 * N), ca.DM.eye(N)))
    hessian = seeds.T @ ca.jtimes(adjoint, ca.vertcat(x, u), seeds)
    generated = {
        "ode": ([x, u], [f]),
        "forw": ([x, Sx, Su, u], [f, by_x, by_u]),
        "hess": ([x, Sx, Su, lam, u], [adjoint, hessian]),
    }
    for name, (inputs, answers) in generated.items():
        options = {"mex": False, "casadi_int": "int", "casadi_real": "double"}
        ca.Function(f"arm_{name}", inputs, answers).generate(f"gen_{name}.c", options)
    links = ["-L.", "-larm", f"-Wl,-rpath,{folder}"]
    J, rng = dyn.jacobian("fd")(q, v, tau), np.random.default_rng(0)
    A = np.block([[np.zeros((N, N)), np.eye(N)], [J.da_dq, J.da_dv]])
    B = np.vstack([np.zeros((N, N)), J.da_dtau])
    state, lam, S = np.r_[q, v], rng.normal(size=2 * N), rng.normal(size=(2 * N, 3 * N))
    whole = np.r_[v, dyn.forward_dynamics(q, v, tau)]

    def call(name, *given):
        return called(folder, f"arm_{name}", *given, sources=[f"gen_{name}.c"], links=links)

    np.testing.assert_allclose(call("ode", state, tau), whole, rtol=1e-11)
    found = call("forw", state, S[:, : 2 * N], S[:, 2 * N :], tau)
    want = np.r_[whole, (A @ S[:, : 2 * N]).ravel("F"), (B + A @ S[:, 2 * N :]).ravel("F")]
    np.testing.assert_allclose(found, want, atol=1e-10 * np.abs(want).max())
    found = call("hess", state, S[:, : 2 * N], S[:, 2 * N :], lam, tau)
    P = np.vstack([S, np.hstack([np.zeros((N, 2 * N)), np.eye(N)])])
    H = dyn.hessian("fd")(q, v, tau, lam[N:])
    want = np.r_[np.hstack([A, B]).T @ lam, (P.T @ H @ P).ravel("F")]
    np.testing.assert_allclose(found, want, atol=1e-10 * np.abs(want).max())
