"""The Riccati recursion of linear-quadratic control on any scalar, a column of each matrix at a time.

With x^ = [x; 1], x^+ = F^ x^ + [B; 0] u, the cost 1/2 [x^; u]' H [x^; u] of a knot and 1/2 x^' V x^ from it on:
Q = H + [F^ B]' V+ [F^ B], K = -Quu^-1 Qux, V = Qxx + Qxu K, u = K x^ (Bertsekas 2017, section 3.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.linear_systems import Cholesky, Rows, Vector, dot
from condyle.scalar import Scalar, maximum, minimum, reciprocal, sqrt


def product(A: Rows, x: Vector, start: Vector | None = None) -> list[Scalar]:
    """start + A x."""
    sums = [dot(row, x) for row in A]
    return sums if start is None else [y + z for y, z in zip(start, sums, strict=True)]


def quadratic(h: Vector, f: Vector, V: Rows, columns: Sequence[Vector]) -> list[Scalar]:
    """h + columns' V f: a column of Q. f, columns: of the same matrix, or of two, as long as V."""
    return product(columns, product(V, f), h)


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
