"""Columns of derivatives of forward dynamics that a floating base makes known, and forces that couple joints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.algorithms.derivatives import Known
from condyle.algorithms.drives import added_mass, couples
from condyle.algorithms.matrix import SparseMatrix
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import tree_of
from condyle.specification import Bound, Drive, Drives

ROBOT = condyle.random_tree(2, 1, types=("revolute",), floating_base=True)
NV = ROBOT.nv
Q, V = (x[0] for x in ROBOT.random_state(1, 4))


def known_columns(bound: Bound = Bound(), **inputs: Any) -> Known:
    tree = Unrolled(tree_of(ROBOT, bound), {"q": Q.tolist(), "v": V.tolist(), **inputs})
    return Known(tree, tree.input("v"))


def test_what_is_known_of_a_floating_base() -> None:
    """Where it is changes nothing; how it is turned turns gravity; its slide turns with w."""
    of, dyn = known_columns(), ROBOT.compile("numpy")
    base = set(range(6))
    assert of.columns_q == base and of.columns_v == {0, 1, 2}
    by_q, by_v, _ = dyn.forward_dynamics_derivatives(Q, V, np.zeros(NV))
    for matrix, columns, wanted in ((of.by_q, of.columns_q, by_q), (of.by_v, of.columns_v, by_v)):
        found = np.zeros((NV, NV))
        for row, column, value in matrix:
            found[row, column] = float(value)  # type: ignore[arg-type]
        own = sorted(columns)
        np.testing.assert_allclose(found[:, own], wanted[:, own], rtol=0, atol=1e-9)
        assert not np.delete(found, own, 1).any() and np.abs(found).max() > 0.1
    full = SparseMatrix.from_entries(NV, ((i, j, float(NV * i + j)) for i in range(NV) for j in range(NV)))
    left = of.left(full, full)
    assert [{column for _, column, _ in part} for part in left] == [set(range(6, NV)), set(range(3, NV))]
    rest = [list(part) for part in left]
    for part, others, own in zip(of.joined(*left), rest, (of.by_q, of.by_v), strict=True):
        assert isinstance(part, SparseMatrix) and list(part) == sorted((*others, *own))


def test_what_is_not_known_where_forces_turn_or_resist() -> None:
    turned = known_columns(Bound(force_frame="local_world_aligned"), f_ext=[0.0] * (6 * len(ROBOT.bodies)))
    assert turned.columns_q == {0, 1, 2} == turned.columns_v
    damped = known_columns(Bound(drives=Drives(forces=("damping",), damping=(0.0, 0.5, *(0.0,) * (NV - 2)))))
    assert damped.columns_q == set(range(6)) and damped.columns_v == {0, 2}
    for entry, columns in ((4, set[int]()), (6, set(range(6)))):
        assert known_columns(armature=[float(k == entry) for k in range(NV)]).columns_q == columns


GEARS = ((0, 0, 2.0), (1, 1, -3.0))
FREE = (-np.inf, np.inf)
TENDON = Drive(False, GEARS, (1.0, 0.0, 0.0, -0.5), FREE, FREE)
SERVO = TENDON._replace(gears=GEARS[:1])


@pytest.mark.parametrize(
    ("drive", "implicit", "coupled"),
    [
        (TENDON, True, True),
        (SERVO, True, False),
        (TENDON._replace(gains=(1.0, 0.0, 0.0, 0.0)), True, False),
        (TENDON._replace(gains=(1.0, 0.0, 4.0, 0.0)), True, False),
        (TENDON._replace(gains=(1.0, 0.0, -4.0, 0.0)), "positions", True),
        (TENDON._replace(is_damper=True, gains=(1.0, 0.0, 0.0, 0.0)), True, True),
    ],
)
def test_an_actuator_of_two_joints_couples_them(drive: Drive, implicit: Any, coupled: bool) -> None:
    """D is minus the slope by the rate, times both gears; h times more of it is that of positions at the end."""
    drives = Drives(actuators=(drive,), effort=(np.inf, np.inf), implicit=implicit)
    inputs = {"q": [0.1, 0.2], "v": [0.3, 0.4], "u": [0.7], "implicit": [0.25]}
    tree = Unrolled(tree_of(condyle.chain(2), Bound(drives=drives)), inputs)
    assert couples(tree) == coupled
    for name in ("u", "implicit"):
        fewer = Unrolled(tree.tree, {key: x for key, x in inputs.items() if key != name})
        assert not couples(fewer)
    slope = drive.gains[3] + (0.25 * drive.gains[2] if implicit == "positions" else 0.0)
    slope = -0.7 if drive.is_damper else slope
    wanted = {(i, j): -0.25 * slope * x * y for i, _, x in drive.gears for j, _, y in drive.gears if slope}
    assert {(i, j): float(x) for i, j, x in added_mass(tree)} == pytest.approx(wanted)  # type: ignore[arg-type]
    open_gains = Unrolled(tree.tree, {**inputs, "actuator_gains": [*drive.gains]})
    assert couples(open_gains) == (len(drive.gears) > 1)
