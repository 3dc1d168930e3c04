"""Free: all six motions; position [m] and unit quaternion, velocities are local twists."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.model.joints import lie, series
from condyle.model.joints.base import ANGULAR, LINEAR, Column, JointType
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform, from_quaternion


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

    def integrate_by_series(self, q: Sequence[Scalar], u: Sequence[Scalar], count: int) -> series.Moved:
        linear, angular = self.twist(u)
        z, across = vec.dot(angular, angular), vec.cross(angular, linear)
        once = vec.scale(series.series(2, z, count), across)
        bend = vec.add(once, vec.scale(series.series(3, z, count), vec.cross(angular, across)))
        shift = lie.rotate(lie.quaternion(q[3:]), vec.add(linear, bend))
        turned = series.turned(q[3:], angular, count)
        return turned._replace(q=[*vec.add((q[0], q[1], q[2]), shift), *turned.q])
