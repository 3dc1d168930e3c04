"""Products with the inverse of the KKT matrix K = [M, Jᵀ; J, 0], by its blocks or by the factors of M and G."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.contact_derivatives import Slopes
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contacts import Row, among_six
from condyle.algorithms.ltl import inverse_of_lower
from condyle.algorithms.matrix import SparseMatrix
from condyle.scalar import Scalar, is_zero, number, total


class Rows:
    """A matrix of any number of rows, each {column: value}."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    @staticmethod
    def from_matrix(matrix: SparseMatrix) -> Rows:
        rows = [matrix.row(i) for i in range(matrix.size)]
        return Rows([{k: x for k, x in row.items() if not is_zero(x)} for row in rows])

    def transposed(self, n: int) -> Rows:
        """n: number of rows of the result."""
        found: list[Row] = [{} for _ in range(n)]
        for i, row in enumerate(self.rows):
            for k, x in row.items():
                found[k][i] = x
        return Rows(found)

    def times(self, other: Rows) -> Rows:
        found = list[Row]()
        for row in self.rows:
            total: Row = {}
            for k, x in row.items():
                for j, y in other.rows[k].items():
                    total[j] = total[j] + x * y if j in total else x * y
            found.append(total)
        return Rows(found)

    def cost(self, other: Rows) -> int:
        """Number of multiplications in `times`."""
        return sum(len(other.rows[k]) for row in self.rows for k in row)

    def plus(self, other: Rows) -> Rows:
        found = [dict(row) for row in self.rows]
        for row, more in zip(found, other.rows, strict=True):
            for k, x in more.items():
                row[k] = row[k] + x if k in row else x
        return Rows(found)

    def scaled(self, factors: Sequence[Scalar | float]) -> Rows:
        """Each row times its factor."""
        pairs = zip(self.rows, factors, strict=True)
        return Rows([{k: x * factor for k, x in row.items()} for row, factor in pairs])

    def negative(self) -> Rows:
        return Rows([{k: -x for k, x in row.items()} for row in self.rows])

    def flat(self, n: int) -> list[Scalar]:
        """All entries, row by row, of a matrix with n columns."""
        return [row.get(k, number(0.0)) for row in self.rows for k in range(n)]


class KktDerivatives:
    """[da; -df] = -K^-1 [r1; r2]. With P the inverse of the Delassus matrix, W = L^-1, N = Yᵀ D^-1, C = P N Wᵀ and
    A = W D^-1 (Wᵀ - Y C),

    df = C r1 - P r2,         da = -A r1 - Cᵀ r2,

    or, where that takes fewer multiplications, with X = Wᵀ r1,

    df = P (N X - r2),        da = W D^-1 (Y df - X).

    da/dtau = A and df/dtau = -C, since r1 = -1 and r2 = 0 there.
    """

    def __init__(self, way: Constrained, inverse: SparseMatrix) -> None:
        self.way, n = way, way.tree.nv
        self.n, ones = n, Rows([{k: number(1.0)} for k in range(n)])
        self.W = Rows.from_matrix(inverse_of_lower(way.factors.L)).plus(ones)
        self.Wt = self.W.transposed(n)
        self.N, self.Y = Rows(way.scaled), Rows(way.Y).transposed(n)
        self.P = Rows.from_matrix(inverse)
        self.C = self.P.times(self.N).times(self.Wt)
        self.Ct = self.C.transposed(n)
        self.A = self._inverse()

    def _inverse(self) -> Rows:
        """A, from its entries on and right of the diagonal, which need the short rows of W."""
        rest = self.Wt.plus(self.Y.times(self.C).negative()).scaled(self.way.factors.inverse_D)
        found = SparseMatrix(self.n)
        for i, row in enumerate(self.W.rows):
            for j in range(i, self.n):
                terms = [x * rest.rows[k][j] for k, x in row.items() if j in rest.rows[k]]
                if terms:
                    found.put(i, j, total(terms))
                    found.put(j, i, total(terms))
        return Rows.from_matrix(found)

    def solved(self, r1: Rows, r2: Rows) -> tuple[Rows, Rows]:
        """(da, df)."""
        X = self.Wt.times(r1)
        df = self.C.times(r1).plus(self.P.times(r2).negative())
        wanted = self.N.times(X).plus(r2.negative())
        if self.N.cost(X) + self.P.cost(wanted) < self.C.cost(r1) + self.P.cost(r2):
            df = self.P.times(wanted)
        rest = self.Y.times(df).plus(X.negative())
        if self.Wt.cost(r1) + self.Y.cost(df) + self.W.cost(rest) < self.A.cost(r1) + self.Ct.cost(r2):
            return self.W.times(rest.scaled(self.way.factors.inverse_D)), df
        return self.A.times(r1).plus(self.Ct.times(r2)).negative(), df

    def answers(
        self, forces: Sequence[SparseMatrix], slopes: Slopes, turned: Rows | None = None
    ) -> tuple[list[Scalar], ...]:
        """da / d(q, v, tau), then d force / d(q, v, tau). turned: by q, how forces change with P at the same r1 and
        r2."""
        r2 = [Rows(rows).scaled(self.way.active) for rows in (slopes.by_q, slopes.by_v)]
        made = [self.solved(Rows.from_matrix(r1), more) for r1, more in zip(forces, r2, strict=True)]
        if turned is not None:
            (da, df), moved = made[0], self.W.times(self.Y.times(turned).scaled(self.way.factors.inverse_D))
            made[0] = da.plus(moved), df.plus(turned)
        made.append((self.A, self.C.negative()))
        return *(da.flat(self.n) for da, _ in made), *(self._placed(df) for _, df in made)

    def _placed(self, df: Rows) -> list[Scalar]:
        """Constrained rows as six rows for each contact."""
        return Rows(among_six(self.way.tree.tree.contacts, df.rows, {})).flat(self.n)


def inverse_blocks(way: Constrained) -> SparseMatrix:
    """K^-1 = [A, Cᵀ; C, -P]; rows and columns of inactive contacts are zero."""
    n, kkt = way.tree.nv, KktDerivatives(way, way.pseudoinverse)
    found = SparseMatrix(n + len(way.J))
    for i, row in enumerate(kkt.A.rows):
        for k, x in row.items():
            found.put(i, k, x)
    for i, row in enumerate(kkt.C.rows):
        for k, x in row.items():
            found.put(n + i, k, x)
            found.put(k, n + i, x)
    for i, j, x in way.pseudoinverse:
        found.put(n + i, n + j, -(way.active[i] * way.active[j] * x))
    return found
