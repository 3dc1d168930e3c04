"""Small parts of algorithms with values by hand: rows of steps, joints at stops, scales of contacts, sparse sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

import condyle
from condyle.algorithms.contact_newton import JointRow, ends_of, shape, with_ends
from condyle.algorithms.contacts import _power_of_two, among_six, logarithm, scales
from condyle.algorithms.matrix import SparseMatrix, dense, flat, numbers, plus, refilled
from condyle.functions.step_derivatives import Combination, added, matrix, product, shifted, times, total, unit
from condyle.model.tree import tree_of
from condyle.specification import Bound

ARM = condyle.chain(2)


@pytest.mark.parametrize(
    ("x", "power"),
    [
        *((0.0, 0.0), (-1.0, 0.0), (math.inf, 0.0), (math.nan, 0.0), (1.0, 1.0), (1.4, 1.0), (1.5, 2.0), (3.0, 4.0)),
        *((0.3, 0.25), (2.0**1001, 2.0**1000), (2.0**-1000, 2.0**-1000)),
    ],
)
def test_scales_are_the_nearest_powers_of_two(x: float, power: float) -> None:
    assert _power_of_two(x) == power


def test_logarithms_of_rotations() -> None:
    rng = np.random.default_rng(0)
    for angle in (0.0, 1e-3, 1.0, 3.0):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        R = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
        found = np.array(logarithm(tuple(tuple(row) for row in R.tolist())), float)
        np.testing.assert_allclose(found, angle * axis, rtol=0, atol=1e-12)
    half_turn = np.array(logarithm(((-1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, 1.0))), float)
    assert np.isfinite(half_turn).all()


def test_each_row_of_a_contact_has_a_scale() -> None:
    contacts = condyle.Contact("iiwa_link_7"), condyle.Contact("iiwa_link_7", "plane")
    assert len(scales(tree_of(condyle.load("iiwa14"), Bound(contacts=contacts)))) == 3 + 6


def test_rows_among_six() -> None:
    tree = tree_of(ARM, Bound(contacts=(condyle.Contact(list(ARM.frames)[-1]),)))
    assert among_six(tree.contacts, [1.0, 2.0, 3.0], 0.0) == [1.0, 2.0, 3.0, 0.0, 0.0, 0.0]


STUCK = [
    (JointRow(0, None, None, None), 0.4, 0.0),
    (JointRow(0, 0.5, None, None), 0.9, 1.0),
    (JointRow(0, 0.5, None, None), -0.9, 1.0),
    (JointRow(0, 0.5, None, None), 1.1, 0.0),
    (JointRow(0, None, -0.2, None), -0.3, 1.0),
    (JointRow(0, None, -0.2, None), -0.1, 0.0),
    (JointRow(0, None, None, 0.2), 0.3, 1.0),
    (JointRow(0, None, None, 0.2), 0.1, 0.0),
    (JointRow(0, 0.5, -0.2, 0.2), 1.1, 0.0),
    (JointRow(0, 0.5, -0.2, 0.2), 1.3, 1.0),
    (JointRow(0, 0.5, -0.2, 0.2), -1.3, 1.0),
]


@pytest.mark.parametrize(("joint", "w", "flag"), STUCK)
def test_where_a_joint_rests(joint: JointRow, w: float, flag: float) -> None:
    """At a gain of 2, friction of 0.5 holds up to 1; stops hold behind what friction leaves."""
    assert joint.rests(w, 2.0) == flag


@pytest.mark.parametrize(("w", "u"), [(0.9, 0.0), (-0.9, 0.0), (1.1, 0.1), (-1.1, -0.1), (1.4, 0.2), (-1.5, -0.3)])
def test_friction_draws_to_zero_and_stops_cut_off(w: float, u: float) -> None:
    assert JointRow(0, 0.5, -0.3, 0.2).velocity(w, 2.0) == pytest.approx(u, abs=1e-15)


def test_numbers_of_rows_are_put_back() -> None:
    rows = [JointRow(4, 0.5, None, 0.2), JointRow(6, None, -0.1, None)]
    assert shape(rows) == ((True, False, True), (False, True, False)) and ends_of(rows) == [0.5, 0.2, -0.1]
    assert with_ends(shape(rows), ends_of(rows)) == [row._replace(entry=-1) for row in rows]


def test_a_combination_is_its_base_and_weighed_parts() -> None:
    base, part = [{0: 1.0}, {1: 2.0}], [{0: 3.0, 2: 4.0}, {1: 5.0}]
    combined = Combination(base, ((2.0, part),), frozenset({1}))
    assert combined.rows == [{0: 7.0, 2: 8.0}, {1: 2.0}]
    assert combined.scaled(3.0).rows == [{0: 21.0, 2: 24.0}, {1: 6.0}]
    assert combined.plus(-1.0, combined).rows == [{0: 0.0, 2: 0.0}, {1: 0.0}]


def test_rows_of_steps_do_not_compute_with_zeros_and_ones() -> None:
    x, y = np.array([2.0]), np.array([3.0])
    assert times(1.0, x) is x and times(x, 1.0) is x and times(0.0, x) == 0.0 and times(x, y) == 6.0
    assert total(0.0, x) is x and total(x, 0.0) is x and total(x, y) == 5.0
    assert unit(2, 3) == [{3: 1.0}, {4: 1.0}] and shifted([[0.0, 5.0]], 2) == [{3: 5.0}]
    assert matrix([1.0, 2.0, 3.0, 4.0], 2) == [[1.0, 2.0], [3.0, 4.0]] and matrix([], 0) == []
    assert product([[0.0, 2.0]], [{0: 1.0}, {1: 3.0}]) == [{1: 6.0}]
    assert added([{0: 1.0}], 2.0, [{0: 3.0, 1: 4.0}]) == [{0: 7.0, 1: 8.0}]


def test_entries_of_sparse_matrices() -> None:
    made = SparseMatrix.from_entries(3, [(0, 2, 1.0), (0, 1, 2.0), (2, 2, 5.0)])
    made.add(0, 2, 3.0)
    made.add(1, 0, 7.0)
    assert list(made) == [(0, 1, 2.0), (0, 2, 4.0), (1, 0, 7.0), (2, 2, 5.0)] and made.get(1, 1) is None
    D = np.reshape(dense(made), (3, 3))
    assert np.array_equal(np.reshape(dense(made.transposed()), (3, 3)), D.T)
    assert np.array_equal(np.reshape(dense(made.times(made)), (3, 3)), D @ D)
    assert np.array_equal(np.reshape(dense(made.scaled(-2.0)), (3, 3)), -2.0 * D)
    apart = SparseMatrix.from_entries(4, [(0, 0, 1.0), (3, 0, 1.0), (1, 1, 1.0), (2, 3, 1.0)])
    kept = apart.connected([float(k) for k in range(16)])
    assert {(row, column) for row, column, _ in kept} == {(1, 1), *((i, j) for i in (0, 2, 3) for j in (0, 2, 3))}
    assert kept.get(2, 3) == 11.0


def test_values_of_joints_keep_their_structure() -> None:
    row = JointRow(1, 2.0, 3.0, 4.0)
    assert plus((1.0, (2.0, row)), (1.0, (1.0, row))) == (2.0, (3.0, JointRow(2, 4.0, 6.0, 8.0)))
    assert flat((1.0, (2.0, row))) == [1.0, 2.0, 1, 2.0, 3.0, 4.0] and numbers((1.0, (2.0,))) == (1.0, 2.0)
    filled = refilled((0.0, row), iter((9.0, 8.0, 7.0, 6.0, 5.0)))
    assert filled == (9.0, JointRow(8.0, 7.0, 6.0, 5.0)) and isinstance(filled[1], JointRow)  # type: ignore[arg-type]
