"""The Riccati recursion as functions of columns and rows, made by size, and the sweeps of a schedule that call them.

A state of most functions is a column of a matrix; what all columns share is a whole panel (see `condyle.ir.schedule`).
Padding of panels is not read. Quu is read by its lower triangle; so is V by all that shares it, in the dense form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from condyle.algorithms import riccati as algorithm
from condyle.ir.schedule import Call, Operand, Slab, Statement, Sweep
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways

Flat = Sequence[Any]
Turning: TypeAlias = "tuple[tuple[int, int], ...]"
"""First coordinate and size of each joint where J1 and J2 are blocks and no numbers, 1 and h."""


class Riccati(NamedTuple):
    """The functions of one size. States of control, state, eliminate: columns; of factor, advance: knots.

    control: columns f of B, h of Hu; V, Fu -> column of Quu.
    state: columns f of F^, h of Hx; V, Fx, Fu -> column of Qx.
    factor: Qu, reg -> L, of Quu + reg 1. eliminate: column q of Qx; Qx, L -> columns of V and K.
    advance: dx, K, Fx, Fu -> du, the next dx.
    """

    control: Function
    state: Function
    factor: Function
    eliminate: Function
    advance: Function


class RiccatiOfJoints(NamedTuple):
    """The same with M in place of F. mix, of knots: V, J -> Y, S, which are in place of V.

    state: columns of V, Y and E too; V and J if joints turn.
    """

    mix: Function
    control: Function
    state: Function
    factor: Function
    eliminate: Function
    advance: Function


class _Shape(NamedTuple):
    """nx: states, nu: controls, lanes: of panels, turning: None in the dense form."""

    nx: int
    nu: int
    lanes: int
    turning: Turning | None

    @property
    def nv(self) -> int:
        return self.nx // 2

    @property
    def turned(self) -> list[int]:
        """Coordinates of joints with blocks."""
        return [first + k for first, size in self.turning or () for k in range(size)]

    @property
    def half(self) -> int:
        """The first column of which entries before it are left out: V and Qxx are read by their lower triangles."""
        half = self.groups("V") // 2 * self.lanes
        return 0 if any(first < half < first + size for first, size in self.turning or ()) else half

    @property
    def lower(self) -> int:
        """Numbers of L and 1 / D."""
        return self.nu * (self.nu + 1) // 2

    def panel(self, name: str) -> tuple[int, int]:
        """Rows and columns of the matrix in a panel."""
        nx, nu, nv = self.nx, self.nu, self.nv
        rows = {"Fx": nx + 1, "Fu": nx, "Mx": nv, "Mu": nv, "E": 2 + len(self.turned), "Y": nv + 1}
        rows |= {"Hx": nx + 1 + nu, "Hu": nu, "V": nx + 1, "K": nu, "Qx": nx + 1 + nu, "Qu": nu}
        return rows[name], nu if name in ("Fu", "Mu", "Hu", "Qu") else nx + 1

    def groups(self, name: str) -> int:
        return -(-self.panel(name)[1] // self.lanes)

    def columns(self, name: str, panel: Flat) -> list[Flat]:
        """The columns of the matrix, without padding."""
        (rows, columns), lanes = self.panel(name), self.lanes
        firsts = [c // lanes * rows * lanes + c % lanes for c in range(columns)]
        return [panel[first : first + rows * lanes : lanes] for first in firsts]

    def matrix(self, name: str, panel: Flat) -> list[Flat]:
        """Its rows."""
        return list(zip(*self.columns(name, panel), strict=True))

    def symmetric(self, V: Flat, n: int) -> list[Flat]:
        """The first n rows and columns of V, by its lower triangle."""
        columns = self.columns("V", V)
        return [[columns[min(i, k)][max(i, k)] for k in range(n)] for i in range(n)]

    @property
    def folded(self) -> int:
        """Numbers of S: its lower triangle, z, t, w; see `algorithms.riccati.Mixed`."""
        return self.nv * (self.nv + 1) // 2 + 2 * self.nv + 1

    @property
    def of_joints(self) -> int:
        """Of J: h, d, the blocks of J1 and those of J2, row by row."""
        return 1 + self.nv + 2 * sum(size * size for _, size in self.turning or ())

    def joints(self, J: Flat) -> algorithm.Joints:
        blocks, end = list[list[tuple[int, list[Flat]]]](), 1 + self.nv
        for _ in range(2):
            blocks.append([])
            for first, size in self.turning or ():
                blocks[-1].append((first, [J[end + k * size : end + (k + 1) * size] for k in range(size)]))
                end += size * size
        return algorithm.Joints(J[0], J[1 : 1 + self.nv], *blocks)

    def mixed(self, Y: Flat, S: Flat) -> algorithm.Mixed:
        n, end, columns = self.nv, self.folded - 1, self.columns("Y", Y) if Y else []
        rows = [[S[max(k, l) * (max(k, l) + 1) // 2 + min(k, l)] for l in range(n)] for k in range(n)]
        ends = S[end - 2 * n : end - n], S[end - n : end], S[end]
        return algorithm.Mixed([column[:n] for column in columns], [column[n] for column in columns], rows, *ends)


@cache
def riccati(nx: int, nu: int, lanes: int, turning: Turning | None = None) -> Riccati | RiccatiOfJoints:
    """The functions for nx states and nu controls, of panels with so many lanes.

    turning: None for any x+ = F x^ + B u. Else states are [q; v] of semi-implicit Euler steps of length h,
    q+ = J1 q + J2 v+ + d and v+ = M [q; v; 1] + N u, which need half of the operations.
    """
    shape = _Shape(nx, nu, lanes, turning)
    rows, L = port("h", nx + 1 + nu), port("L", shape.lower, is_shared=True)
    Qx, value = port("Qx", nx + 1 + nu, lower=shape.half), port("V", nx + 1, lower=shape.half)
    eliminate = [port("q", nx + 1 + nu), _panel(shape, "Qx"), L], [value, port("K", nu)]
    parts = {
        "factor": _function(shape, _factor, "factor", [_panel(shape, "Qu"), port("reg", 1)], [L]),
        "eliminate": _function(shape, _eliminate, "eliminate", *eliminate),
    }
    step, ends = [port("dx", nx), _panel(shape, "K")], [port("du", nu), port("dx_next", nx)]
    if turning is None:
        V, Fx, Fu = (_panel(shape, name) for name in ("V", "Fx", "Fu"))
        control = [port("f", nx), port("h", nu), V, Fu]
        state, step = [port("f", nx + 1), rows, V, Fx, Fu], [*step, Fx, Fu]
        runs: tuple[Run, Run, Run] = _control, _state, _advance
    else:
        Y, Mx, Mu = (_panel(shape, name) for name in ("Y", "Mx", "Mu"))
        J, S = (port(name, size, is_shared=True) for name, size in (("J", shape.of_joints), ("S", shape.folded)))
        m, v, y = port("m", shape.nv), port("v", nx + 1), port("y", shape.nv + 1)
        control = [m, port("h", nu), S, Mu]
        state = [m, rows, v, y, port("e", shape.panel("E")[0]), Y, S, Mx, Mu]
        state, step = [*state, *([_panel(shape, "V"), J] if turning else [])], [*step, Mx, Mu, J]
        runs = _control_of_joints, _state_of_joints, _advance_joints
        parts["mix"] = _function(shape, _mix, "mix", [_panel(shape, "V"), J], [Y, S])
    answers = [port("Qu", nu)], [Qx], ends
    names = "control", "state", "advance"
    for name, run, inputs, outputs in zip(names, runs, (control, state, step), answers, strict=True):
        parts[name] = _function(shape, run, name, inputs, outputs)
    return Riccati(**parts) if turning is None else RiccatiOfJoints(**parts)


Run: TypeAlias = Callable[..., "tuple[Flat, ...]"]


def _function(shape: _Shape, run: Run, key: str, inputs: Sequence[Port], outputs: Sequence[Port]) -> Function:
    def answer(sweeps: Any) -> tuple[Flat, ...]:
        return run(shape, **sweeps.inputs)

    numbers = [shape.nx, shape.nu, shape.lanes]
    if shape.turning is not None:
        numbers += ["joints", *(number for block in shape.turning for number in block)]
    name = "_".join(map(str, ("riccati", key, *numbers)))
    return part(name, answer, inputs, outputs, shape.lanes)


def part(
    name: str, run: Any, inputs: Sequence[Port], outputs: Sequence[Port], lanes: int, numbers: str = ""
) -> Function:
    """A function of columns or of one knot; numbers: those in its code that its name does not have."""
    return Function(
        name,
        name,
        "a part of a Riccati recursion",
        tuple(replace(port, lanes=lanes) for port in inputs),
        tuple(outputs),
        Ways(lambda: {"columns": Route(run)}),
        Numerics(Size(0), Accuracy(1e-9, 1e-3)),
        source="Bertsekas 2017, section 3.1",
        content=f"riccati {name} {numbers}".rstrip(),
    )


def port(name: str, *dims: int, is_shared: bool = False, lower: int = 0) -> Port:
    marks: dict[str, Any] = {"is_shared": is_shared, "lower": lower}
    return Port(name, tuple(map(str, dims)), "as given", "as given", "of a Riccati recursion", **marks)


def _panel(shape: _Shape, name: str) -> Port:
    """What all columns share."""
    return port(name, shape.groups(name), shape.panel(name)[0], shape.lanes, is_shared=True)


def _control(shape: _Shape, f: Flat, h: Flat, V: Flat, Fu: Flat) -> tuple[Flat, ...]:
    after = algorithm.product(shape.symmetric(V, shape.nx), f)
    return (algorithm.product(shape.columns("Fu", Fu), after, h),)


def _state(shape: _Shape, f: Flat, h: Flat, V: Flat, Fx: Flat, Fu: Flat) -> tuple[Flat, ...]:
    nx = shape.nx
    after = algorithm.product(shape.symmetric(V, nx + 1), f)
    columns = [*(column[:nx] for column in shape.columns("Fx", Fx)), *shape.columns("Fu", Fu)]
    Q = algorithm.product(columns, after[:nx], h)
    Q[nx] = Q[nx] + after[nx]
    return (Q,)


def _factor(shape: _Shape, Qu: Flat, reg: Flat) -> tuple[Flat, ...]:
    L, inverse = algorithm.factor(shape.matrix("Qu", Qu), reg[0])
    return ([*L, *inverse],)


def _eliminate(shape: _Shape, q: Flat, Qx: Flat, L: Flat) -> tuple[Flat, ...]:
    n, nu = shape.nx + 1, shape.nu
    rows = [L[j * (j - 1) // 2 : j * (j + 1) // 2] for j in range(nu)]
    K = algorithm.gains(rows, L[shape.lower - nu :], q[n:])
    return algorithm.product([column[n:] for column in shape.columns("Qx", Qx)], K, q[:n]), K


def _advance(shape: _Shape, dx: Flat, K: Flat, Fx: Flat, Fu: Flat) -> tuple[Flat, ...]:
    rows = shape.matrix("K", K), shape.matrix("Fx", Fx)[: shape.nx], shape.matrix("Fu", Fu)
    return algorithm.advance(dx, *rows)


# The form of joints


def _mix(shape: _Shape, V: Flat, J: Flat) -> tuple[Flat, ...]:
    n, joints = shape.nx + 1, shape.joints(J)
    Y, p, S, z, t, w = algorithm.mixed(shape.symmetric(V, n), joints)
    panel: list[Any] = [0.0] * (shape.groups("Y") * shape.panel("Y")[0] * shape.lanes)
    for c in (*range(shape.nv), shape.nx):  # of v nothing is read
        first = c // shape.lanes * shape.panel("Y")[0] * shape.lanes + c % shape.lanes
        panel[first : first + (shape.nv + 1) * shape.lanes : shape.lanes] = [*Y[c], p[c]]
    return panel, [*(x for k, row in enumerate(S) for x in row[: k + 1]), *z, *t, w]


def _control_of_joints(shape: _Shape, m: Flat, h: Flat, S: Flat, Mu: Flat) -> tuple[Flat, ...]:
    return (algorithm.product(shape.columns("Mu", Mu), algorithm.product(shape.mixed((), S).S, m), h),)


def _state_of_joints(
    shape: _Shape, Y: Flat, S: Flat, Mx: Flat, Mu: Flat, V: Flat = (), J: Flat = (), **columns: Flat
) -> tuple[Flat, ...]:
    shared, J1 = shape.mixed(Y, S), shape.joints(J).J1 if shape.turning else ()
    others = [[*row, *shape.columns("Y", Y)[k]] for k, row in enumerate(shape.symmetric(V, shape.nx + 1) if V else ())]
    MN = [*shape.columns("Mx", Mx), *shape.columns("Mu", Mu)]
    return (algorithm.state(algorithm.Column(**columns), shared, [others[k] for k in shape.turned], MN, J1),)


def _advance_joints(shape: _Shape, dx: Flat, K: Flat, Mx: Flat, Mu: Flat, J: Flat) -> tuple[Flat, ...]:
    rows = shape.matrix("K", K), shape.matrix("Mx", Mx), shape.matrix("Mu", Mu)
    return algorithm.advance_joints(dx, *rows, shape.joints(J))


# A schedule's part


def slabs(knots: int, nx: int, nu: int, lanes: int, turning: Turning | None = None) -> tuple[Slab, ...]:
    """All arrays of `backward` and `forward`: a row is a knot's; V and dx have one more. Fx, Fu or Mx, Mu, J, and Hx,
    Hu come from outside. E is of all knots, and of each one where joints turn: see `columns_of_q`.
    """
    shape = _Shape(nx, nu, lanes, turning)
    rows = {"V": knots + 1, "Qx": 1, "Qu": 1, "Y": 1, "E": knots if turning else 1}
    names = ("Fx", "Fu") if turning is None else ("Mx", "Mu", "E", "Y")
    sizes = {name: shape.groups(name) * shape.panel(name)[0] * lanes for name in (*names, *_COMMON)}
    zeros = Slab("reg", 1, 1, is_zero=True), Slab("dx", knots + 1, nx, is_zero=True)
    more = Slab("L", 1, shape.lower), *zeros, Slab("du", knots, nu)
    joints = () if turning is None else (Slab("J", knots, shape.of_joints), Slab("S", 1, shape.folded))
    return (*(Slab(name, rows.get(name, knots), size) for name, size in sizes.items()), *joints, *more)


_COMMON = "Hx", "Hu", "V", "K", "Qx", "Qu"


def columns_of_q(nx: int, nu: int, lanes: int, turning: Turning = ()) -> list[float]:
    """E without J1, a row: in each column x^ 1 where V+ F^ has the column of V+ itself, 1 in the last, and for each
    coordinate of a joint with blocks an entry of J1: (coordinate, column), 0 here."""
    shape = _Shape(nx, nu, lanes, turning)
    panel = [[[0.0] * lanes for _ in range(shape.panel("E")[0])] for _ in range(shape.groups("E"))]
    for c in range(nx + 1):
        group = panel[c // lanes]
        group[0][c % lanes] = float(c == nx or (c < shape.nv and c not in shape.turned))
        group[1][c % lanes] = float(c == nx)
    return [x for group in panel for row in group for x in row]


def backward(knots: int, nx: int, nu: int, lanes: int, turning: Turning | None = None) -> Sweep:
    """V and K of all knots, from the last row of V on."""
    shape, functions = _Shape(nx, nu, lanes, turning), riccati(nx, nu, lanes, turning)
    x, u = shape.groups("V") * lanes, shape.groups("Qu") * lanes
    after, Qx, Qu, L = Operand("V", 1, 0, 1), Operand("Qx"), Operand("Qu"), Operand("L")

    def columns(function: Function, count: int, inputs: Sequence[Operand], *outputs: Operand) -> Call:
        return Call(function.name, count, tuple(inputs), outputs, columns=True)

    first: list[Statement] = []
    if isinstance(functions, Riccati):
        shared = [after, _held("Fx"), _held("Fu")]
        control, state = [_knot("Fu"), _knot("Hu"), after, _held("Fu")], [_knot("Fx"), _knot("Hx"), *shared]
    else:
        Y, S, E, v = Operand("Y"), Operand("S", step=0), Operand("E", turn=1 if turning else 0), after._replace(step=1)
        first.append(Call(functions.mix.name, 1, (v, _knot("J")), (Y, S._replace(step=1))))
        control = [_knot("Mu"), _knot("Hu"), S, _held("Mu")]
        state = [_knot("Mx"), _knot("Hx"), v, Y, E, Y._replace(step=0), S, _held("Mx"), _held("Mu")]
        state += [after, _held("J")] if turning else []
    body = (
        *first,
        columns(functions.control, u, control, Qu),
        Call(functions.factor.name, 1, (Qu, Operand("reg")), (L,)),
        columns(functions.state, x, state, Qx),
        columns(functions.eliminate, x, [Qx, Qx._replace(step=0), L._replace(step=0)], _knot("V"), _knot("K")),
    )
    return Sweep(knots, body, backwards=True)


def forward(knots: int, nx: int, nu: int, lanes: int, turning: Turning | None = None) -> Sweep:
    """dx and du of all knots, from the first row of dx on."""
    names = ("K", "Fx", "Fu") if turning is None else ("K", "Mx", "Mu", "J")
    inputs, outputs = (_knot("dx"), *map(_knot, names)), (_knot("du"), Operand("dx", 1, 1, 1))
    return Sweep(knots, (Call(riccati(nx, nu, lanes, turning).advance.name, 1, inputs, outputs),))


def _knot(slab: str) -> Operand:
    """The row of the turn's knot."""
    return Operand(slab, turn=1)


def _held(slab: str) -> Operand:
    """The same as what all columns share."""
    return Operand(slab, step=0, turn=1)
