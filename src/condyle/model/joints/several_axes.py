"""Joints with several axes: cylindrical, planar, spherical, universal, translation and free.

Displacements are in m, angles in rad.
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.errors import UnsupportedError
from condyle.model.joints import lie
from condyle.model.joints.base import ANGULAR, LINEAR, Column, JointType
from condyle.model.joints.one_axis import Revolute
from condyle.scalar import Scalar, cos, number, sin
from condyle.spatial import vector as vec
from condyle.spatial.rotation import AboutZ, Identity, Transform, from_quaternion
from condyle.spatial.vector import ZERO

_SPLIT = "a universal joint has no constant motion subspace: split it into two revolute joints in sequence"


class Cylindrical(JointType):
    """q = [displacement along z, angle about z]."""

    name = "cylindrical"
    nq, nv, axes = 2, 2, 1
    angles = (1,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR[2], ANGULAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[1]), sin(q[1])), (number(0.0), number(0.0), q[0]))


class Planar(JointType):
    """q = [x y theta] in the joint frame, v = [vx vy omega] in child axes.

    integrate is the exponential of SE(2); theta is never wrapped, so difference inverts integrate for turns < 2π.
    """

    name, urdf = "planar", "planar"
    nq, nv, axes = 3, 3, 1
    angles = (2,)

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR[0], LINEAR[1], ANGULAR[2]

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(AboutZ(cos(q[2]), sin(q[2])), (q[0], q[1], number(0.0)))

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        (x, y, theta), (vx, vy, w) = q, dv
        _, half, cosine = lie.half_angle(w * w)
        a, b = half * cosine, 0.5 * w * half * half  # sin w / w, (1 - cos w) / w
        right, left = a * vx - b * vy, b * vx + a * vy
        c, s = cos(theta), sin(theta)
        return [x + c * right - s * left, y + s * right + c * left, theta + w]

    def shift_and_turn(
        self, q: Sequence[Scalar], shift: Sequence[Scalar], turn: Sequence[Scalar], velocity: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        (x, y, theta), (vx, vy, _), w = q, shift, turn[2]
        c, s = cos(theta), sin(theta)
        right, left = cos(w), sin(w)
        after = [right * velocity[0] + left * velocity[1], right * velocity[1] - left * velocity[0], number(0.0)]
        return [x + (c * vx - s * vy), y + (s * vx + c * vy), theta + w], after

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        (x0, y0, theta), (x1, y1, end) = q0, q1
        w, dx, dy = end - theta, x1 - x0, y1 - y0
        c, s = cos(theta), sin(theta)
        x, y = c * dx + s * dy, c * dy - s * dx
        _, half, cosine = lie.half_angle(w * w)
        a, b = cosine / half, 0.5 * w
        return [a * x + b * y, a * y - b * x, w]

    def difference_near(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        (x0, y0, theta), (x1, y1, end) = q0, q1
        w, dx, dy = end - theta, x1 - x0, y1 - y0
        c, s = cos(theta), sin(theta)
        x, y = c * dx + s * dy, c * dy - s * dx
        return [x + 0.5 * w * y, y - 0.5 * w * x, w]

    def integrate_by_series(self, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> lie.Moved:
        z = u[2] * u[2]
        a, b = lie.series(1, z, count), u[2] * lie.series(2, z, count)
        x, y = a * u[0] - b * u[1], b * u[0] + a * u[1]
        c, s = cos(q[2]), sin(q[2])
        return lie.Moved([q[0] + (c * x - s * y), q[1] + (s * x + c * y), q[2] + u[2]])


class Spherical(JointType):
    """q = [qx qy qz qw], v = angular velocity in child axes; integrate is the exponential of SO(3)."""

    name, mjcf = "spherical", "ball"
    nq, nv = 4, 3
    has_quaternion = True

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return ANGULAR

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(from_quaternion(q), ZERO)

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        x, y, z = dv
        new, w = lie.made_unit(lie.product(lie.quaternion(q), lie.exp3((x, y, z))))
        return [*new, w]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        back = lie.conjugate(lie.quaternion(q0))
        return [*lie.log3(lie.product(back, lie.quaternion(q1)))]

    def difference_near(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        turn = lie.product(lie.conjugate(lie.quaternion(q0)), lie.quaternion(q1))
        return [*vec.scale(2.0, turn[0])]

    def integrate_by_series(self, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> lie.Moved:
        return lie.turned(q, self.twist(u)[1], count)


class Universal(JointType):
    """q = [angle about the axis, angle about the second axis].

    Its motion subspace depends on q, so it has neither `subspace` nor `transform`: an algorithm sees two revolute
    joints in sequence, with a massless body between, the second without placement of its own:
    child in parent = placement · turn(axis, q[0]) · turn(second_axis, q[1]) · after.
    """

    name = "universal"
    nq, nv, axes = 2, 2, 2
    angles = (0, 1)
    parts = (Revolute(), Revolute())

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        raise UnsupportedError(_SPLIT)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        raise UnsupportedError(_SPLIT)


class Translation(JointType):
    """q = [x y z]; the child never turns."""

    name = "translation"
    nq, nv = 3, 3

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return LINEAR

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(Identity(), (q[0], q[1], q[2]))


class Free(JointType):
    """q = [x y z qx qy qz qw], v = [linear; angular] in child axes; integrate is q exp(dv) on SE(3)."""

    name, urdf, mjcf = "free", "floating", "free"
    nq, nv = 7, 6
    has_quaternion = is_free = True

    def subspace(self, pitch: Scalar | float) -> tuple[Column, ...]:
        return (*LINEAR, *ANGULAR)

    def transform(self, q: Sequence[Scalar], pitch: Scalar | float) -> Transform:
        return Transform(from_quaternion(q[3:7]), (q[0], q[1], q[2]))

    def integrate(self, q: Sequence[Scalar], dv: Sequence[Scalar]) -> list[Scalar]:
        (x, y, z, *r), (vx, vy, vz, wx, wy, wz) = q, dv
        shift, turn = lie.exp6((vx, vy, vz), (wx, wy, wz))
        old = lie.quaternion(r)
        new, w = lie.made_unit(lie.product(old, turn))
        return [*vec.add((x, y, z), lie.rotate(old, shift)), *new, w]

    def shift_and_turn(
        self, q: Sequence[Scalar], shift: Sequence[Scalar], turn: Sequence[Scalar], velocity: Sequence[Scalar]
    ) -> tuple[list[Scalar], list[Scalar]]:
        (x, y, z, *r), by = q, lie.exp3(vec.three(turn, 3))
        old = lie.quaternion(r)
        new, w = lie.made_unit(lie.product(old, by))
        moved = vec.add((x, y, z), lie.rotate(old, vec.three(shift)))
        return [*moved, *new, w], [*lie.rotate(lie.conjugate(by), vec.three(velocity)), *vec.ZERO]

    def difference(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        (x0, y0, z0, *r0), (x1, y1, z1, *r1) = q0, q1
        back = lie.conjugate(lie.quaternion(r0))
        angular = lie.log3(lie.product(back, lie.quaternion(r1)))
        moved = lie.rotate(back, vec.sub((x1, y1, z1), (x0, y0, z0)))
        return [*lie.log6_translation(moved, angular), *angular]

    def difference_near(self, q0: Sequence[Scalar], q1: Sequence[Scalar]) -> list[Scalar]:
        (x0, y0, z0, *r0), (x1, y1, z1, *r1) = q0, q1
        back = lie.conjugate(lie.quaternion(r0))
        angular = vec.scale(2.0, lie.product(back, lie.quaternion(r1))[0])
        moved = lie.rotate(back, vec.sub((x1, y1, z1), (x0, y0, z0)))
        return [*vec.sub(moved, vec.scale(0.5, vec.cross(angular, moved))), *angular]

    def integrate_by_series(self, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> lie.Moved:
        linear, angular = self.twist(u)
        z, across = vec.dot(angular, angular), vec.cross(angular, linear)
        once = vec.scale(lie.series(2, z, count), across)
        bend = vec.add(once, vec.scale(lie.series(3, z, count), vec.cross(angular, across)))
        shift = lie.rotate(lie.quaternion(q[3:]), vec.add(linear, bend))
        turned = lie.turned(q[3:], angular, count)
        return turned._replace(q=[*vec.add((q[0], q[1], q[2]), shift), *turned.q])
