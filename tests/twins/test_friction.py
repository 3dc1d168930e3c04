"""Contacts with friction cones against Pinocchio's ADMM solver, which is run to the end."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contacts.test_friction import FEET, given, world_jacobian
from tests.ground.robots import quadruped

pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
import pinocchio as pin

N = 20


def solved(G: np.ndarray, g: np.ndarray, mu: np.ndarray) -> np.ndarray:
    """The impulses at which velocities G p + g and cones fit; rows are two tangents and the normal of each contact."""
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "base")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in mu:
        contact = pin.PointContactConstraintModel(model, joint, pin.SE3.Identity())
        contact.setFriction(float(friction))
        models.append(pin.ConstraintModel(contact))
        datas.append(models[-1].createData())
    solver, settings, result = pin.ADMMConstraintSolver(len(g)), pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    settings.max_iterations, settings.solve_ncp = 10000, True
    for kind in ("feasibility", "complementarity"):
        setattr(settings, f"absolute_{kind}_tol", 1e-11)
        setattr(settings, f"relative_{kind}_tol", 0.0)
    assert solver.solve(pin.DelassusOperatorDense(G), g, models, datas, settings, result)
    return np.array(result.retrieveConstraintImpulses())


def test_impulses_are_those_of_pinocchio() -> None:
    """As far as the residual says: sticking, sliding and open contacts, other frictions in each."""
    q, v, tau, on, dt, _ = given(N)
    mu = np.random.default_rng(0).uniform(0.1, 1.2, (N, 4))
    J, robot = world_jacobian(q), quadruped().compile("numpy")
    inverse, free = robot.mass_matrix_inverse(q), v + dt[:, None] * robot.forward_dynamics(q, v, tau)
    found = quadruped().compile(contacts=FEET).contact_solve(q, v, tau, on, dt, mu)
    for k in range(N):
        want = solved(J[k] @ inverse[k] @ J[k].T, J[k] @ free[k], mu[k])
        allowed = 1e-9 + 20.0 * found.residual[k]  # the mass that a foot feels is below 20 kg
        np.testing.assert_allclose(found.impulse[k].ravel(), want, rtol=0, atol=allowed)
    assert np.median(found.residual) < 1e-6
