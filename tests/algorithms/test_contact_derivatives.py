"""Constrained motion without factors of M, and products with the inverse of the KKT matrix, by dense matrices."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.algorithms.contact_derivatives import (
    ByElimination,
    KktDerivatives,
    Rows,
    Slopes,
    force_slopes,
    inverse_blocks,
)
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contacts import Contacts
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.solvers import mass_matrix
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import tree_of
from condyle.specification import Bound
from tests.accuracies import DIFFERENCES, SOLVED
from tests.contacts.cases import tree as random_case

Array = np.ndarray
RNG = np.random.default_rng(7)
HELD = (condyle.Contact("lf_lowerleg", "point"), condyle.Contact("rh_lowerleg", "line"))


@cache
def unrolled() -> Unrolled:
    """HyQ, floating, on two of its legs."""
    robot = condyle.load("hyq", floating_base=True)
    q, v = robot.random_state(1, 2)
    inputs = {"q": q[0].tolist(), "v": v[0].tolist(), "tau": RNG.normal(size=robot.nv).tolist()}
    return Unrolled(tree_of(robot, Bound(contacts=HELD)), inputs)


def dense(rows: Any, n: int) -> Array:
    return np.array([[float(row.get(k, 0.0)) for k in range(n)] for row in rows])


def whole(matrix: SparseMatrix) -> Array:
    return dense([matrix.row(i) for i in range(matrix.size)], matrix.size)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.array(found, float), np.array(wanted, float), rtol=SOLVED, atol=SOLVED)


@pytest.mark.parametrize("flags", [(1.0, 1.0), (1.0, 0.0)])
def test_eliminations_are_the_factors_of_m(flags: tuple[float, float]) -> None:
    """J M^-1 J^T, J M^-1 (tau - c), M^-1 x, forces and accelerations."""
    tree = unrolled()
    one, other = ByElimination(tree, flags), Constrained(tree, flags)
    M, J = whole(mass_matrix(tree)), dense(other.J, tree.nv)
    G = J @ np.linalg.solve(M, J.T)
    for way in (one, other):
        close(whole(way.G), G)
        close(dense(way.Y, tree.nv) @ (np.array(way.inverse_D, float)[:, None] * dense(way.Y, tree.nv).T), G)
    close(one.at_contacts(one.net), other.at_contacts(other.net))
    x, y = RNG.normal(size=tree.nv), RNG.normal(size=len(J))
    half = one.half(x.tolist())
    close(one.rest([half[k] for k in range(tree.nv)]), np.linalg.solve(M, x))
    close(one.at_contacts(half), J @ np.linalg.solve(M, x))
    close(one.moved(half, y.tolist()), np.linalg.solve(M, x + J.T @ y))
    for found, wanted in zip(one.dynamics(), other.dynamics(), strict=True):
        close(found, wanted)


def test_both_ways_to_solve_are_the_inverse_of_the_kkt_matrix() -> None:
    """Of few columns and of many: [M, J^T; J, 0] [da; -df] = -[r1; r2]."""
    tree = unrolled()
    way = Constrained(tree, (1.0, 1.0))
    M, J = whole(mass_matrix(tree)), dense(way.J, tree.nv)
    n, rows = tree.nv, len(J)
    K = np.block([[M, J.T], [J, np.zeros((rows, rows))]])
    derivatives = KktDerivatives(way, way.inverse)
    full, narrow = RNG.normal(size=(n, n)), np.zeros((n, n))
    narrow[:, :1] = full[:, :1]
    lean = np.zeros((n, n))
    lean[-1, -1] = 1.0
    for r1 in (full, narrow, lean):
        for r2 in (RNG.normal(size=(rows, n)), np.zeros((rows, n))):
            listed = [[{k: x for k, x in enumerate(row) if x} for row in part.tolist()] for part in (r1, r2)]
            da, df = derivatives.solved(Rows(listed[0]), Rows(listed[1]))
            wanted = -np.linalg.solve(K, np.concatenate([r1, r2]))
            np.testing.assert_allclose(dense(da.rows, n), wanted[:n], rtol=0, atol=SOLVED * np.abs(wanted).max())
            np.testing.assert_allclose(dense(df.rows, n), -wanted[n:], rtol=0, atol=SOLVED * np.abs(wanted).max())
    inverse = np.linalg.inv(K)
    np.testing.assert_allclose(whole(inverse_blocks(way)), inverse, rtol=0, atol=SOLVED * np.abs(inverse).max())


def test_sparse_rows_are_matrices() -> None:
    A, B = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 3.0]]), np.array([[0.0, 4.0], [5.0, 0.0], [6.0, 7.0]])
    a, b = (Rows([{k: x for k, x in enumerate(row) if x} for row in M.tolist()]) for M in (A, B))
    assert np.array_equal(dense(a.times(b).rows, 2), A @ B) and a.cost(b) == 5
    assert np.array_equal(dense(a.transposed(3).rows, 2), A.T) and np.array_equal(a.flat(3), A.ravel())
    assert np.array_equal(dense(a.plus(a.negative().scaled([2.0, 3.0])).rows, 3), A - [[2.0], [3.0]] * A)
    matrix = SparseMatrix.from_entries(2, [(0, 0, 0.0), (0, 1, 2.0), (1, 0, 3.0)])
    assert Rows.from_matrix(matrix).rows == [{1: 2.0}, {0: 3.0}]


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_slopes_of_contacts_are_differences(seed: int) -> None:
    """Of M a + c - J^T f and of J a + gamma by q and by v, for contacts of all kinds, of one body or two."""
    case, h = random_case(seed, 4), 1e-6
    robot, rng, dyn = case.robot, np.random.default_rng(seed), case.compile()
    n, (q, v) = robot.nv, (x[0] for x in robot.random_state(1, seed))
    a, force = rng.normal(size=n), rng.normal(size=(len(case.contacts), 6)) * case.held
    tree = Unrolled(tree_of(robot, Bound(contacts=case.contacts)), {"q": q.tolist(), "v": v.tolist()})
    contacts = Contacts(tree)
    slopes, by = Slopes(contacts, a.tolist()), force_slopes(contacts, a.tolist(), force.ravel().tolist())

    ways = h * np.concatenate([np.eye(n), -np.eye(n)])
    still = [np.tile(x, (2 * n, 1)) for x in (q, v)]
    moved = {"q": [robot.integrate(still[0], ways), still[1]], "v": [still[0], still[1] + ways]}
    rest = [np.tile(a, (2 * n, 1)), np.tile(force, (2 * n, 1, 1))]
    along = {name: dyn.call("cres", [*state, *rest]) for name, state in moved.items()}
    for name, torques, rows in (("q", by[0], slopes.by_q), ("v", by[1], slopes.by_v)):
        for k, found in enumerate((whole(torques), dense(rows, n))):
            ends = np.asarray(along[name][k])
            wanted = (ends[:n] - ends[n:]).T / (2.0 * h)
            np.testing.assert_allclose(found, wanted, rtol=0, atol=DIFFERENCES * max(np.abs(wanted).max(), 1.0))


def test_velocities_of_contacts_and_ways_to_the_root() -> None:
    tree = unrolled()
    contacts = Contacts(tree)
    v = np.array(tree.inputs["v"], float)
    close(contacts.velocities(tree.inputs["v"]), dense(contacts.J, tree.nv) @ v)
    for k, link in enumerate(tree.tree.links):
        way = contacts._path(k)
        assert way[0] == k and tree.tree.links[way[-1]].parent < 0
        assert way[1:] == (contacts._path(link.parent) if link.parent >= 0 else [])
    assert contacts._path(-1) == []
