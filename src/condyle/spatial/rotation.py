"""Rotations between two frames, v_child = E v_parent: `into` multiplies by E, `back` by Eᵀ.

Each class has its own structure (identity, about z, about x, full, product), so that entries that are zero are not
multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.twist import Pair
from condyle.spatial.vector import IDENTITY_MATRIX, Matrix, Symmetric, Vector


class Rotation(Protocol):
    """v_child = E v_parent."""

    def into(self, v: Vector) -> Vector:
        """E v."""
        ...

    def back(self, v: Vector) -> Vector:
        """Eᵀ v."""
        ...

    def back_symmetric(self, s: Symmetric) -> Symmetric:
        """Eᵀ S E."""
        ...

    def back_matrix(self, m: Matrix) -> Matrix:
        """Eᵀ M E."""
        ...

    def inverse(self) -> Rotation:
        """Eᵀ."""
        ...


class Identity(NamedTuple):
    """E = 1."""

    def into(self, v: Vector) -> Vector:
        return v

    def back(self, v: Vector) -> Vector:
        return v

    def back_symmetric(self, s: Symmetric) -> Symmetric:
        return s

    def back_matrix(self, m: Matrix) -> Matrix:
        return m

    def inverse(self) -> Identity:
        return self


class AboutZ(NamedTuple):
    """The child is turned by an angle about z. c, s: cosine and sine of the angle."""

    c: Scalar
    s: Scalar

    def into(self, v: Vector) -> Vector:
        x, y, z = v
        return self.c * x + self.s * y, self.c * y - self.s * x, z

    def back(self, v: Vector) -> Vector:
        x, y, z = v
        return self.c * x - self.s * y, self.s * x + self.c * y, z

    def back_symmetric(self, s: Symmetric) -> Symmetric:
        # the x-y block by its trace and t = s (xx - yy) + 2 c xy: four multiplications instead of eight
        xx, xy, xz, yy, yz, zz = s
        t = self.s * (xx - yy) + 2.0 * self.c * xy
        e = self.s * t
        bx, by, _ = self.back((xz, yz, zz))
        return xx - e, self.c * t - xy, bx, yy + e, by, zz

    def back_matrix(self, m: Matrix) -> Matrix:
        (a, b, p), (d, e, q), (g, h, zz) = m
        # x-y block: the symmetric traceless part rotates by twice the angle, the rest is invariant
        t = self.s * (a - e) + self.c * (b + d)
        k = self.s * t
        turned = self.c * t
        x, y, _ = self.back((p, q, zz))
        u, w, _ = self.back((g, h, zz))
        return (a - k, turned - d, x), (turned - b, e + k, y), (u, w, zz)

    def inverse(self) -> AboutZ:
        return AboutZ(self.c, -self.s)

    def after(self, first: AboutZ) -> AboutZ:
        """E of the two rotations one after the other, `first` nearer the parent."""
        return AboutZ(self.c * first.c - self.s * first.s, self.s * first.c + self.c * first.s)


class AboutX(NamedTuple):
    """The child is turned by an angle about x. c, s: cosine and sine of the angle."""

    c: Scalar
    s: Scalar

    def into(self, v: Vector) -> Vector:
        x, y, z = v
        return x, self.c * y + self.s * z, self.c * z - self.s * y

    def back(self, v: Vector) -> Vector:
        x, y, z = v
        return x, self.c * y - self.s * z, self.s * y + self.c * z

    def back_symmetric(self, s: Symmetric) -> Symmetric:
        # as about z
        xx, xy, xz, yy, yz, zz = s
        t = self.s * (yy - zz) + 2.0 * self.c * yz
        e = self.s * t
        _, by, bz = self.back((xx, xy, xz))
        return xx, by, bz, yy - e, self.c * t - yz, zz + e

    def back_matrix(self, m: Matrix) -> Matrix:
        (xx, p, q), (g, a, b), (h, d, e) = m
        t = self.s * (a - e) + self.c * (b + d)
        k = self.s * t
        turned = self.c * t
        _, x, y = self.back((xx, p, q))
        _, u, w = self.back((xx, g, h))
        return (xx, x, y), (u, a - k, turned - d), (w, turned - b, e + k)

    def inverse(self) -> AboutX:
        return AboutX(self.c, -self.s)


def from_two_turns(rows: Matrix) -> Product:
    """A rotation about x, then one about z, given its rows; the lower left entry must be zero."""
    (cosine, _, _), (sine, _, _), (_, below, along) = rows
    return Product(AboutX(along, -below), AboutZ(cosine, -sine))


class Full(NamedTuple):
    """E given by its rows."""

    rows: Matrix

    def into(self, v: Vector) -> Vector:
        return vec.times(self.rows, v)

    def back(self, v: Vector) -> Vector:
        return vec.transposed_times(self.rows, v)

    def back_symmetric(self, s: Symmetric) -> Symmetric:
        columns = vec.map_columns(self.back, s)  # of S E
        e = vec.transpose(self.rows)
        return (
            vec.dot(e[0], columns[0]),
            vec.dot(e[0], columns[1]),
            vec.dot(e[0], columns[2]),
            vec.dot(e[1], columns[1]),
            vec.dot(e[1], columns[2]),
            vec.dot(e[2], columns[2]),
        )

    def back_matrix(self, m: Matrix) -> Matrix:
        half = vec.transpose((self.back(m[0]), self.back(m[1]), self.back(m[2])))  # (M E)ᵀ
        return vec.transpose((self.back(half[0]), self.back(half[1]), self.back(half[2])))

    def inverse(self) -> Full:
        return Full(vec.transpose(self.rows))


class Axes(NamedTuple):
    """E given by its transpose, whose columns are the child's axes in the parent: v_parent = axes v_child."""

    axes: Matrix

    def into(self, v: Vector) -> Vector:
        return vec.transposed_times(self.axes, v)

    def back(self, v: Vector) -> Vector:
        return vec.times(self.axes, v)

    def back_symmetric(self, s: Symmetric) -> Symmetric:
        return self.full.back_symmetric(s)

    def back_matrix(self, m: Matrix) -> Matrix:
        return self.full.back_matrix(m)

    def inverse(self) -> Axes:
        return Axes(vec.transpose(self.axes))

    @property
    def full(self) -> Full:
        """The same by its rows."""
        return Full(vec.transpose(self.axes))

    def after(self, first: Axes) -> Axes:
        """E of the two rotations one after the other, `first` nearer the parent, as one matrix."""
        columns = vec.transpose(self.axes)
        x, y, z = (vec.times(columns, row) for row in first.axes)
        return Axes((x, y, z))


class Product(NamedTuple):
    """Two rotations, `first` nearer the parent: E = E_second E_first."""

    first: Rotation
    second: Rotation

    def into(self, v: Vector) -> Vector:
        return self.second.into(self.first.into(v))

    def back(self, v: Vector) -> Vector:
        return self.first.back(self.second.back(v))

    def back_symmetric(self, s: Symmetric) -> Symmetric:
        return self.first.back_symmetric(self.second.back_symmetric(s))

    def back_matrix(self, m: Matrix) -> Matrix:
        return self.first.back_matrix(self.second.back_matrix(m))

    def inverse(self) -> Product:
        return Product(self.second.inverse(), self.first.inverse())


def composed(first: Rotation, second: Rotation) -> Rotation:
    """E_second E_first: two rotations about z become one, two matrices of axes are multiplied."""
    match first, second:
        case _, Identity():
            return first
        case Product(before, AboutZ() as turn), AboutZ():
            return Product(before, second.after(turn))
        case Axes(), Axes():
            return second.after(first)
        case _:
            return Product(first, second)


def from_quaternion(quaternion: Sequence[Scalar]) -> Full:
    """E of a child whose orientation in the parent is the unit quaternion (x, y, z, w)."""
    x, y, z, w = quaternion
    x2, y2, z2 = 2.0 * x, 2.0 * y, 2.0 * z
    xx, xy, xz, xw = x * x2, x * y2, x * z2, w * x2
    yy, yz, yw = y * y2, y * z2, w * y2
    zz, zw = z * z2, w * z2
    return Full(
        (
            (1.0 - (yy + zz), xy + zw, xz - yw),
            (xy - zw, 1.0 - (xx + zz), yz + xw),
            (xz + yw, yz - xw, 1.0 - (xx + yy)),
        )
    )


# Rigid transforms, elements of SE(3): the placement of one frame in another, and X for motions and forces.


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
