"""Parts of a step with friction: the axes of a contact, projection to cones."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import condyle
from condyle.algorithms.contact_friction import Frictional, basis, nearest
from condyle.algorithms.contact_newton import Problem, cut, shortened
from condyle.algorithms.contact_sweeps import Rooted, Swept
from condyle.algorithms.contacts import scales
from condyle.algorithms.unrolled import Unrolled
from condyle.compile.options import bound_of
from condyle.model.placement import Placement
from condyle.model.tree import Tree, tree_of
from tests.ground.robots import CORNERS, box


@pytest.mark.parametrize("z", [1.0, 0.0, -0.0, -1.0, -1.0 + 1e-9])
def test_a_basis_is_right_handed(z: float) -> None:
    normal = np.array([0.3 * (1.0 - z * z), 0.1 * (1.0 - z * z), z])
    axes = np.array(basis(tuple(np.float64(x) for x in normal)))  # type: ignore[arg-type]
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), rtol=0, atol=1e-12)
    assert np.linalg.det(axes) > 0.0 and axes[2] @ normal > 0.0


def test_the_nearest_point_of_a_cone() -> None:
    """Moreau's decomposition: the residual is in the polar cone and normal to the projection."""
    rng = np.random.default_rng(0)
    p, mu = 2.0 * rng.normal(size=(3, 1000)), rng.uniform(0.0, 2.0, 1000)
    near = np.array(nearest(tuple(p), mu))  # type: ignore[arg-type]
    left, across = p - near, np.linalg.norm(near[:2], axis=0)
    assert np.all(across <= mu * near[2] + 1e-11) and np.all(near[2] >= 0.0)
    np.testing.assert_allclose((left * near).sum(axis=0), 0.0, rtol=0, atol=1e-11)
    assert np.all(left[2] + mu * np.linalg.norm(left[:2], axis=0) <= 1e-11)


def test_a_shortened_vector_keeps_its_direction() -> None:
    x, y = np.array([3.0, 0.3, 0.0]), np.array([-4.0, -0.4, 0.0])
    short = np.array(shortened((x, y), np.array([1.0, 1.0, 0.0])))  # type: ignore[arg-type]
    np.testing.assert_allclose(short, [[0.6, 0.3, 0.0], [-0.8, -0.4, 0.0]], rtol=1e-12)


def test_impulses_without_gain_are_the_longest_ones() -> None:
    """E(s) = s pᵀ b + s² pᵀ G p / 2: the factor s is 1 where E(1) <= 0, else the root of E, and 0 where pᵀ b >= 0."""
    rng = np.random.default_rng(0)
    kinds = set[str]()
    for _ in range(60):
        half, p, b = rng.normal(size=(6, 6)), rng.normal(size=6), 6.0 * rng.normal(size=6)
        G = half @ half.T
        contacts = object.__new__(Frictional)
        contacts.joints, contacts.first = (), 6
        problem = Problem(G.tolist(), b.tolist(), (), (), (), (), ())
        contacts.__dict__.update(b=b.tolist(), problem=problem)
        kept = np.array(contacts._without_gain(p.tolist()))
        energy = kept @ b + 0.5 * kept @ G @ kept
        if p @ b >= 0.0:
            kinds.add("none")
            assert not kept.any()
        elif p @ b + 0.5 * p @ G @ p <= 0.0:
            kinds.add("all")
            assert np.array_equal(kept, p)
        else:
            kinds.add("some")
            assert abs(energy) < 1e-12 * abs(kept @ b) and kept.any()  # rounding of two sums of 36 terms
    assert kinds == {"none", "some", "all"}


CORNERED = tuple(condyle.Contact("box", placement=Placement.from_rpy(corner.point)) for corner in CORNERS[:2])
"""Two contacts of a box."""


class Step(NamedTuple):
    """A step of the box on its corners at one state, as the algorithm has it, and M, J and scales with arrays."""

    inputs: dict[str, Any]
    tree: Tree
    M: Any
    J: Any

    def way(self, kind: Any = Frictional, **more: Any) -> Any:
        inputs = {name: np.ravel(x).tolist() for name, x in {**self.inputs, **more}.items()}
        return kind(Unrolled(self.tree, inputs), inputs["active"])


@cache
def step_of_box(off: bool = False) -> Step:
    robot, rng = box(), np.random.default_rng(3)
    q, v = robot.random_state(1, 4)
    inputs = {"q": q[0], "v": v[0], "tau": rng.normal(size=6), "dt": 0.02, "friction": [0.7, -0.2]}
    inputs |= {"active": [1.0, 0.0 if off else 1.0], "gaps": [0.1, -0.3], "normals": rng.normal(size=6)}
    dyn = robot.compile("numpy", contacts=CORNERED)
    turn = robot.compile("numpy", frames=("box",)).frame_placements(q[0]).rotation[0]
    J = np.reshape(dyn.constraint_jacobian(q[0]), (2, 3, 6))
    axes = [np.array(basis(tuple(inputs["normals"][3 * k : 3 * k + 3]))) for k in range(2)]
    J = np.concatenate([flag * A @ turn @ part for flag, A, part in zip(inputs["active"], axes, J, strict=True)])
    return Step(inputs, tree_of(robot, bound_of(robot, contacts=CORNERED)), dyn.mass_matrix(q[0]), J)


def largest_of_tangents(G: Any) -> Any:
    return np.array([np.linalg.eigvalsh(G[3 * k : 3 * k + 2, 3 * k : 3 * k + 2])[-1] for k in range(2)])


@pytest.mark.parametrize("off", [False, True])
def test_the_problem_of_a_step_is_that_of_its_matrices(off: bool) -> None:
    """G = J M^-1 J^T, b with gap / h, rates, R = mu (mean of G_ii + s_i / 4), 1 more where a contact is off."""
    step = step_of_box(off)
    way, given = step.way(), step.inputs
    problem, G = way.problem, step.J @ np.linalg.solve(step.M, step.J.T)
    np.testing.assert_allclose(np.array(problem.rows, float), G, rtol=0, atol=1e-12)
    c = box().compile("numpy").nonlinear_effects(given["q"], given["v"])
    free = given["v"] + given["dt"] * np.linalg.solve(step.M, given["tau"] - c)
    b = step.J @ free + np.repeat(given["active"], 3) * np.ravel([[0.0, 0.0, gap / 0.02] for gap in given["gaps"]])
    np.testing.assert_allclose(np.array(problem.b, float), b, rtol=0, atol=1e-12)
    flags = np.repeat(given["active"], 3)
    least = np.mean(1e-6 * (np.diag(G) + 0.25 * np.array(scales(step.tree))) + 1e-12) + 1.0 - flags
    np.testing.assert_allclose(np.array(problem.damping, float), least, rtol=1e-9)
    rates = np.ravel([[t, t, n] for t, n in zip(largest_of_tangents(G), G[[2, 5], [2, 5]], strict=True)]) + least
    np.testing.assert_allclose(np.array(problem.rates, float), rates, rtol=1e-9)
    np.testing.assert_allclose(np.array(problem.steps, float), 1.0 / rates, rtol=1e-9)
    assert problem.friction == [0.7, 0.0]


def test_a_step_begins_with_contacts_that_stick() -> None:
    """-(G + R)^-1 b with mu = 1e-3, cut off at the cones; else with the impulses before, along the contact's axes."""
    step = step_of_box()
    way, G = step.way(friction=[2.0, 3.0]), step.J @ np.linalg.solve(step.M, step.J.T)
    R = np.mean(1e-3 * (np.diag(G) + 0.25 * np.array(scales(step.tree))) + 1e-12)
    sticking = -np.linalg.solve(G + R * np.eye(6), np.array(way.b, float))
    wanted = cut(sticking.tolist(), [2.0, 3.0])
    np.testing.assert_allclose(np.array(way.start(), float), np.array(wanted, float), rtol=1e-9)
    assert any(wanted)
    before = np.random.default_rng(5).normal(size=6)
    way = step.way(impulse0=before, friction=[1e9, 1e9])
    axes = [np.array(axis, float) for axis in way.axes]
    turned = np.concatenate([A @ x for A, x in zip(axes, before.reshape(2, 3), strict=True)])
    kept = np.repeat(turned[[2, 5]] > 0.0, 3)
    np.testing.assert_allclose(np.array(way.start(), float), np.where(kept, turned, 0.0), rtol=0, atol=1e-12)
    assert kept.any()


@pytest.mark.parametrize("kind", [Swept, Rooted])
def test_a_sweep_has_the_inverse_of_each_contact(kind: Any) -> None:
    step = step_of_box()
    G, way = step.J @ np.linalg.solve(step.M, step.J.T), step.way(kind)
    sweep, R = way.sweep(), np.array(way.least, float)
    rows = np.zeros((6, 6))
    for i, row in enumerate(sweep.rows):
        for k, x in row.items():
            rows[i, k] = x
    np.testing.assert_allclose(rows @ rows.T if kind is Rooted else rows, G, rtol=0, atol=1e-12)
    for k in range(2):
        xx, xy, xn, yy, yn, nn = sweep.inverses[6 * k : 6 * k + 6]
        B, block = np.array([[xx, xy, xn], [xy, yy, yn], [xn, yn, nn]], float), slice(3 * k, 3 * k + 3)
        np.testing.assert_allclose(B @ (G[block, block] + R[k] * np.eye(3)), np.eye(3), rtol=0, atol=1e-9)
        np.testing.assert_allclose(np.array(sweep.ties[2 * k : 2 * k + 2], float), G[block, 3 * k + 2][:2], rtol=1e-12)
    np.testing.assert_allclose(np.array(sweep.steps, float), 1.0 / np.array(way.row_rates, float), rtol=1e-12)


@pytest.mark.parametrize("kind", [Swept, Rooted])
def test_a_sweep_moves_one_contact_after_the_other(kind: Any) -> None:
    """p - B u where that sticks; else the normal, and the tangents at the velocity that it leaves them."""
    step, seen = step_of_box(), set[bool]()
    G = step.J @ np.linalg.solve(step.M, step.J.T)
    for seed in range(12):
        p = np.random.default_rng(seed).normal(size=6)
        friction = np.random.default_rng(seed).uniform(0.0, 3.0, 2)
        way = step.way(kind, friction=friction)
        sweep, b, rates = way.sweep(), np.array(way.b, float), np.array(way.row_rates, float)
        y = way.pushed(p.tolist()) if kind is Rooted else {}
        found, _ = sweep.swept(p.tolist(), [y[k] for k in range(len(y))])
        for k, mu in enumerate(friction):
            block, u = slice(3 * k, 3 * k + 3), b + G @ p
            stuck = p[block] - np.linalg.solve(G[block, block] + way.least[0] * np.eye(3), u[block])
            seen.add(sticks := bool(np.hypot(*stuck[:2]) <= mu * max(stuck[2], 0.0)))
            if sticks:
                p[block] = stuck
                continue
            p[3 * k + 2] = max(p[3 * k + 2] - u[3 * k + 2] / rates[3 * k + 2], 0.0)
            across = p[block][:2] - (b + G @ p)[block][:2] / rates[3 * k]
            p[block][:2] = across * min(1.0, mu * p[3 * k + 2] / np.hypot(*across))
        np.testing.assert_allclose(np.array(found, float), p, rtol=0, atol=1e-9)
    assert seen == {False, True}


def test_a_pivot_of_a_sweep_stays_large() -> None:
    """Where rows of a contact are nearly one: 1 / B is the least part of the diagonal, 1e-3."""
    way = object.__new__(Swept)
    entries = np.ones((3, 3)) * np.outer([2.0, 3.0, 1.0], [2.0, 3.0, 1.0])
    way.__dict__.update(least=[0.0], entry=lambda i, j: float(entries[i, j]))
    xx, xy, xn, yy, yn, nn = map(float, way._inverse(0))
    assert (xx, xy, yy) == pytest.approx((1.0 / 4e-3, 0.0, 1.0 / 9e-3))
    assert (xn, yn) == pytest.approx((-2.0 * xx, -3.0 * yy))
    assert nn == pytest.approx(1.0 + 4.0 * xx + 9.0 * yy)
