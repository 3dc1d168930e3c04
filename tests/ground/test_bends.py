"""How gaps of shapes bend along the motion of a robot, by the accelerations of rigid bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.ground import Plane
from condyle.ground.feet import _corners, _rims, touches
from condyle.model.placement import Placement
from tests.ground.robots import SIZES

NORMAL = np.array([0.2, -0.3, 1.0]) / np.sqrt(1.13)
PLACEMENT = Placement.from_rpy((0.1, -0.2, 0.3), (0.4, -0.5, 0.6))


def arm(kind: str) -> tuple[condyle.Robot, tuple[condyle.Contact, ...]]:
    """Three hinges on a fixed base; the last body has a shape."""
    builder, parent = condyle.Builder(), "world"
    for name, axis in (("a", (0, 0, 1)), ("b", (0, 1, 0)), ("c", (1, 0, 0))):
        builder = builder.body(name, mass=1.0, inertia=np.eye(3))
        builder = builder.joint(
            f"to {name}", parent=parent, child=name, type="revolute", axis=axis, xyz=(0.3, 0.1, 0.2)
        )
        parent = name
    robot = builder.build()
    return robot, robot.shape_contacts([condyle.Shape(kind, SIZES[kind], "c", PLACEMENT)])


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("axes", ["local", "local_world_aligned"])
def test_a_gap_bends_as_its_point_is_accelerated(kind: str, axes: str) -> None:
    """n . (a + dw x r + w x (w x r)) at joint accelerations of zero; the rim of a cylinder does not turn about it."""
    robot, contacts = arm(kind)

    def bends(at: Any) -> Any:
        touching = touches(at, Plane(NORMAL, 0.1).distance, True)
        return {
            "gap": np.stack([one.gap for one in touching]),
            "bend": np.stack([one.bend for one in touching]),
            "arm": np.stack([one.arm for one in touching]) + at.q,  # that of a ball is the same in every state
        }

    q, v = np.array([0.3, -0.7, 0.9]), np.array([1.0, -2.0, 1.5])
    found = robot.function(bends, {"q": "nq", "v": "nv"}, contacts=contacts, reference_frame=axes).reference(q, v)
    dyn = robot.compile("numpy", frames=("c",), reference_frame="local_world_aligned")
    place = dyn.frame_placements(q)
    R, origin = place.rotation[0], place.translation[0]
    w = dyn.frame_velocities(q, v)[0, 3:]
    h = 1e-4
    ahead, behind = (dyn.frame_placements(q + s * h * v).translation[0] for s in (1.0, -1.0))
    a = (ahead - 2.0 * origin + behind) / h**2
    dw = (dyn.frame_velocities(q + h * v, v)[0, 3:] - dyn.frame_velocities(q - h * v, v)[0, 3:]) / (2.0 * h)
    turned, offset = R @ PLACEMENT.rotation, R @ PLACEMENT.translation
    columns, z, size = [turned[:, k] for k in range(3)], turned[:, 2], SIZES[kind]
    arms: list[Any] = {
        "sphere": lambda: [(np.zeros(3), None)],
        "capsule": lambda: [(size[-1] * z, None), (-size[-1] * z, None)],
        "box": lambda: [(corner, None) for corner in _corners(size, columns, NORMAL)],
        "cylinder": lambda: _rims(size, columns, NORMAL),
    }[kind]()
    radius = size[0] if kind in ("sphere", "capsule") else 0.0
    for k, (fixed, rim) in enumerate(arms):
        r = offset + fixed
        wanted = a + np.cross(dw, r) + np.cross(w, np.cross(w, r))
        whole = fixed if rim is None else fixed + rim
        if rim is not None:
            still, slow = w - (w @ z) * z, dw - (dw @ z) * z
            wanted = wanted + np.cross(slow, rim) + np.cross(still, np.cross(still, rim))
        assert found.bend[k] == pytest.approx(NORMAL @ wanted, abs=1e-5)
        assert found.gap[k] == pytest.approx(NORMAL @ (origin + offset + whole) - 0.1 - radius, abs=1e-12)
        np.testing.assert_allclose(found.arm[k] - q, whole - radius * NORMAL, rtol=0, atol=1e-12)
    assert np.abs(found.bend).max() > 0.1


@pytest.mark.parametrize(
    ("normal", "level"),
    [((0, 0, 1), True), ((0, 0, 7), True), ((0, 0, -1), False), ((0, 1e-9, 1), False), ((1, 0, 1), False)],
)
def test_normals_of_a_level_plane_are_known(normal: Any, level: bool) -> None:
    plane = Plane(normal)
    assert plane.is_level == level and plane.normal == tuple(map(float, normal))
    assert all(isinstance(x, float) for x in plane.normal)
