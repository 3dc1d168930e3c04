"""Derivatives of the equation of motion that are known in closed form: products and solves with what is there.

With w = M^-1 times a cotangent, or times factors, derivatives of a = fd(q, v, tau) are those of id at (q, v, a), times
-w. Functions with external forces have the same rules, and the forces behind the other inputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from condyle.functions.calls import call
from condyle.functions.quantities import DA_DQ, DA_DTAU, DA_DV, DTAU_DQ, DTAU_DV
from condyle.ports import EXTRA
from condyle.scalar import matrix_product
from condyle.specification import Closed

Values: TypeAlias = "Sequence[Any]"
Given: TypeAlias = "Mapping[str, Values]"
Answers: TypeAlias = "Mapping[str, Values]"


class _Variant:
    """Functions with what is given behind their own inputs: external forces, numbers of the robot."""

    def __init__(self, at: Any, given: Given) -> None:
        self.at, self.given = at, given
        self.extra = {name: given[name] for name in EXTRA if name in given}

    def call(self, function: str, *inputs: Values, **derivative: Any) -> tuple[list[Any], ...]:
        return call(self.at, self.given, function, *inputs, **derivative)

    @property
    def state(self) -> tuple[Values, Values]:
        return self.given["q"], self.given["v"]

    @property
    def acceleration(self) -> list[Any]:
        return self.call("fd", *self.state, self.given["tau"])[0]

    def solved(self, x: Values) -> list[Any]:
        """M^-1 x."""
        return self.call("solve", self.given["q"], x)[0]


def _jacobian_id(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    by_q, by_v = of.call("did", *of.state, given["a"])
    return {DTAU_DQ.name: by_q, DTAU_DV.name: by_v, "dtau_da": of.call("m", given["q"])[0]}


def _jvp_fd(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    still = [0.0] * at.tree.nv
    more = (given["dq"], given["dv"], still, *(given[f"d{name}"] for name in of.extra))
    (moved,) = of.call("id", *of.state, of.acceleration, kind="jvp_", more=more)
    return {"da": of.solved([x - y for x, y in zip(given["dtau"], moved, strict=True)])}


def _vjp_fd(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    w = of.solved(given["a_bar"])
    by_q, by_v, _, *others = of.call("id", *of.state, of.acceleration, kind="vjp_", more=([-x for x in w],))
    by_extra = {f"{name}_bar": x for name, x in zip(of.extra, others, strict=True)}
    return {"q_bar": by_q, "v_bar": by_v, "tau_bar": w, **by_extra}


def _jacobian_fd(at: Any, given: Given) -> Answers:
    of = _Variant(at, given)
    by_q, by_v, inverse = of.call("dfd", *of.state, given["tau"])
    found = {DA_DQ.name: by_q, DA_DV.name: by_v, DA_DTAU.name: inverse}
    for name in of.extra:
        (block,) = of.call("id", *of.state, of.acceleration, kind="jacobian_", by=f"_by_{name}")
        found[f"da_d{name}"] = [-x for x in product(inverse, block, at.tree.nv)]
    return found


def _hessian_fd(at: Any, given: Given) -> Answers:
    """Twice differentiated, tau = id(q, v, a(q, v, tau)) says that 0 = J^T G J + M a'', J being a's derivative below I.

    G is symmetric, and of its blocks with a that with q alone is not zero.
    """
    of, n = _Variant(at, given), at.tree.nv
    jacobians = _jacobian_fd(at, given)
    factors = [-x for x in of.solved(given["lam"])]
    (second,) = of.call("id", *of.state, of.acceleration, kind="hessian_", more=(factors,))
    size = 3 * n + sum(map(len, of.extra.values()))
    by_a = [second[i * size + 2 * n + j] for i in range(n) for j in range(n)]
    columns = [product(by_a, block, n) for block in jacobians.values()]
    widths = [len(block) // n if n else 0 for block in columns]
    both = [[x for block, m in zip(columns, widths, strict=True) for x in block[i * m : i * m + m]] for i in range(n)]

    def entry(i: int, j: int) -> Any:
        """i >= j."""
        own = 0.0 if 2 * n <= i < 3 * n or 2 * n <= j < 3 * n else second[i * size + j]
        return own + (both[j][i] if j < n else 0.0) + (both[i][j] if i < n else 0.0)

    return {"H": [entry(max(i, j), min(i, j)) for i in range(size) for j in range(size)]}


def product(left: Values, right: Values, n: int) -> list[Any]:
    """Of flat matrices, left being n x n."""
    if n == 0:  # a robot without joints
        return []
    m = len(right) // n
    rows = matrix_product([left[k * n : k * n + n] for k in range(n)], [right[j::m] for j in range(m)])
    return [x for row in rows for x in row]


RULES: Mapping[str, Mapping[str, Closed]] = {
    "id": {"jacobian": _jacobian_id},
    "fd": {"jvp": _jvp_fd, "vjp": _vjp_fd, "jacobian": _jacobian_fd, "hessian": _hessian_fd},
}
