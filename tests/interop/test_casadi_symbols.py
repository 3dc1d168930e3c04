"""Derivatives in CasADi against those of dynamics written in CasADi's own symbols."""

from __future__ import annotations

import numpy as np
import pytest

import condyle

ca = pytest.importorskip("casadi")
from condyle.interop.casadi import wrap  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")  # of names of NumPy on CasADi's scalars


def cross(w):
    x, y, z = w
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def lagrange(robot):
    """fd of an arm of hinges by Lagrange's equations: energies from the centres of mass, differentiated by CasADi."""
    n = robot.nv
    q, v, tau = (ca.SX.sym(name, n) for name in ("q", "v", "tau"))
    rotations, origins, spins = [], [], []
    kinetic, potential = 0, 0
    for i, joint in enumerate(robot.joints):
        parent = robot.parents[i]
        R, p = (ca.DM.eye(3), ca.DM.zeros(3)) if parent < 0 else (rotations[parent], origins[parent])
        w = ca.SX.zeros(3) if parent < 0 else spins[parent]
        p = p + R @ ca.DM(joint.placement.translation)
        R = R @ ca.DM(joint.placement.rotation)
        K = ca.DM(cross(joint.axis))
        w = w + R @ ca.DM(joint.axis) * v[i]
        R = R @ (ca.DM.eye(3) + ca.sin(q[i]) * K + (1 - ca.cos(q[i])) * (K @ K))
        rotations.append(R), origins.append(p), spins.append(w)
        body = robot.bodies[i]
        c = p + R @ ca.DM(body.com)
        inner = R.T @ w
        kinetic += 0.5 * body.mass * ca.sumsqr(ca.jtimes(c, q, v)) + 0.5 * inner.T @ ca.DM(body.inertia) @ inner
        potential -= body.mass * ca.dot(ca.DM(robot.gravity), c)
    M, momentum = ca.hessian(kinetic, v)
    change = ca.jtimes(momentum, q, v) - ca.gradient(kinetic - potential, q)
    return ca.Function("lagrange", [q, v, tau], [ca.solve(M, tau - change)])


def both(F, sizes):
    """Value, Jacobian and Hessian of lam . F by all inputs."""
    x = [ca.MX.sym(f"x{k}", size) for k, size in enumerate(sizes)]
    lam = ca.MX.sym("lam", sizes[0])
    y, z = F(*x), ca.vertcat(*x)
    return ca.Function("both", [*x, lam], [y, ca.jacobian(y, z), ca.hessian(ca.dot(lam, y), z)[0]])


@pytest.mark.slow
def test_jacobian_and_hessian_of_fd_are_those_of_symbols():
    robot = condyle.chain(4, rng=2)
    ours, own = (both(F, [4] * 3) for F in (wrap(robot.compile(threads=1)).forward_dynamics, lagrange(robot)))
    q, v = robot.random_state(5, 6)
    rng = np.random.default_rng(7)
    for k in range(5):
        args = q[k], v[k], *rng.normal(size=(2, 4))
        for found, want in zip(ours(*args), own(*args), strict=True):
            np.testing.assert_allclose(
                np.array(found), np.array(want), rtol=0, atol=1e-9 * np.abs(np.array(want)).max()
            )
