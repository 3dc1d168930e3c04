"""A function of the bodies themselves, defined outside the library: the first moment of mass in the world's axes."""

from __future__ import annotations

from condyle.algorithms.joint import Joint
from condyle.algorithms.kinematics import Pose, placements
from condyle.algorithms.sweeps import Sweeps
from condyle.functions.quantities import Q
from condyle.spatial import vector as vec
from condyle.spatial.vector import Vector
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways


def moment(joint: Joint, pose: Pose) -> Vector:
    """m p + R m c."""
    body = joint.inertia
    return vec.add(vec.scale(body.mass, pose.origin), vec.times(pose.axes, body.first))


def first_moment(tree: Sweeps) -> tuple[Vector]:
    return (tree.total(tree.each(moment, placements(tree)), vec.ZERO),)


FIRST_MOMENT = Function(
    "fmom",
    "first_moment_of_mass",
    "sum m_i (p_i + R_i c_i) over all bodies",
    (Q,),
    (Port("moment", ("3",), "kg m", "world", "first moment of mass of the moving bodies"),),
    Ways(lambda: {"sweep": Route(first_moment)}),
    Numerics(Size(60), Accuracy(1e-12, 2e-5)),
)
