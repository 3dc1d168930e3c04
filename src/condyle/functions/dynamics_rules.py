"""Derivatives of the equation of motion that are known in closed form: products and solves with what is there.

With w = M^-1 times a cotangent, or times factors, derivatives of a = fd(q, v, tau) are those of id at (q, v, a), times
-w. Functions with external forces have the same rules, and the forces behind the other inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from condyle.functions.quantities import DA_DQ, DA_DTAU, DA_DV, DTAU_DQ, DTAU_DV
from condyle.scalar import matrix_product
from condyle.specification import F_EXT, Closed

Values: TypeAlias = "Sequence[Any]"
Given: TypeAlias = "Mapping[str, Values]"
Answers: TypeAlias = "Mapping[str, Values]"

F = F_EXT.name


class _Variant:
    """Functions with external forces or without: as they are given."""

    def __init__(self, at: Any, given: Given) -> None:
        self.at, self.given = at, given
        self.end, self.forces = (f"_{F}", (given[F],)) if F in given else ("", ())

    def call(self, function: str, *inputs: Values, more: Values = ()) -> tuple[list[Any], ...]:
        """A function at these inputs and the forces; more: what its derivative takes behind them."""
        return self.at.call(function + self.end, *inputs, *self.forces, *more)

    @property
    def state(self) -> tuple[Values, Values]:
        return self.given["q"], self.given["v"]

    @property
    def acceleration(self) -> list[Any]:
        return self.call("fd", *self.state, self.given["tau"])[0]

    def solved(self, x: Values) -> list[Any]:
        """M^-1 x."""
        return self.at.call("solve", self.given["q"], x)[0]


def _jacobian_id(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    by_q, by_v = of.call("did", *of.state, given["a"])
    return {DTAU_DQ.name: by_q, DTAU_DV.name: by_v, "dtau_da": at.call("m", given["q"])[0]}


def _jvp_fd(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    still = [0.0] * at.tree.nv
    more = (given["dq"], given["dv"], still, *((given[f"d{F}"],) if of.end else ()))
    (moved,) = of.call("jvp_id", *of.state, of.acceleration, more=more)
    return {"da": of.solved([x - y for x, y in zip(given["dtau"], moved, strict=True)])}


def _vjp_fd(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    w = of.solved(given["a_bar"])
    by_q, by_v, _, *by_force = of.call("vjp_id", *of.state, of.acceleration, more=([-x for x in w],))
    return {"q_bar": by_q, "v_bar": by_v, "tau_bar": w, **{f"{F}_bar": x for x in by_force}}


def _jacobian_fd(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    by_q, by_v, inverse = of.call("dfd", *of.state, given["tau"])
    found = {DA_DQ.name: by_q, DA_DV.name: by_v, DA_DTAU.name: inverse}
    if of.end:
        n = at.tree.nv
        (by_force,) = at.call(f"jacobian_id{of.end}_by_{F}", *of.state, of.acceleration, *of.forces)
        found[f"da_d{F}"] = [-x for x in product(inverse, by_force, n)]
    return found


def _hessian_fd(at: Any, given: Given) -> Answers:
    """Twice differentiated, tau = id(q, v, a(q, v, tau)) says that 0 = J^T G J + M a'', J being a's derivative below I.

    G is symmetric, and of its blocks with a that with q alone is not zero.
    """
    of, n = _Variant(at, given), at.tree.nv
    jacobians = _jacobian_fd(at, given)
    (second,) = of.call("hessian_id", *of.state, of.acceleration, more=([-x for x in of.solved(given["lam"])],))
    size = 3 * n + sum(map(len, of.forces))
    by_a = [second[i * size + 2 * n + j] for i in range(n) for j in range(n)]
    columns = [product(by_a, block, n) for block in jacobians.values()]
    widths = [len(block) // n for block in columns]
    both = [[x for block, m in zip(columns, widths, strict=True) for x in block[i * m : i * m + m]] for i in range(n)]

    def entry(i: int, j: int) -> Any:
        """i >= j."""
        own = 0.0 if 2 * n <= i < 3 * n or 2 * n <= j < 3 * n else second[i * size + j]
        return own + (both[j][i] if j < n else 0.0) + (both[i][j] if i < n else 0.0)

    return {"H": [entry(max(i, j), min(i, j)) for i in range(size) for j in range(size)]}


def product(left: Values, right: Values, n: int) -> list[Any]:
    """Of flat matrices, left being n x n."""
    m = len(right) // n
    rows = matrix_product([left[k * n : k * n + n] for k in range(n)], [right[j::m] for j in range(m)])
    return [x for row in rows for x in row]


RULES: Mapping[str, Mapping[str, Closed]] = {
    "id": {"jacobian": _jacobian_id},
    "fd": {"jvp": _jvp_fd, "vjp": _vjp_fd, "jacobian": _jacobian_fd, "hessian": _hessian_fd},
}
