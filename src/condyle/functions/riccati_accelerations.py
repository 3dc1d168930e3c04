"""The Riccati recursion where the controls are accelerations: v+ = v + h u, q+ = q + h v+, joint by joint.

No product with a matrix of the motion is left. A state of `fold` is a joint; its columns of q, of v and of u stand in
panels of their own. Behind the last joint the panels of v have the column of 1, which is the slope.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

from condyle.algorithms import riccati as algorithm
from condyle.algorithms.linear_systems import dot
from condyle.functions.riccati import part, port
from condyle.ir.schedule import Call, Operand, Slab, Sweep
from condyle.scalar import absolute, select
from condyle.specification import Function

Flat = Sequence[Any]
Rows = list[list[Any]]


def groups(n: int, lanes: int) -> int:
    """Groups of the columns of n joints and of 1."""
    return n // lanes + 1


@cache
def functions(n: int, lanes: int, h: float) -> dict[str, Function]:
    """The functions of n joints.

    fold: columns of V, H -> those of Q. factor: Quu + reg 1 = L D L^T. eliminate: a column of Q -> those of V and K.
    advance: [dq; dv], K -> du, and the next [dq; dv]; follow: the same without the column of 1, and du is 0
    where a factorisation before left no gains.
    """
    g, rows, below = groups(n, lanes), 2 * n + 1, n * (n + 1) // 2

    def column(panel: Flat, height: int, c: int) -> Flat:
        first = c // lanes * height * lanes + c % lanes
        return panel[first : first + height * lanes : lanes]

    def fold(sweeps: Any) -> tuple[Flat, ...]:
        arrays: Mapping[str, Flat] = sweeps.inputs
        q, v = arrays["VQ"], [h * x + y for x, y in zip(arrays["VQ"], arrays["VV"], strict=True)]
        answers = [_pulled(part, n, h) for part in (q, v)]
        control = _pulled([h * x for x in v[: 2 * n]], n, h)[2 * n :]
        sums = [
            [x + y for x, y in zip(arrays[key], part, strict=True)]
            for key, part in zip(("HQ", "HV"), answers, strict=True)
        ]
        return (*sums, [x + y for x, y in zip(arrays["HU"], control, strict=True)])

    def factor(sweeps: Any) -> tuple[Flat, ...]:
        Qu = sweeps.inputs["QU"]
        matrix = [list(row) for row in zip(*(column(Qu, n, c) for c in range(n)), strict=True)]
        L, inverse = algorithm.factor(matrix, sweeps.inputs["reg"][0])
        return ([*L, *inverse],)

    def eliminate(sweeps: Any) -> tuple[Flat, ...]:
        arrays: Mapping[str, Flat] = sweeps.inputs
        L = [arrays["L"][j * (j - 1) // 2 : j * (j + 1) // 2] for j in range(n)]
        K = algorithm.gains(L, arrays["L"][below - n :], arrays["Q"][rows:])
        columns = [column(arrays["QQ"], rows + n, c)[rows:] for c in range(n)]
        columns += [column(arrays["QV"], rows + n, c)[rows:] for c in range(n + 1)]
        return algorithm.product(columns, K, arrays["Q"][:rows]), K

    def advance(sweeps: Any, has_slope: bool = True) -> tuple[Flat, ...]:
        arrays: Mapping[str, Flat] = sweeps.inputs
        dq, dv = arrays["dx"][:n], arrays["dx"][n:]
        KQ, KV = ([column(arrays[key], n, c) for c in range(n + 1)] for key in ("KQ", "KV"))
        du = [dot([column[i] for column in (*KQ[:n], *KV[:n])], [*dq, *dv]) for i in range(n)]
        du = [x + y if has_slope else finite(x) for x, y in zip(du, KV[n], strict=True)]
        v = [x + h * y for x, y in zip(dv, du, strict=True)]
        return du, [*(x + h * y for x, y in zip(dq, v, strict=True)), *v]

    panel = g * lanes
    shared = {key: port(key, size * panel, is_shared=True) for key, size in (("QQ", rows + n), ("QV", rows + n))}
    L, reg = port("L", below, is_shared=True), port("reg", 1)
    gains = [port("dx", 2 * n), port("KQ", n * panel, is_shared=True), port("KV", n * panel, is_shared=True)]
    moved = [port("du", n), port("dx_next", 2 * n)]
    ports = {
        "fold": (
            fold,
            [port("VQ", rows), port("VV", rows), *(port(key, rows + n) for key in ("HQ", "HV")), port("HU", n)],
            [port("QQ", rows + n), port("QV", rows + n), port("QU", n)],
        ),
        "factor": (factor, [port("QU", n * panel, is_shared=True), reg], [port("L", below)]),
        "eliminate": (eliminate, [port("Q", rows + n), *shared.values(), L], [port("V", rows), port("K", n)]),
        "advance": (advance, gains, moved),
        "follow": (partial(advance, has_slope=False), gains, moved),
    }
    return {key: part(f"riccati_{key}_{n}_{lanes}", *built, lanes, h.hex()) for key, built in ports.items()}


def finite(x: Any) -> Any:
    """x; 0 where it is no number."""
    return select(1e30 - absolute(x), x, 0.0)


def _pulled(x: Flat, n: int, h: float) -> list[Any]:
    """F^T x, the motion's F = [A 0; 0 1 | B], rows q, v, 1, then u; without 1 where x has no row for it."""
    v = [h * a + b for a, b in zip(x[:n], x[n : 2 * n], strict=True)]
    return [*x[:n], *v, *x[2 * n :], *(h * y for y in v)]


# A schedule's part


def slabs(knots: int, n: int, lanes: int) -> tuple[Slab, ...]:
    """All arrays of `backward` and `forward`."""
    panel, rows = groups(n, lanes) * lanes, 2 * n + 1
    heights = {"VQ": rows, "VV": rows, "HQ": rows + n, "HV": rows + n, "HU": n, "KQ": n, "KV": n}
    inside = {"QQ": rows + n, "QV": rows + n, "QU": n}
    panels = [Slab(key, knots + (key in ("VQ", "VV")), size * panel) for key, size in heights.items()]
    panels += [Slab(key, 1, size * panel) for key, size in inside.items()]
    more = Slab("L", 1, n * (n + 1) // 2), Slab("reg", 1, 1, is_zero=True)
    return (*panels, *more, Slab("dx", knots + 1, 2 * n, is_zero=True), Slab("du", knots, n))


def backward(knots: int, n: int, lanes: int, h: float) -> Sweep:
    """V and K of all knots, from the last row of V on."""
    names = {key: function.name for key, function in functions(n, lanes, h).items()}
    columns = groups(n, lanes) * lanes
    Q, L, shared = (
        [Operand(key) for key in ("QQ", "QV", "QU")],
        Operand("L", 0, 0),
        [Operand("QQ", 0, 0), Operand("QV", 0, 0)],
    )
    after = [Operand(key, 1, 1, 1) for key in ("VQ", "VV")]
    H = [Operand(key, 0, 1, 1) for key in ("HQ", "HV", "HU")]

    def eliminated(part: str) -> Call:
        outputs = Operand(f"V{part}", 0, 1, 1), Operand(f"K{part}", 0, 1, 1)
        return Call(names["eliminate"], columns, (Operand(f"Q{part}"), *shared, L), outputs, columns=True)

    body = (
        Call(names["fold"], columns, (*after, *H), tuple(Q), columns=True),
        Call(names["factor"], 1, (Operand("QU"), Operand("reg")), (Operand("L"),)),
        eliminated("Q"),
        eliminated("V"),
    )
    return Sweep(knots, body, backwards=True)


def forward(knots: int, n: int, lanes: int, h: float) -> Sweep:
    """dx and du of all knots, from the first row of dx on."""
    return _along(knots, functions(n, lanes, h)["advance"], "dx", "du", [("KQ", 0), ("KV", 0)])


def follow(knots: int, n: int, lanes: int, h: float, shift: int) -> Sweep:
    """The rows "beside", [dq; dv], from the first one on, and "by", du, by gains of a plan from its row `shift` on."""
    gains = [("start_KQ", shift), ("start_KV", shift)]
    return _along(knots, functions(n, lanes, h)["follow"], "beside", "by", gains)


def _along(knots: int, function: Function, dx: str, du: str, gains: Sequence[tuple[str, int]]) -> Sweep:
    inputs = tuple(Operand(key, row, 1, 1) for key, row in ((dx, 0), *gains))
    return Sweep(knots, (Call(function.name, 1, inputs, (Operand(du, 0, 1, 1), Operand(dx, 1, 1, 1))),))
