"""Rigid transforms, elements of SE(3): the placement of one frame in another, and X for motions and forces."""

from __future__ import annotations

from typing import NamedTuple

from condyle.spatial import vector as vec
from condyle.spatial.rotation import Axes, Rotation, composed
from condyle.spatial.twist import Pair
from condyle.spatial.vector import IDENTITY_MATRIX, Vector


class Transform(NamedTuple):
    """The placement of a child frame in its parent: x_parent = rotation.back(x_child) + translation.

    Motions (linear, angular) and forces (force, torque) are about the origin of the frame whose axes they are in.
    """

    rotation: Rotation
    """parent axes -> child axes"""
    translation: Vector
    """the child's origin in the parent"""

    def compose(self, inner: Transform) -> Transform:
        """The placement in the parent of a frame whose placement in the child is `inner`."""
        rotation = composed(self.rotation, inner.rotation)
        return Transform(rotation, vec.add(self.translation, self.rotation.back(inner.translation)))

    def inverse(self) -> Transform:
        """The placement of the parent in the child."""
        return Transform(self.rotation.inverse(), vec.scale(-1.0, self.rotation.into(self.translation)))

    def motion_to_child(self, m: Pair) -> Pair:
        """X m: a motion given in the parent's frame, in the child's."""
        into = self.rotation.into
        return into(vec.add(m[0], vec.cross(m[1], self.translation))), into(m[1])

    def motion_to_parent(self, m: Pair) -> Pair:
        """X⁻¹ m: a motion given in the child's frame, in the parent's."""
        linear, angular = self.rotation.back(m[0]), self.rotation.back(m[1])
        return vec.sub(linear, vec.cross(angular, self.translation)), angular

    def force_to_parent(self, f: Pair) -> Pair:
        """Xᵀ f: a force given in the child's frame, in the parent's."""
        force = self.rotation.back(f[0])
        return force, vec.add(self.rotation.back(f[1]), vec.cross(self.translation, force))


IDENTITY = Transform(Axes(IDENTITY_MATRIX), vec.ZERO)
