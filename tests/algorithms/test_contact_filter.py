"""The filter of contact forces as a polynomial, its numbers, and proximal iterations with the matrix that stands for
them."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.algorithms.contact_forces import (
    Constrained,
    Regular,
    _solved,
    base_coordinates,
    depends,
    filtered,
    filtered_change,
    filtered_inverse,
    least_forces,
    proximal,
    proximal_inverse,
)
from condyle.algorithms.contacts import scales
from condyle.algorithms.ltl import ltl
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.unrolled import Unrolled
from condyle.compile.options import bound_of
from condyle.model.placement import Placement
from condyle.model.tree import Tree, tree_of
from condyle.scalar import number
from tests.accuracies import SOLVED

SIZE = 4


@pytest.mark.parametrize("times", [1, 2, 4])
def test_the_matrix_of_proximal_iterations_is_what_they_do(times: int) -> None:
    """mu is as large as G: iterations are far from their limit, and each one counts."""
    rng = np.random.default_rng(0)
    half, b = rng.normal(size=(SIZE, SIZE)), rng.normal(size=SIZE)
    G, mu = half @ half.T, 2.0
    matrix = SparseMatrix.from_entries(SIZE, [(i, j, number(x)) for (i, j), x in np.ndenumerate(G + mu * np.eye(SIZE))])
    regular = Regular(ltl(matrix), [number(mu)] * SIZE)
    f = np.zeros(SIZE)
    for _ in range(times):
        f = np.linalg.solve(G + mu * np.eye(SIZE), b + mu * f)
    np.testing.assert_allclose(proximal(regular, [number(x) for x in b], times), f, rtol=1e-12)
    inverse = np.zeros((SIZE, SIZE))
    for i, j, x in proximal_inverse(regular, times):
        inverse[i, j] = x
    np.testing.assert_allclose(inverse @ b, f, rtol=1e-12)


def regular_of(G: np.ndarray, R: np.ndarray) -> Regular:
    matrix = SparseMatrix.from_entries(len(G), [(i, j, number(x)) for (i, j), x in np.ndenumerate(G + np.diag(R))])
    return Regular(ltl(matrix), [number(x) for x in R])


def forces_of(G: np.ndarray, R: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A (1 - X)^3 (1 + 4 X + 10 X^2 + 20 X^3) b, A = (G + R)^-1, X = R A."""
    A, one = np.linalg.inv(G + np.diag(R)), np.eye(len(G))
    X = np.diag(R) @ A
    left = one - X
    return A @ left @ left @ left @ (one + 4.0 * X + 10.0 * X @ X + 20.0 * X @ X @ X) @ b


def matrices() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """R is as large as G, so that every power of X counts."""
    rng = np.random.default_rng(1)
    half, b = rng.normal(size=(SIZE, SIZE)), rng.normal(size=SIZE)
    return half @ half.T, rng.uniform(0.5, 2.0, SIZE), b


def test_the_filter_is_its_polynomial() -> None:
    G, R, b = matrices()
    regular, wanted = regular_of(G, R), forces_of(G, R, b)
    np.testing.assert_allclose(filtered(regular, b.tolist()), wanted, rtol=1e-12)  # pyright: ignore
    found = np.zeros((SIZE, SIZE))
    for i, j, x in filtered_inverse(regular):
        found[i, j] = x
    np.testing.assert_allclose(found @ b, wanted, rtol=1e-12)


def test_the_filter_changes_as_differences_do() -> None:
    (G, R, b), rng, h = matrices(), np.random.default_rng(2), 1e-6
    half, dR, db = rng.normal(size=(SIZE, SIZE)), rng.normal(size=SIZE), rng.normal(size=SIZE)
    dG = half + half.T
    rows = [dict(enumerate(row)) for row in dG.tolist()]
    found = filtered_change(regular_of(G, R), b.tolist(), db.tolist(), rows, dR.tolist())
    ahead, behind = (forces_of(G + s * dG, R + s * dR, b + s * db) for s in (h, -h))
    np.testing.assert_allclose(found, (ahead - behind) / (2.0 * h), rtol=1e-7)  # pyright: ignore


def body(joint: str, mass: float, moments: tuple[float, float, float]) -> condyle.Robot:
    builder = condyle.Builder().body("body", mass=mass, inertia=np.diag(moments))
    return builder.joint("joint", parent="world", child="body", type=joint).build()


def tree_with(robot: condyle.Robot, *contacts: condyle.Contact) -> Tree:
    return tree_of(robot, bound_of(robot, contacts=contacts))


BOX = 2.0, (0.02, 0.03, 0.04)


@pytest.mark.filterwarnings("ignore:.*a point mass")
@pytest.mark.parametrize(
    ("joint", "numbers", "kind", "x", "wanted"),
    [
        ("translation", BOX, "plane", 0.0, (0.5, 16.0)),  # S = 1 / m, nothing turns; S / reach^2 = 0.5 / 0.0225
        ("translation", BOX, "plane", 1.0, (0.5, 0.5)),  # 0.5 / 1.0225
        ("translation", (2.0, (0.0, 0.0, 0.0)), "plane", 0.0, (0.5, 0.0)),  # no mass away from it
        ("free", BOX, "point", 0.0, (1.0,)),  # 0.5 + 0.0225 T = 1.31
        ("free", BOX, "plane", 0.0, (1.0, 64.0)),  # T = mean(1 / I) = 36.1, and 22.2 more
        ("free", (2.0, (0.2, 0.2, 0.2)), "plane", 0.0, (1.0, 8.0)),  # 0.5 + 0.15 T, T + 0.5 / 0.15 with T = 5
        ("revolute", BOX, "plane", 0.0, (0.25, 8.0)),  # T = 25 / 3
    ],
)
def test_scales_are_those_of_a_body(
    joint: str, numbers: tuple[float, tuple[float, float, float]], kind: str, x: float, wanted: tuple[float, ...]
) -> None:
    """S + reach^2 T of translations, T + S / reach^2 of rotations, rounded to a power of two."""
    contact = condyle.Contact("body", kind, placement=Placement.from_rpy((x, 0.0, 0.0)))
    assert scales(tree_with(body(joint, *numbers), contact)) == tuple(np.repeat(wanted, 3))


def test_the_numbers_of_the_filter() -> None:
    """R_i = mu (G_ii + s_i / 4) + 1e-12 with G_ii = s_i = 1 / m; 1 more where a contact is off."""
    beside = condyle.Contact("body", placement=Placement.from_rpy((0.1, 0.0, 0.0)))
    tree = tree_with(body("translation", *BOX), condyle.Contact("body"), beside)
    for flag in (1.0, 0.0):
        way = Constrained(Unrolled(tree, {"q": [0.0] * 3}), [1.0, flag])
        on = 1e-6 * 0.625 + 1e-12
        np.testing.assert_allclose(way.regular.damped[:3], [on] * 3, rtol=1e-12)  # pyright: ignore
        np.testing.assert_allclose(way.regular.damped[3:], [on - 5e-7 * (1.0 - flag)] * 3, rtol=1e-12)  # pyright: ignore
        alike = [float(x) for x in way.damping_by([0.5] * 5 + [2.0], True)]  # type: ignore[arg-type]
        np.testing.assert_allclose(alike, [1e-6 * (0.75 + 0.125) + 1e-12] * 6, rtol=1e-12)
        soft = way.regularised(way.G, mu=1e-4)
        np.testing.assert_allclose(soft.damped[:3], [1e-4 * 0.625 + 1e-12] * 3, rtol=1e-12)  # pyright: ignore
        D = 1.0 / np.array([float(x) for x in way.regular.factors.inverse_D])  # type: ignore[arg-type]
        if not flag:
            np.testing.assert_allclose(D[3:], 1.0 + on - 5e-7, rtol=1e-12)


@pytest.mark.parametrize(
    ("joint", "places", "wanted"),
    [
        ("translation", [], False),
        ("translation", [0.0], False),
        ("translation", [0.0, 0.5], True),  # more rows than coordinates
        ("free", [0.0], False),
        ("free", [0.3, 0.3 + 1e-7], True),
        ("free", [-0.3, 0.3], True),  # the distance between them does not change
        ("revolute", [0.3], True),
    ],
)
def test_rows_that_depend_on_each_other(joint: str, places: list[float], wanted: bool) -> None:
    contacts = [condyle.Contact("body", placement=Placement.from_rpy((x, 0.0, 0.0))) for x in places]
    assert depends(tree_with(body(joint, *BOX), *contacts)) == wanted


def test_rows_of_arms_and_legs_that_depend_on_each_other() -> None:
    """A plane and a point have more rows than an arm has velocities; feet of two legs are independent."""
    arm, quadruped = condyle.load("iiwa14"), condyle.load("hyq", floating_base=True)
    plane = condyle.Contact("iiwa_link_7", "plane")
    left, right = (condyle.Contact(f"{leg}_lowerleg") for leg in ("lf", "rf"))
    assert not depends(tree_with(arm, plane)) and depends(tree_with(arm, plane, condyle.Contact("iiwa_link_6")))
    assert not depends(tree_with(quadruped, left, right))


def iterated(G: np.ndarray, R: np.ndarray, times: int) -> np.ndarray:
    """What so many proximal iterations make of b."""
    A, found = np.linalg.inv(G + np.diag(R)), np.zeros_like(G)
    for _ in range(times):
        found = A @ (np.eye(len(G)) + np.diag(R) @ found)
    return found


def test_the_pseudo_inverse_is_of_eight_iterations() -> None:
    """P G P with mu = 1e-4, of a matrix with an eigenvalue as small as R."""
    beside = condyle.Contact("body", placement=Placement.from_rpy((0.1, 0.0, 0.0)))
    tree = tree_with(body("translation", *BOX), condyle.Contact("body"), beside)
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(6, 6)))[0]
    G = turn @ np.diag([1e-5, 1e-4, 0.1, 0.5, 1.0, 2.0]) @ turn.T
    way = Constrained(Unrolled(tree, {"q": [0.0] * 3}), [1.0, 1.0])
    way.__dict__["G"] = SparseMatrix.from_entries(6, [(i, j, number(x)) for (i, j), x in np.ndenumerate(G)])
    P = iterated(G, 1e-4 * (np.diag(G) + 0.125) + 1e-12, 8)
    found = np.zeros((6, 6))
    for i, j, x in way.pseudoinverse:
        found[i, j] = x
    np.testing.assert_allclose(found, P @ G @ P, rtol=0, atol=SOLVED * np.abs(found).max())


def test_the_least_forces_are_of_six_iterations() -> None:
    """G^-2 with mu = 1e-4 times the mean of the diagonal, of a matrix with an eigenvalue as small."""
    rng = np.random.default_rng(3)
    left, right = np.linalg.qr(rng.normal(size=(5, 4)))[0], np.linalg.qr(rng.normal(size=(4, 4)))[0]
    J, wanted = left @ np.diag([1e-2, 1.0, 1.5, 2.0]) @ right, rng.normal(size=4)
    G = J.T @ J
    P = iterated(G, np.full(4, 1e-4 * np.trace(G) / 4.0 + 1e-12), 6)
    found = _solved([dict(enumerate(row)) for row in J.tolist()], 4, wanted.tolist())
    np.testing.assert_allclose(found, P @ P @ wanted, rtol=SOLVED)  # pyright: ignore


def test_forces_turn_with_the_matrix() -> None:
    """At b + dG f, as R = 1e-6 (G_ii + s_i / 4) moves too: by differences, of a matrix as small as R."""
    rng, h = np.random.default_rng(4), 1e-4
    tree = tree_with(body("translation", *BOX), condyle.Contact("body"))
    turn, b = np.linalg.qr(rng.normal(size=(3, 3)))[0], rng.normal(size=3)
    G = turn @ np.diag([2e-6, 1e-6, 3e-6]) @ turn.T
    half = rng.normal(size=(3, 3))
    dG = 1e-6 * (half + half.T)
    way = Constrained(Unrolled(tree, {"q": [0.0] * 3}), [1.0])
    R = 1e-6 * (np.diag(G) + 0.125) + 1e-12
    way.__dict__["regular"] = regular_of(G, R)
    way.__dict__["wanted"] = b.tolist()
    f = rng.normal(size=3)
    rows = [dict(enumerate(row)) for row in dG.tolist()]
    found = way.turned(f.tolist(), rows)
    large = 1e6 * dG  # so that the change of R, which is 1e-6 of that of G, counts
    ends = [forces_of(G + s * dG, R + s * 1e-6 * np.diag(dG), b + s * dG @ f) for s in (h, -h)]
    np.testing.assert_allclose(found, (ends[0] - ends[1]) / (2.0 * h), rtol=1e-6)  # pyright: ignore
    rows = [dict(enumerate(row)) for row in large.tolist()]
    slopes = filtered_change(regular_of(G, R), b.tolist(), (large @ f).tolist(), rows, (1e-6 * np.diag(large)).tolist())
    np.testing.assert_allclose(way.turned(f.tolist(), rows), slopes, rtol=1e-12)  # pyright: ignore


def on_second_body(*kinds: str) -> Constrained:
    """A contact on the second of two bodies with these joints, one behind the other."""
    builder = condyle.Builder()
    for name, parent, kind in zip(("first", "second"), ("world", "first"), kinds, strict=True):
        builder.body(name, mass=2.0, inertia=0.1 * np.eye(3))
        builder.joint(name, parent=parent, child=name, type=kind)
    tree = tree_with(builder.build(), condyle.Contact("second"))
    return Constrained(Unrolled(tree, {"q": [0.0, 0.0, 0.0, 1.0] * 4}), [1.0])


@pytest.mark.parametrize("second", ["revolute", "free"])
def test_the_base_is_a_free_joint_on_the_world(second: str) -> None:
    assert base_coordinates(on_second_body("free", second)) == list(range(6))


@pytest.mark.parametrize("second", ["revolute", "free"])
def test_without_a_base_actuators_carry_all(second: str) -> None:
    """A free joint on another body is no base."""
    way = on_second_body("revolute", second)
    tau = [1.0 + k for k in range(way.tree.nv)]
    assert base_coordinates(way) == [] and least_forces(way, tau) == ([0.0] * 3, tau)
