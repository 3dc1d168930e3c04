"""Laws of constrained motion on random trees: Gauss's principle, forces where flags are off, the equation of motion."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from condyle import Dynamics
from condyle.model.contact import CONTACT_KINDS, anchors_of
from tests.accuracies import SOLVED
from tests.contacts.cases import Array, Case, arm, hyq, is_independent, law, null_space, settled, slopes, tree

HELD = 1e-9
"""J a + gamma of independent rows, beside the largest acceleration there is or one."""
SEEDS = (1, 3, 7, 9, 10)
CASES = {
    **{f"tree-{seed}": tree(seed) for seed in SEEDS},
    "hyq": hyq(),
    **{f"hyq-{kind}": hyq(kind, 1) for kind in CONTACT_KINDS},
    "arm": arm(),
}


@cache
def compiled(name: str, target: str = "numpy") -> Dynamics:
    return CASES[name].compile(target, frames=framed(CASES[name]))


def framed(case: Case) -> tuple[str, ...]:
    """The frames of contacts, then those that they are held against, the first frame for the world."""
    others = [one.other or one.frame for one in case.contacts]
    return (*(one.frame for one in case.contacts), *others)


@pytest.mark.parametrize("forces", [False, True], ids=["", "f_ext"])
@pytest.mark.parametrize("name", CASES)
def test_laws(name: str, forces: bool) -> None:
    case, dyn = CASES[name], compiled(name)
    at = case.state(6, 1)
    found, tried = law(case, dyn, at, forces), 0
    on = case.on(at.active)
    f = case.rows(found.force)
    assert np.all(f[~on] == 0.0) and np.all(found.force[:, ~case.held] == 0.0)
    push = np.einsum("nij,ni->nj", found.J, f)
    tau = dyn.inverse_dynamics(at.q, at.v, found.a, at.f_ext if forces else None)
    largest = max(1.0, float(np.abs(found.force).max()))
    np.testing.assert_allclose(tau - push, at.tau, rtol=0, atol=SOLVED * largest)
    for k in range(len(at.q)):
        if not is_independent(found.J[k], on[k], found.M[k]):
            continue
        tried += 1
        scale = max(1.0, float(np.abs(found.a[k]).max()))
        assert np.abs(found.gamma[k]).max(initial=0.0) < HELD * scale
        # Gauss: (a - a_free)ᵀ M (a - a_free) is least, so that its slope is zero along what contacts leave free
        N, change = null_space(found.J[k][on[k]]), found.M[k] @ (found.a[k] - found.free[k])
        assert np.abs(N.T @ change).max(initial=0.0) < HELD * max(1.0, float(np.abs(change).max()))
    assert tried > 2


@pytest.mark.parametrize("name", CASES)
def test_without_flags_it_is_forward_dynamics(name: str) -> None:
    case, dyn = CASES[name], compiled(name)
    at = case.state(3, 2)
    a, force = dyn.constrained_forward_dynamics(at.q, at.v, at.tau, 0.0 * at.active)
    np.testing.assert_allclose(a, dyn.forward_dynamics(at.q, at.v, at.tau), rtol=0, atol=SOLVED * np.abs(a).max())
    assert not force.any()


def relative_velocity(case: Case, dyn: Dynamics, q: Array, v: Array) -> Array:
    """(n, R): what contacts hold of the motion, in their axes, by differences of placements."""
    robot, n = case.robot, len(case.contacts)
    turns, places = dyn.frame_placements(q)

    def placements(q: Array) -> tuple[Array, ...]:
        return tuple(dyn.frame_placements(q))

    dturns, dplaces = slopes(robot, placements, [q], [v])
    spins = np.einsum("nfij,nfkj->nfik", dturns, turns)
    turning = np.stack([spins[..., 2, 1], spins[..., 0, 2], spins[..., 1, 0]], axis=-1)
    rows: list[Array] = []
    for k, one in enumerate(case.contacts):
        axes = turns[:, k] @ one.placed.rotation
        at = places[:, k] + turns[:, k] @ one.placed.translation
        slide, turn = dplaces[:, k] + np.cross(turning[:, k], at - places[:, k]), turning[:, k]
        if one.other is not None:
            j = n + k
            point = at if one.kind != "point" else places[:, j] + turns[:, j] @ one.anchored.translation
            slide = slide - dplaces[:, j] - np.cross(turning[:, j], point - places[:, j])
            turn = turn - turning[:, j]
        motion = np.concatenate([np.einsum("nij,ni->nj", axes, x) for x in (slide, turn)], axis=1)
        rows.append(motion[:, list(one.rows)])
    return np.concatenate(rows, axis=1)


@pytest.mark.parametrize("name", CASES)
def test_the_jacobian_is_that_of_placements(name: str) -> None:
    case, dyn = CASES[name], compiled(name)
    at = case.state(3, 3)
    found = np.einsum("nij,nj->ni", dyn.constraint_jacobian(at.q), at.v)
    np.testing.assert_allclose(found, relative_velocity(case, dyn, at.q, at.v), rtol=0, atol=1e-8)


FREE = {
    **{f"tree-{seed}": tree(seed, gains=False) for seed in (0, 13)},
    **{name: CASES[name] for name in ("hyq", "hyq-plane")},
}


@pytest.mark.parametrize("name", FREE)
def test_what_is_held_stays_at_rest(name: str) -> None:
    """Where J v = 0, the rate of J v along the motion is zero: placements alone say it, and no gamma of ours."""
    case = FREE[name]
    dyn = case.compile()
    at = case.state(3, 4)
    at = settled(case, dyn, at._replace(active=np.ones_like(at.active)))
    a, _ = dyn.constrained_forward_dynamics(at.q, at.v, at.tau, at.active)

    def moving(h: float) -> Array:
        q = case.robot.integrate(at.q, h * at.v + 0.5 * h * h * a)
        return np.einsum("nij,nj->ni", dyn.constraint_jacobian(q), at.v + h * a)

    h = 1e-4
    rate = (8.0 * (moving(h) - moving(-h)) - (moving(2 * h) - moving(-2 * h))) / (12.0 * h)
    assert np.abs(at.v).max() > 0.1
    np.testing.assert_allclose(rate, 0.0, rtol=0, atol=1e-7 * max(1.0, np.abs(a).max()))


@pytest.mark.parametrize("kind", ["line", "plane"])
@pytest.mark.parametrize("seed", [1, 3])
def test_lines_and_planes_say_the_rate_of_their_velocity(seed: int, kind: str) -> None:
    """J a + gamma is d(J v) / dt at any velocity and acceleration, between two bodies too."""
    case = tree(seed, 5, 3, gains=False)
    case = Case(case.robot, tuple(replace(one, kind=kind) for one in case.contacts))
    dyn, at = case.compile(), case.state(3, 4)
    a = np.random.default_rng(5).normal(size=at.v.shape)
    _, found = dyn.call("cres", [at.q, at.v, a, np.zeros((3, 3, 6))])

    def moving(h: float) -> Array:
        q = case.robot.integrate(at.q, h * at.v + 0.5 * h * h * a)
        return np.einsum("nij,nj->ni", dyn.constraint_jacobian(q), at.v + h * a)

    h = 1e-3
    rate = (8.0 * (moving(h) - moving(-h)) - (moving(2 * h) - moving(-2 * h))) / (12.0 * h)
    np.testing.assert_allclose(found, rate, rtol=0, atol=1e-8 * max(1.0, np.abs(rate).max()))


def test_gains_draw_errors_back() -> None:
    """J a + gamma without gains is - kd J v - kp e."""
    case = tree(0, gains=False)
    dyn, at = case.compile(inputs=("gains", "anchors")), case.state(3, 5)
    gains = np.random.default_rng(6).uniform(1.0, 50.0, (3, len(case.contacts), 2))
    anchors = np.broadcast_to(anchors_of(case.contacts), (3, len(case.contacts), 12)).copy()
    on = np.ones_like(at.active)
    a, force = dyn.constrained_forward_dynamics(at.q, at.v, at.tau, on, gains=gains, anchors=anchors)
    _, rest = case.compile().call("cres", [at.q, at.v, a, force])
    J, e = dyn.constraint_jacobian(at.q), dyn.constraint_errors(at.q, anchors=anchors)
    kp, kd = (np.repeat(gains[..., k], case.held.sum(axis=1), axis=-1) for k in (0, 1))
    allowed = 1e-10 * np.abs(a).max()  # 35 x⁴ of `contact_forces`: an eigenvalue here is 1.4e-3 of its rows' own
    np.testing.assert_allclose(rest, -kd * np.einsum("nij,nj->ni", J, at.v) - kp * e, rtol=0, atol=allowed)
