"""Far from a limit a stop pushes by k w^2 / (4 p): the digits of so small a force are right too."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

import condyle

K, D, W = 1e4, 10.0, 1e-3
ONE = """<robot name="x"><link name="base"/><link name="a"><inertial><mass value="1"/>
  <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.01"/></inertial></link>
  <joint name="j" type="revolute"><parent link="base"/><child link="a"/><axis xyz="0 1 0"/><limit lower="-1000" upper="0.5" effort="1" velocity="1"/></joint></robot>"""


def exact(q: float) -> float:
    """Of both stops at rest, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        pairs = ((Decimal(-1000) - Decimal(q), 1), (Decimal(q) - Decimal("0.5"), -1))
        return float(sum(side * Decimal(K) * (p + (p * p + Decimal(W) ** 2).sqrt()) / 2 for p, side in pairs))


@pytest.mark.parametrize(("target", "dtype"), [("numpy", "float64"), ("cpu", "float64"), ("cpu", "float32")])
def test_stops_keep_their_digits_far_from_the_limit(tmp_path, target: str, dtype: str) -> None:
    path = tmp_path / "x.urdf"
    path.write_text(ONE)
    q = np.array([[-400.0], [-6.0], [-1.0], [0.25], [0.5], [0.75]], dtype)
    stops = condyle.load(path).compile(target, dtype, joint_forces=("limits",), stops=(K, D, W))
    expected = [exact(float(x)) for x in q[:, 0]]
    # a handful of roundings; the penetration itself is exact in both types for these q
    allowed = 16 * np.finfo(dtype).eps
    assert np.allclose(stops.joint_forces(q, 0 * q)[:, 0], expected, allowed, 0.0)
