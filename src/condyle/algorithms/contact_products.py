"""Products with the inverse of the KKT matrix, column by column through the factors of M and G."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.algorithms.contact_derivatives import Slopes
from condyle.algorithms.contact_forces import Constrained
from condyle.algorithms.contacts import Row
from condyle.algorithms.ltl import inverse_of_lower
from condyle.algorithms.matrix import SparseMatrix
from condyle.scalar import Scalar, number


class Rows:
    """A matrix of any number of rows, each {column: value}."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    @staticmethod
    def of(matrix: SparseMatrix) -> Rows:
        return Rows([matrix.row(i) for i in range(matrix.size)])

    def transposed(self, n: int) -> Rows:
        """n: rows of the answer."""
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

    def plus(self, other: Rows) -> Rows:
        found = [dict(row) for row in self.rows]
        for row, more in zip(found, other.rows, strict=True):
            for k, x in more.items():
                row[k] = row[k] + x if k in row else x
        return Rows(found)

    def scaled(self, factors: Sequence[Scalar | float]) -> Rows:
        """Each row by its factor."""
        pairs = zip(self.rows, factors, strict=True)
        return Rows([{k: x * factor for k, x in row.items()} for row, factor in pairs])

    def negative(self) -> Rows:
        return Rows([{k: -x for k, x in row.items()} for row in self.rows])

    def flat(self, n: int) -> list[Scalar]:
        """All entries, n columns."""
        return [row.get(k, number(0.0)) for row in self.rows for k in range(n)]


class KktDerivatives:
    """[da; -df] = -K^-1 [r1; r2], with a half solve before and one after: W = L^-1, X = Wᵀ r1,

    df = P (Yᵀ D^-1 X - r2),    da = W D^-1 (Y df - X).
    """

    def __init__(self, way: Constrained, inverse: SparseMatrix) -> None:
        self.way, n = way, way.tree.nv
        self.n, ones = n, Rows([{k: number(1.0)} for k in range(n)])
        self.W = Rows.of(inverse_of_lower(way.factors.L)).plus(ones)
        self.Wt = self.W.transposed(n)
        self.N, self.Y = Rows(way.scaled), Rows(way.Y).transposed(n)
        self.P = Rows.of(inverse)

    def solved(self, r1: Rows, r2: Rows | None) -> tuple[Rows, Rows]:
        """(da, df)."""
        X = self.Wt.times(r1)
        wanted = self.N.times(X)
        df = self.P.times(wanted if r2 is None else wanted.plus(r2.negative()))
        rest = self.Y.times(df).plus(X.negative())
        return self.W.times(rest.scaled(self.way.factors.inverse_D)), df

    def answers(self, forces: Sequence[SparseMatrix], slopes: Slopes) -> tuple[list[Scalar], ...]:
        """da / d(q, v, tau), then d force / d(q, v, tau)."""
        r2 = [Rows(rows).scaled(self.way.active) for rows in (slopes.by_q, slopes.by_v)]
        made = [self.solved(Rows.of(r1), more) for r1, more in zip(forces, r2, strict=True)]
        made.append(self.solved(Rows([{k: number(-1.0)} for k in range(self.n)]), None))
        return *(da.flat(self.n) for da, _ in made), *(self._placed(df) for _, df in made)

    def _placed(self, df: Rows) -> list[Scalar]:
        """Rows of every contact among six."""
        rows, found = iter(df.rows), list[Row]()
        for one in self.way.tree.tree.contacts:
            found += [next(rows) if row in one.rows else {} for row in range(6)]
        return Rows(found).flat(self.n)


def inverse_blocks(way: Constrained) -> SparseMatrix:
    """K^-1 = [A, B; Bᵀ, C]: A = da / dtau, B = M^-1 Jᵀ G^-1, C = - G^-1; zeros in rows of what is off."""
    n, kkt = way.tree.nv, KktDerivatives(way, way.pseudoinverse)
    size = n + len(way.J)
    a, f = kkt.solved(Rows([{k: number(-1.0)} for k in range(n)]), None)
    found = SparseMatrix(size)
    for i, row in enumerate(a.rows):
        for k, x in row.items():
            found.put(i, k, x)
    for i, row in enumerate(f.rows):
        for k, x in row.items():
            found.put(n + i, k, -x)
            found.put(k, n + i, -x)
    for i, j, x in way.pseudoinverse:
        found.put(n + i, n + j, -(way.active[i] * way.active[j] * x))
    return found
