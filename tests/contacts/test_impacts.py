"""Impacts: momentum, energy, Newton's law, on random trees and a quadruped."""

from __future__ import annotations

import numpy as np
import pytest

from condyle.model.contact import CONTACT_KINDS
from tests.accuracies import ROUNDING
from tests.contacts.cases import Array, Case, hyq, is_independent, law, tree
from tests.processor import slow

CASES = {
    **{f"tree-{seed}": tree(seed, 6, 3) for seed in (0, 1, 3, 7, 9)},
    "hyq": hyq(),
    **{kind: hyq(kind, 1) for kind in CONTACT_KINDS},
}
N = 8


def impact(case: Case, restitution: Array, seed: int = 1) -> tuple[Array, ...]:
    """q, v, v after, impulses, flags, M and J."""
    dyn, at = case.compile(), case.state(N, seed)
    after, impulse = dyn.impulse_dynamics(at.q, at.v, at.active, restitution)
    J = dyn.constraint_jacobian(at.q) * case.on(at.active)[..., None]
    return at.q, at.v, after, impulse, at.active, dyn.mass_matrix(at.q), J


@pytest.mark.parametrize("name", CASES)
def test_momentum_and_energy(name: str) -> None:
    """M (v_after - v) = Jᵀ impulse; no energy is gained, with a restitution of each contact, dependent rows too."""
    case = CASES[name]
    for seed in range(5):
        e = np.random.default_rng(seed).uniform(0.0, 1.0, (N, len(case.contacts)))
        _, v, after, impulse, active, M, J = impact(case, e, seed)
        f = case.rows(impulse)
        assert not f[~case.on(active)].any() and not impulse[:, ~case.held].any()
        change, push = (np.einsum("nij,nj->ni", M, after - v), np.einsum("nij,ni->nj", J, f))
        terms = np.einsum("nij,ni->nj", np.abs(J), np.abs(f)) + np.einsum("nij,nj->ni", np.abs(M), np.abs(v))
        assert np.abs(change - push).max() < ROUNDING * terms.max()
        before, behind = (0.5 * np.einsum("ni,nij,nj->n", x, M, x) for x in (v, after))
        assert np.all(behind <= before * (1.0 + 1e-12))
        assert np.any(behind < 0.999 * before)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("name", ["tree-1", "tree-3", "hyq", slow("tree-9"), slow("plane")])
def test_one_restitution_is_newtons_law(name: str, e: float) -> None:
    """J v_after = - e J v; energy is kept where e = 1."""
    case = CASES[name]
    _, v, after, _, active, M, J = impact(case, np.full((N, len(case.contacts)), e))
    on, tried = case.on(active), 0
    for k in range(N):
        if not is_independent(J[k], on[k], M[k]):
            continue
        tried += 1
        allowed = 1e-10 * max(1.0, np.abs(J[k] @ v[k]).max())  # 35 x⁴ of `contact_forces`: an eigenvalue of 1e-3
        np.testing.assert_allclose(J[k] @ after[k], -e * J[k] @ v[k], rtol=0, atol=allowed)
        if e == 1.0:
            assert after[k] @ M[k] @ after[k] == pytest.approx(v[k] @ M[k] @ v[k], rel=1e-10)  # as far as J v
    assert tried > 3


def test_an_impact_without_flags_changes_nothing() -> None:
    case = CASES["tree-3"]
    at = case.state(3, 1)
    after, impulse = case.compile("cpu").impulse_dynamics(at.q, at.v, 0.0 * at.active, 0.5 + 0.0 * at.active)
    np.testing.assert_array_equal(after, at.v)
    assert not impulse.any()


def test_what_an_impact_leaves_is_what_contacts_hold() -> None:
    """After a plastic impact forces keep J v at zero: J a + gamma = 0 there, by Gauss's principle of both."""
    case = CASES["tree-3"]
    dyn, at = case.compile(), case.state(N, 2)
    after, _ = dyn.impulse_dynamics(at.q, at.v, at.active, 0.0 * at.active)
    again, impulse = dyn.impulse_dynamics(at.q, after, at.active, 0.0 * at.active)
    np.testing.assert_allclose(again, after, rtol=0, atol=1e-10)
    assert np.abs(impulse).max() < 1e-9
    assert np.abs(law(case, dyn, at._replace(v=after)).gamma).max() < 1e-9
