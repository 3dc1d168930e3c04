"""The matrices of contacts, and inverse dynamics with least forces."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contacts.cases import Case, apart, arm, hyq, is_independent, tree

CASES = {**{f"tree-{seed}": tree(seed) for seed in (1, 3, 9)}, "hyq": hyq(), "plane": hyq("plane", 1), "arm": arm()}


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_matrices(name: str, target: str) -> None:
    case = CASES[name]
    dyn, at = case.compile(target), case.state(5, 3)
    on = case.on(at.active)
    kkt, inverse = dyn.constraint_matrix(at.q, at.active), dyn.constraint_matrix_inverse(at.q, at.active)
    G, G_inverse = dyn.delassus_matrix(at.q, at.active), dyn.delassus_matrix_inverse(at.q, at.active)
    M, J = dyn.mass_matrix(at.q), dyn.constraint_jacobian(at.q) * on[..., None]
    nv = case.robot.nv
    assert apart(kkt[:, :nv, :nv], M) < 1e-12 and apart(kkt[:, nv:, :nv], J) < 1e-12
    assert not kkt[:, nv:, nv:].any() and apart(kkt, np.swapaxes(kkt, 1, 2)) == 0.0
    assert apart(G, J @ np.linalg.solve(M, np.swapaxes(J, 1, 2))) < 1e-10
    tried = 0
    for k in range(5):
        if not is_independent(J[k], on[k], M[k]):
            continue
        tried += 1
        rows = np.concatenate([np.ones(nv, dtype=bool), on[k]])
        unit = (kkt[k] @ inverse[k])[np.ix_(rows, rows)]
        assert apart(unit, np.eye(len(unit))) < 1e-9
        assert not inverse[k][~rows].any() and not inverse[k][:, ~rows].any()
        unit = (G[k] @ G_inverse[k])[np.ix_(on[k], on[k])]
        assert apart(unit, np.eye(len(unit))) < 1e-9
        assert not G_inverse[k][~on[k]].any()
    assert tried > 2


def balanced(case: Case, seed: int = 4) -> None:
    dyn, at = case.compile(), case.state(5, seed)
    rng = np.random.default_rng(seed)
    active = at.active.copy()
    active[1:] = 1.0
    active[1, 0] = 0.0
    a = rng.normal(size=at.v.shape)
    tau, force = dyn.constrained_inverse_dynamics(at.q, at.v, a, active)
    J, f = dyn.constraint_jacobian(at.q) * case.on(active)[..., None], case.rows(force)
    whole = dyn.inverse_dynamics(at.q, at.v, a)
    assert apart(tau + np.einsum("nij,ni->nj", J, f), whole) < 1e-10
    for k in range(5):
        least = np.linalg.lstsq(J[k, :, :6].T, whole[k, :6], rcond=1e-10)[0]
        assert apart(f[k], least) < 1e-7
        left = whole[k, :6] - J[k, :, :6].T @ least
        assert apart(tau[k, :6], left) < 1e-8
        assert np.abs(left).max() < 1e-9 * np.abs(whole[k]).max()  # contacts can carry it


@pytest.mark.parametrize("kind", ["point", "plane"])
def test_forces_carry_a_floating_base(kind: str) -> None:
    """No torque is left to it, and the forces are those of numpy.linalg.lstsq: the least ones."""
    balanced(hyq(kind))


def test_what_contacts_cannot_carry_is_left() -> None:
    """One point cannot hold a base against every torque; an arm on the world needs none."""
    case = hyq("point", 1)
    dyn, at = case.compile(), case.state(3, 5)
    tau, force = dyn.constrained_inverse_dynamics(at.q, at.v, at.tau, np.ones_like(at.active))
    J, f = dyn.constraint_jacobian(at.q), case.rows(force)
    whole = dyn.inverse_dynamics(at.q, at.v, at.tau)
    assert apart(tau + np.einsum("nij,ni->nj", J, f), whole) < 1e-10
    for k in range(3):
        least = np.linalg.lstsq(J[k, :, :6].T, whole[k, :6], rcond=1e-10)[0]
        assert apart(f[k], least) < 1e-7
    assert np.abs(tau[:, :6]).max() > 0.1
    held = arm()
    at = held.state(3, 1)
    tau, force = held.compile().constrained_inverse_dynamics(at.q, at.v, at.tau, at.active)
    assert not force.any() and apart(tau, held.compile().inverse_dynamics(at.q, at.v, at.tau)) < 1e-12


def test_inverse_is_the_inverse_of_forward() -> None:
    """With the torques and the flags of the inverse, forward dynamics finds the acceleration that contacts allow."""
    case = hyq()
    dyn, at = case.compile(), case.state(4, 6)
    on = np.ones_like(at.active)
    a, _ = dyn.constrained_forward_dynamics(at.q, at.v, at.tau, on)
    tau, _ = dyn.constrained_inverse_dynamics(at.q, at.v, a, on)
    again, _ = dyn.constrained_forward_dynamics(at.q, at.v, tau, on)
    assert np.abs(tau[:, :6]).max() < 1e-8 * np.abs(tau).max()
    assert apart(again, a) < 1e-8


@pytest.mark.parametrize("legs", [1, 2])
def test_single_precision_leaves_what_cannot_be_carried(legs: int) -> None:
    """One or two points cannot hold a base: what is left to it does not spoil the forces."""
    case = hyq("point", legs)
    at = case.state(8, 3)
    given = [at.q, at.v, at.tau, np.ones_like(at.active)]
    want = case.compile().constrained_inverse_dynamics(*given)
    found = case.compile("cpu", dtype="float32").constrained_inverse_dynamics(*(x.astype(np.float32) for x in given))
    assert apart(list(found), list(want)) < 5e-4
