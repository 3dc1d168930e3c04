"""The first moment of mass in the world's axes."""

from __future__ import annotations

from condyle.algorithms.joint import Joint
from condyle.algorithms.kinematics import Pose, placements
from condyle.algorithms.sweeps import Sweeps
from condyle.functions.quantities import Q
from condyle.spatial import vector as vec
from condyle.spatial.vector import Vector
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways


def moment(joint: Joint, pose: Pose) -> Vector:
    """m p + R m c of one body."""
    body = joint.inertia
    return vec.add(vec.scale(body.mass, pose.origin), vec.times(pose.axes, body.first))


def first_moment(tree: Sweeps) -> tuple[Vector]:
    """The sum over all bodies."""
    return (tree.total(tree.each(moment, placements(tree)), vec.ZERO),)


FUNCTION = Function(
    "fmass",  # short name
    "first_mass_moment",  # method of Dynamics
    "sum m_i (p_i + R_i c_i) over all bodies",  # equation
    (Q,),  # inputs
    (Port("moment", ("3",), "kg m", "world", "first moment of mass of the moving bodies"),),  # outputs
    Ways(lambda: {"sweep": Route(first_moment)}),  # the routes; the compiler takes the shortest
    Numerics(
        Size(60),  # operations of each link, about: they decide between straight-line code and loops
        Accuracy(1e-12, 2e-5),  # error allowed in float64 and float32, relative to the largest entry of the answer
    ),
)
