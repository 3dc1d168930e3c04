"""The Riccati recursion as functions of columns and rows, made by size, and the sweeps of a schedule that call them.

A state of `control` and `state` is a column of a matrix; what all columns share is a whole panel (see
`condyle.ir.schedule`). Padding of panels is not read. V and Quu are read by their lower triangles: V is symmetric for
all that use it, whatever was rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from condyle.algorithms import riccati as algorithm
from condyle.ir.schedule import Call, Operand, Slab, Sweep
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways

Flat = Sequence[Any]
Run = Callable[..., tuple[Flat, ...]]


class Riccati(NamedTuple):
    """The functions of one size. States of control, state, eliminate: columns; of factor, advance: knots.

    control: columns f of B, h of Hu; V, Fu -> column of Quu.
    state: columns f of Fx, h of Hx; V, Fx, Fu -> column of Qx.
    factor: Qu, reg -> L, of Quu + reg 1. eliminate: column q of Qx; Qx, L -> columns of V and K.
    advance: dx, K, Fx, Fu -> du, the next dx.
    """

    control: Function
    state: Function
    factor: Function
    eliminate: Function
    advance: Function


class _Sizes(NamedTuple):
    """Of panels. nx: states, nu: controls."""

    nx: int
    nu: int
    lanes: int

    def groups(self, columns: int) -> int:
        return -(-columns // self.lanes)

    @property
    def gx(self) -> int:
        """Groups of columns x^."""
        return self.groups(self.nx + 1)

    @property
    def gu(self) -> int:
        return self.groups(self.nu)

    @property
    def below(self) -> int:
        """Numbers of L and 1 / D."""
        return self.nu * (self.nu + 1) // 2

    def column(self, panel: Flat, rows: int, c: int) -> Flat:
        """Column c of a panel."""
        first = c // self.lanes * rows * self.lanes + c % self.lanes
        return panel[first : first + rows * self.lanes : self.lanes]

    def matrix(self, panel: Flat, rows: int, columns: int) -> list[list[Any]]:
        """The rows of a panel's matrix."""
        return [list(row) for row in zip(*(self.column(panel, rows, c) for c in range(columns)), strict=True)]

    def symmetric(self, panel: Flat, rows: int, n: int) -> list[list[Any]]:
        """The first n rows and columns, by the lower triangle."""
        A = self.matrix(panel, rows, n)[:n]
        return [[A[max(i, k)][min(i, k)] for k in range(n)] for i in range(n)]


@cache
def riccati(nx: int, nu: int, lanes: int) -> Riccati:
    """The functions for nx states and nu controls, of panels with so many lanes."""
    size = _Sizes(nx, nu, lanes)
    ways: dict[str, tuple[Run, list[Port], list[Port]]] = {
        "control": (
            _control,
            [_port("f", nx), _port("h", nu), *_panels(size, "V", "Fu")],
            [_port("Qu", nu)],
        ),
        "state": (
            _state,
            [_port("f", nx + 1), _port("h", nx + 1 + nu), *_panels(size, "V", "Fx", "Fu")],
            [_port("Qx", nx + 1 + nu)],
        ),
        "factor": (
            _factor,
            [*_panels(size, "Qu"), _port("reg", 1)],
            [_port("L", size.below)],
        ),
        "eliminate": (
            _eliminate,
            [_port("q", nx + 1 + nu), *_panels(size, "Qx"), _port("L", size.below, is_shared=True)],
            [_port("V", nx + 1), _port("K", nu)],
        ),
        "advance": (
            _advance,
            [_port("dx", nx), *_panels(size, "K", "Fx", "Fu")],
            [_port("du", nu), _port("dx_next", nx)],
        ),
    }
    return Riccati(**{key: _function(f"riccati_{key}_{nx}_{nu}_{lanes}", size, *made) for key, made in ways.items()})


def _function(name: str, size: _Sizes, run: Run, inputs: Sequence[Port], outputs: Sequence[Port]) -> Function:
    def answer(sweeps: Any) -> tuple[Flat, ...]:
        return run(size, **sweeps.inputs)

    return Function(
        name,
        name,
        "a part of a Riccati recursion",
        tuple(inputs),
        tuple(outputs),
        Ways(lambda: {"columns": Route(answer)}),
        Numerics(Size(0), Accuracy(1e-9, 1e-3)),
        source="Bertsekas 2017, section 3.1",
        content=f"riccati {name}",
    )


def _port(name: str, *dims: int, is_shared: bool = False) -> Port:
    return Port(name, tuple(map(str, dims)), "as given", "as given", "of a Riccati recursion", is_shared=is_shared)


def _shapes(size: _Sizes) -> dict[str, tuple[int, int, int]]:
    """Of panels: groups, rows, lanes."""
    nx, nu, lanes = size
    rows = {"Fx": nx + 1, "Fu": nx, "Hx": nx + 1 + nu, "Hu": nu, "V": nx + 1, "K": nu, "Qx": nx + 1 + nu, "Qu": nu}
    return {name: (size.gu if name in ("Fu", "Hu", "Qu") else size.gx, n, lanes) for name, n in rows.items()}


def _panels(size: _Sizes, *names: str) -> list[Port]:
    """What all columns share."""
    return [_port(name, *_shapes(size)[name], is_shared=True) for name in names]


def _control(size: _Sizes, f: Flat, h: Flat, V: Flat, Fu: Flat) -> tuple[Flat, ...]:
    columns = [size.column(Fu, size.nx, j) for j in range(size.nu)]
    return (algorithm.quadratic(h, f, size.symmetric(V, size.nx + 1, size.nx), columns),)


def _state(size: _Sizes, f: Flat, h: Flat, V: Flat, Fx: Flat, Fu: Flat) -> tuple[Flat, ...]:
    nx = size.nx
    after = algorithm.product(size.symmetric(V, nx + 1, nx + 1), f)
    columns = [size.column(Fx, nx + 1, c)[:nx] for c in range(nx + 1)]
    columns += [size.column(Fu, nx, j) for j in range(size.nu)]
    Q = algorithm.product(columns, after[:nx], h)
    Q[nx] = Q[nx] + after[nx]
    return (Q,)


def _factor(size: _Sizes, Qu: Flat, reg: Flat) -> tuple[Flat, ...]:
    L, inverse = algorithm.factor(size.matrix(Qu, size.nu, size.nu), reg[0])
    return ([*L, *inverse],)


def _eliminate(size: _Sizes, q: Flat, Qx: Flat, L: Flat) -> tuple[Flat, ...]:
    n, nu = size.nx + 1, size.nu
    rows = [L[j * (j - 1) // 2 : j * (j + 1) // 2] for j in range(nu)]
    K = algorithm.gains(rows, L[size.below - nu :], q[n:])
    return algorithm.product([size.column(Qx, n + nu, c)[n:] for c in range(n)], K, q[:n]), K


def _advance(size: _Sizes, dx: Flat, K: Flat, Fx: Flat, Fu: Flat) -> tuple[Flat, ...]:
    nx, nu = size.nx, size.nu
    rows = size.matrix(K, nu, nx + 1), size.matrix(Fx, nx + 1, nx + 1)[:nx], size.matrix(Fu, nx, nu)
    return algorithm.advance(dx, *rows)


# A schedule's part


def slabs(knots: int, nx: int, nu: int, lanes: int) -> tuple[Slab, ...]:
    """All arrays of `backward` and `forward`. A row of Fx, Fu, Hx, Hu, K, du is a knot's; V and dx have one more."""
    size = _Sizes(nx, nu, lanes)
    rows = {"V": knots + 1, "Qx": 1, "Qu": 1}
    panels = [Slab(key, rows.get(key, knots), a * b * c) for key, (a, b, c) in _shapes(size).items()]
    more = (
        Slab("L", 1, size.below),
        Slab("reg", 1, 1, is_zero=True),
        Slab("dx", knots + 1, nx, is_zero=True),
        Slab("du", knots, nu),
    )
    return (*panels, *more)


def backward(knots: int, nx: int, nu: int, lanes: int) -> Sweep:
    """V and K of all knots, from the last row of V on."""
    size, functions = _Sizes(nx, nu, lanes), riccati(nx, nu, lanes)
    x, u = size.gx * lanes, size.gu * lanes
    after, Fx, Fu, Qx = Operand("V", 1, 0, 1), _knot("Fx", 0), _knot("Fu", 0), Operand("Qx", step=0)
    L = Operand("L", step=0)
    body = (
        Call(functions.control.name, u, (_knot("Fu"), _knot("Hu"), after, Fu), (Operand("Qu"),), columns=True),
        Call(functions.factor.name, 1, (Operand("Qu"), Operand("reg")), (L,)),
        Call(functions.state.name, x, (_knot("Fx"), _knot("Hx"), after, Fx, Fu), (Operand("Qx"),), columns=True),
        Call(functions.eliminate.name, x, (Operand("Qx"), Qx, L), (_knot("V"), _knot("K")), columns=True),
    )
    return Sweep(knots, body, backwards=True)


def forward(knots: int, nx: int, nu: int, lanes: int) -> Sweep:
    """dx and du of all knots, from the first row of dx on."""
    advance = riccati(nx, nu, lanes).advance.name
    inputs = _knot("dx"), _knot("K"), _knot("Fx"), _knot("Fu")
    return Sweep(knots, (Call(advance, 1, inputs, (_knot("du"), Operand("dx", 1, 1, 1))),))


def _knot(slab: str, step: int = 1) -> Operand:
    """The row of the turn's knot; step 0: as what all states share."""
    return Operand(slab, 0, step, 1)
