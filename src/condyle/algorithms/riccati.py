"""The Riccati recursion of linear-quadratic control on any scalar, a column of each matrix at a time.

With x^ = [x; 1], x^+ = F^ x^ + [B; 0] u, the cost 1/2 [x^; u]' H [x^; u] of a knot and 1/2 x^' V x^ from it on:
Q = H + [F^ B]' V+ [F^ B], K = -Quu^-1 Qux, V = Qxx + Qxu K, u = K x^ (Bertsekas 2017, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from condyle.algorithms.linear_systems import Cholesky, Rows, Vector, dot
from condyle.scalar import Scalar, maximum, minimum, reciprocal, sqrt


def product(A: Rows, x: Vector, start: Vector | None = None) -> list[Scalar]:
    """start + A x."""
    sums = [dot(row, x) for row in A]
    return sums if start is None else [y + z for y, z in zip(start, sums, strict=True)]


def factor(Quu: Rows, reg: Scalar) -> tuple[list[Scalar], list[Scalar]]:
    """L before its diagonal, row by row, and 1 / D of L D L' = Quu + reg 1, by its lower triangle.

    1 / D is NaN where a pivot is not above zero.
    """
    S = Cholesky([[*row[:i], row[i] + reg] for i, row in enumerate(Quu)])
    least = S.pivots[0]
    for pivot in S.pivots[1:]:
        least = minimum(least, pivot)
    root = reciprocal(sqrt(least))
    doubt = maximum(root, 0.0) - root  # 0; NaN where the root is not a finite number
    return [x for row in S.lower for x in row], [x + doubt for x in S.inverse]


def gains(L: Rows, inverse: Vector, q: Vector) -> list[Scalar]:
    """-(L D L')^-1 q: a column of K, of a column of Qux. What is known of a row goes into all others at once."""
    k = list(q)
    for j in range(len(k)):
        k[j + 1 :] = [x - row[j] * k[j] for x, row in zip(k[j + 1 :], L[j + 1 :], strict=True)]
    k = [-(x * by) for x, by in zip(k, inverse, strict=True)]
    for j in reversed(range(len(k))):
        k[:j] = [x - by * k[j] for x, by in zip(k[:j], L[j], strict=True)]
    return k


def advance(dx: Vector, K: Rows, F: Rows, B: Rows) -> tuple[list[Scalar], list[Scalar]]:
    """u = K [dx; 1] and the next dx = F [dx; 1] + B u. K and F have one column more than dx has entries."""
    du = [dot(row[:-1], dx) + row[-1] for row in K]
    return du, [row[-1] + dot(row[:-1], dx) + dot(by, du) for row, by in zip(F, B, strict=True)]


# Semi-implicit Euler steps: v+ = M [q; v; 1] + N u, and q+ = J1 q + J2 v+ + d by the joints. Only products with M and
# N, of half as many rows, are dense. With G = [J1 0 d; 0 0 0; 0 0 1] and W = [J2; 1; 0]: [F^ B] = [G 0] + W [M N], so
# Q = H + [G 0]' (V+ [G 0] + Y [M N]) + [M N]' Z with Y = V+ W, S = W' Y and Z = Y' [G 0] + S [M N].
#
# V is read by its lower triangle, and so is S. What of V is not symmetric would grow as states do without control.

Blocks: TypeAlias = "Sequence[tuple[int, Rows]]"
"""A block diagonal matrix: first coordinate and rows of each block; other coordinates are multiplied by a number."""


class Joints(NamedTuple):
    """h: the length of the step. d: the defect of q. J1, J2: blocks of joints that turn; of others J1 = 1, J2 = h."""

    h: Scalar
    d: Vector
    J1: Blocks
    J2: Blocks

    def along(self, q: Vector, v: Vector) -> list[Scalar]:
        """J1 q + J2 v."""
        moved = [x + self.h * y for x, y in zip(q, v, strict=True)]
        for (first, A), (_, B) in zip(self.J1, self.J2, strict=True):
            within = slice(first, first + len(A))
            moved[within] = product(B, v[within], product(A, q[within]))
        return moved

    def back(self, x: Vector) -> list[Scalar]:
        """J2' x."""
        return _transposed(self.J2, [self.h * y for y in x], x)


def _transposed(blocks: Blocks, others: Vector, x: Vector) -> list[Scalar]:
    moved = list(others)
    for first, A in blocks:
        within = slice(first, first + len(A))
        moved[within] = product(list(zip(*A, strict=True)), x[within])
    return moved


class Mixed(NamedTuple):
    """Y; p = V [d; 0; 0]; S; z = W' p; and of the last row of Q: t = Y' [d; 0; 1], w = [d; 0; 1]' p."""

    Y: Rows
    p: Vector
    S: Rows
    z: Vector
    t: Vector
    w: Scalar


def mixed(V: Rows, joints: Joints) -> Mixed:
    """What all columns share, of a symmetric V."""
    n = len(joints.d)
    Y = [_onto(row, joints) for row in V]
    p = [dot(joints.d, row[:n]) for row in V]
    S, z = [_onto(column, joints) for column in zip(*Y, strict=True)], _onto(p, joints)
    return Mixed(Y, p, S, z, [x + y for x, y in zip(z, Y[2 * n], strict=True)], dot(joints.d, p[:n]) + p[2 * n])


def _onto(x: Vector, joints: Joints) -> list[Scalar]:
    """W' x."""
    n = len(joints.d)
    return [y + z for y, z in zip(joints.back(x[:n]), x[n : 2 * n], strict=True)]


class Column(NamedTuple):
    """A column of Qx is made of columns of M, H, V, [Y p]' and E.

    e: 1 where the column of V G has that of V, 1 where it has p, which is the last, and by what it has the column of V
    of each coordinate of joints with blocks.
    """

    m: Vector
    h: Vector
    v: Vector
    y: Vector
    e: Vector


def state(column: Column, shared: Mixed, V: Rows, MN: Rows, J1: Blocks) -> list[Scalar]:
    """A column of Qx. V: columns of V and p', Y' behind, of coordinates of joints with blocks."""
    n, (whole, last, *weights) = len(shared.z), column.e

    def ends(v: Vector, y: Vector) -> list[Scalar]:
        return [*v[:n], *y[:n], v[2 * n] + y[n]]

    sums = product([*shared.Y[:n], *shared.S, shared.t], column.m)
    parts = [(whole, ends(column.v, column.y)), (last, [*shared.p[:n], *shared.z, shared.w])]
    parts += [(weight, ends(v[: 2 * n + 1], v[2 * n + 1 :])) for weight, v in zip(weights, V, strict=True)]
    for weight, values in parts:
        sums = [x + weight * y for x, y in zip(sums, values, strict=True)]
    Q = product(MN, sums[n : 2 * n], column.h)
    Q[:n] = [x + y for x, y in zip(Q[:n], _transposed(J1, sums[:n], sums[:n]), strict=True)]
    Q[2 * n] = Q[2 * n] + sums[2 * n]
    return Q


def advance_joints(dx: Vector, K: Rows, M: Rows, N: Rows, joints: Joints) -> tuple[list[Scalar], list[Scalar]]:
    """The same as `advance`."""
    n = len(joints.d)
    du = [dot(row[:-1], dx) + row[-1] for row in K]
    v = [row[-1] + dot(row[:-1], dx) + dot(by, du) for row, by in zip(M, N, strict=True)]
    return du, [*(x + y for x, y in zip(joints.along(dx[:n], v), joints.d, strict=True)), *v]
