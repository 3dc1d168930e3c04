"""Rows that depend on each other: finite, never NaN, and the acceleration is that of the pseudo-inverse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import condyle
from condyle import Contact
from condyle.model.placement import Placement
from tests.contacts.cases import LEGS, Array, Case, State, apart, drawn, hyq, settled, slopes
from tests.processor import slow

CONSISTENT = 1e-8
"""Of a, relative to its largest entry, where rows agree: 35 x⁴ of `contact_forces`, and what is lost where forces are
not unique, eps over mu."""
WEAK = 1e-3
"""The same of `crowded`, where an eigenvalue is 2e-5 of its rows' own: 35 x⁴ with x about 0.05."""


def corners(kind: str) -> Case:
    """Four contacts on one body, floating: 12 or 24 rows of which 6 are independent."""
    places = [Placement.from_rpy((x, y, -0.1), (0.1 * x, 0.2 * y, x * y)) for x in (-0.3, 0.3) for y in (-0.2, 0.2)]
    robot = condyle.random_tree(2, rng=1, floating_base=True, types=("revolute", "spherical"))
    return Case(robot, tuple(Contact(robot.body_names[0], kind, placement=place) for place in places))


def twice() -> Case:
    """The same plane, named at two places of the body."""
    robot = condyle.load("iiwa14")
    ends = [Placement.from_rpy((0.0, 0.0, z)) for z in (0.0, 0.1)]
    return Case(robot, tuple(Contact("iiwa_link_7", "plane", placement=place) for place in ends))


def crowded() -> Case:
    """24 rows on 18 coordinates."""
    return hyq("plane")


def straight() -> tuple[Case, State]:
    """Legs that are stretched: a foot cannot be moved along its leg."""
    case = hyq()
    at = case.state(4, 1)
    q = at.q.copy()
    for leg in LEGS:
        q[:, case.robot.joint(f"{leg[:2]}_kfe_joint").q_slice] = 0.0
    return case, at._replace(q=q)


CASES = {"planes": corners("plane"), "points": corners("point"), "twice": twice(), "crowded": crowded()}


def exact(case: Case, at: State) -> Array:
    """a by the pseudo-inverse of J M^-1 Jᵀ, of what is on, units on its diagonal."""
    dyn = case.compile()
    free, M = dyn.forward_dynamics(at.q, at.v, at.tau), dyn.mass_matrix(at.q)
    none = np.zeros((len(at.q), len(case.contacts), 6))
    _, gamma = dyn.call("cres", [at.q, at.v, 0.0 * free, none])
    found = free.copy()
    for k, J in enumerate(dyn.constraint_jacobian(at.q)):
        rows = case.on(at.active)[k]
        J, bias = J[rows], gamma[k][rows]
        Minv = np.linalg.inv(M[k])
        half = np.linalg.cholesky(Minv)
        A = J @ half
        scale = 1.0 / np.linalg.norm(A, axis=1)
        push = np.linalg.lstsq(scale[:, None] * A, scale * (-J @ free[k] - bias), rcond=1e-9)[0]
        found[k] = free[k] + half @ push
    return found


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("name", CASES)
def test_rows_that_agree(name: str, target: str) -> None:
    """At velocities that contacts allow."""
    case = CASES[name]
    dyn = case.compile(target)
    at = settled(case, case.compile(), case.state(6, 3))
    a, force = dyn.constrained_forward_dynamics(at.q, at.v, at.tau, at.active)
    assert np.isfinite(force).all()
    assert apart(a, exact(case, at)) < (WEAK if name == "crowded" else CONSISTENT)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["points", slow("planes"), slow("twice"), slow("crowded")])
def test_all_of_it_is_finite(name: str) -> None:
    """Every answer and both number types, rows that contradict each other too."""
    case = CASES[name]
    at = case.state(6, 3)
    for dtype in ("float64", "float32"):
        dyn = case.compile("cpu", dtype=dtype)
        q, v, tau, active = (x.astype(dtype) for x in at[:4])
        for answers in (
            dyn.constrained_forward_dynamics(q, v, tau, active),
            dyn.constrained_forward_dynamics_derivatives(q, v, tau, active),
            dyn.impulse_dynamics(q, v, active, 0.5 * active),
            dyn.constrained_inverse_dynamics(q, v, tau, active),
            [dyn.constraint_matrix_inverse(q, active), dyn.delassus_matrix_inverse(q, active)],
            dyn.step(q, v, tau, 1e-3, active=active),
        ):
            assert all(np.isfinite(x).all() for x in answers), dtype


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [slow("float64"), "float32"])
def test_a_stretched_leg(dtype: str) -> None:
    case, at = straight()
    at = settled(case, case.compile(), at._replace(active=np.ones_like(at.active)))
    dyn = case.compile("cpu", dtype=dtype)
    q, v, tau, active = (x.astype(dtype) for x in at[:4])
    a, force = dyn.constrained_forward_dynamics(q, v, tau, active)
    assert np.isfinite(a).all() and np.isfinite(force).all()
    assert all(np.isfinite(x).all() for x in dyn.constrained_forward_dynamics_derivatives(q, v, tau, active))


@pytest.mark.parametrize("name", ["planes", "points", "twice"])
def test_float32_at_rest(name: str) -> None:
    """Single precision holds dependent rows too, where they agree: to 1e-2 of the largest acceleration."""
    case = CASES[name]
    at = case.state(6, 3)
    at = at._replace(v=0.0 * at.v)
    a, _ = case.compile("cpu", dtype="float32").constrained_forward_dynamics(*(x.astype(np.float32) for x in at[:4]))
    assert apart(a, exact(case, at)) < 1e-2


def test_derivatives_of_rows_that_agree() -> None:
    """Four planes on a body hold what one does: the same a, and the same derivatives of it."""
    case = corners("plane")
    one = replace(case, contacts=case.contacts[:1])
    at = case.state(3, 3)
    given = [at.q, at.v, at.tau]
    found, expected = (
        of.compile().constrained_forward_dynamics_derivatives(*given, np.ones((3, len(of.contacts))))
        for of in (case, one)
    )
    assert apart(list(found[:3]), list(expected[:3])) < 1e-6
    along = drawn(given, case.robot.nv, 4)
    dyn = one.compile()
    moving = slopes(case.robot, lambda *x: dyn.constrained_forward_dynamics(*x, np.ones((3, 1))).a, given, along)
    closed = sum(np.einsum("nij,nj->ni", part, dx) for part, dx in zip(found[:3], along, strict=True))
    assert apart(closed, moving[0]) < 1e-6
