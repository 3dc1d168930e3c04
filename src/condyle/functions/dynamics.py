"""The equation of motion: inverse and forward dynamics, the mass matrix, its inverse, and derivatives.

Derivatives that are known in closed form are products and solves with what is there. With w = M^-1 times a cotangent,
or times factors, derivatives of a = fd(q, v, tau) are those of id at (q, v, a), times -w. Functions with external
forces have the same rules, and the forces behind the other inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from condyle import algorithms
from condyle.derivatives import hessian, jacobian, jvp, vjp
from condyle.functions.quantities import (
    DA_DQ,
    DA_DTAU,
    DA_DV,
    DOF_UNIT,
    DTAU_DQ,
    DTAU_DV,
    MINV,
    TAU,
    A,
    ByName,
    M,
    Q,
    V,
    Values,
    call,
    pushed,
)
from condyle.specification import Accuracy, Call, Function, MinusProduct, Needs, Numerics, Port, Route, Size, Ways
from condyle.specification.ports import ACTUATOR_GAINS, CONTROLS, DRIVEN, EXTRA, F_EXT, IMPLICIT, NUMBERS

if TYPE_CHECKING:
    from condyle.algorithms.derivatives import Derivatives
    from condyle.algorithms.solvers import Solver
    from condyle.algorithms.sweeps import Matrix, Sweeps, Vector
    from condyle.algorithms.unrolled import Unrolled

Answers: TypeAlias = "tuple[Vector | Matrix, ...]"
Run: TypeAlias = Callable[..., Answers]

BODIES = tuple(name for name in NUMBERS if name != ACTUATOR_GAINS.name)
"""What inverse dynamics depends on beside the state."""
DRIVES = Needs(("drives",))

GROWS = Size(80, 50, 2)
"""Of routes that factor M: they grow with the cube of the depth."""
BASELINE = "plancher2021"
"""The papers' route to the derivatives, which runs when it is named. GRiD's Algorithm 2 (Plancher 2022) is its
arithmetic: see `rnea_columns.rnea_refactored`."""

FORWARD_DYNAMICS = Function(
    "fd",
    "forward_dynamics",
    "a = M(q)^-1 (tau - c(q, v, f_ext))",
    (Q, V, TAU),
    (A,),
    Ways(
        lambda: {
            "ltl": Route(partial(_fd, algorithms.solvers.ByFactors), size=GROWS),
            "aba": Route(partial(_fd, algorithms.solvers.ByElimination), loops=True, alone=True),
            "minv": Route(partial(_fd, algorithms.solvers.ByInverse), shallow=True, size=GROWS),
        },
        closed=lambda: {"jvp": _jvp_fd, "vjp": _vjp_fd, "jacobian": _jacobian_fd, "hessian": _hessian_fd},
    ),
    Numerics(Size(600), Accuracy(1e-9, 5e-5), 64.0),
    "Featherstone 2008, sections 6.5 and 7.3",
    takes=(F_EXT.name, *DRIVEN, *NUMBERS),
    normal_form="joint_space",
    needs=DRIVES,
    symbol=A.name,
)

INVERSE_DYNAMICS = Function(
    "id",
    "inverse_dynamics",
    "tau = M(q) a + c(q, v, f_ext)",
    (Q, V, A),
    (TAU,),
    Ways(
        lambda: {"rnea": Route(_id, loops=True)},
        closed=lambda: {"jacobian": _jacobian_id},
    ),
    Numerics(Size(200), Accuracy(1e-12, 2e-5)),
    "Featherstone 2008, section 5.3",
    takes=(F_EXT.name, *BODIES),
    normal_form="joint_space",
    needs=DRIVES,
    inverse=FORWARD_DYNAMICS,
)

MASS_MATRIX = Function(
    "m",
    "mass_matrix",
    "M(q)",
    (Q,),
    (M,),
    Ways(
        lambda: {
            "crba": Route(_m, loops=True),
            "mminvgen": Route(partial(_mminvgen, False), alone=True, shallow=True),
        },
    ),
    Numerics(Size(80, 40), Accuracy(1e-12, 2e-5)),
    "Featherstone 2008, section 6.2",
    takes=("inertias", "armature"),
    normal_form="joint_space",
)

MASS_MATRIX_INVERSE = Function(
    "minv",
    "mass_matrix_inverse",
    "M(q)^-1",
    (Q,),
    (MINV,),
    Ways(
        lambda: {
            "ltl": Route(partial(_minv, algorithms.solvers.ByFactors)),
            "aba": Route(partial(_minv, algorithms.solvers.ByElimination), loops=True, alone=True, shallow=True),
            "mminvgen": Route(partial(_mminvgen, True), alone=True, shallow=True),
        },
    ),
    Numerics(GROWS, Accuracy(1e-9, 5e-5), 8.0),
    "Featherstone 2008, section 6.5; Carpentier 2018",
    takes=("inertias", "armature"),
    normal_form="joint_space",
)

INVERSE_DYNAMICS_DERIVATIVES = Function(
    "did",
    "inverse_dynamics_derivatives",
    "d tau / d q, d tau / d v of inverse dynamics",
    (Q, V, A),
    (DTAU_DQ, DTAU_DV),
    Ways(
        lambda: {
            name: replace(route, shallow=name in ("adjoint", "columns"))
            for name, route in _derivative_routes(_did).items()
        },
    ),
    Numerics(Size(200, 180), Accuracy(1e-11, 5e-5)),
    "Singh, Russell, Wensing 2022",
    takes=(F_EXT.name, *BODIES),
    normal_form="joint_space",
    needs=DRIVES,
)

DYNAMICS_DERIVATIVES = Function(
    "difd",
    "dynamics_derivatives",
    "d a / d q, d a / d v, given a and Minv",
    (Q, V, A, MINV),
    (DA_DQ, DA_DV),
    Ways(
        lambda: _derivative_routes(_difd, _did),
    ),
    Numerics(Size(200, 180, 5), Accuracy(1e-8, 5e-5), 8.0),
    "Plancher 2021, equation 1",
    takes=(F_EXT.name, *BODIES),
    normal_form="joint_space",
    needs=DRIVES,
    composition=(
        Call(INVERSE_DYNAMICS_DERIVATIVES, (DTAU_DQ.name, DTAU_DV.name)),
        MinusProduct(MINV.name, DTAU_DQ.name, DA_DQ.name),
        MinusProduct(MINV.name, DTAU_DV.name, DA_DV.name),
    ),
)

FORWARD_DYNAMICS_DERIVATIVES = Function(
    "dfd",
    "forward_dynamics_derivatives",
    "d a / d q, d a / d v, d a / d tau of forward dynamics",
    (Q, V, TAU),
    (DA_DQ, DA_DV, DA_DTAU),
    Ways(
        lambda: {
            **_solved_routes("ltl+", algorithms.solvers.ByFactors),
            **_solved_routes("minv+", algorithms.solvers.ByInverse),
            "aba+closed_form": Route(_dfd_by_sweeps, loops=True, alone=True, baseline=True, part="closed_form"),
        },
    ),
    Numerics(Size(500, 220, 5), Accuracy(1e-8, 5e-5), 8.0),
    "Plancher 2021, Algorithm 3",
    takes=(F_EXT.name, *DRIVEN, *NUMBERS),
    normal_form="joint_space",
    needs=DRIVES,
    composition=(
        Call(MASS_MATRIX_INVERSE, (DA_DTAU.name,)),
        Call(FORWARD_DYNAMICS, (A.name,)),
        Call(DYNAMICS_DERIVATIVES, (DA_DQ.name, DA_DV.name), (Q.name, V.name, A.name, DA_DTAU.name)),
    ),
)

JOINT_FORCE_LAWS = Function(
    "jf",
    "joint_forces",
    "- damping v - stiffness (q - spring_reference) - friction v / sqrt(v^2 + w^2) + stops at limits",
    (Q, V),
    (Port("joint_force", ("nv",), DOF_UNIT, "joint", "force of damping, friction, springs and stops"),),
    Ways(lambda: {"laws": Route(_jf)}),
    Numerics(Size(40)),
    "decision 0118",
    takes=("damping", "dry_friction", "stiffness"),
    needs=DRIVES._replace(drives="forces"),
)

ACTUATOR_FORCES = Function(
    "af",
    "actuator_forces",
    "gear^T clip(gain clip(u, control) + b0 + b1 length + b2 rate, force range), clipped at effort; length = gear q, "
    "rate = gear v",
    (Q, V, CONTROLS),
    (Port("actuator_force", ("nv",), DOF_UNIT, "joint", "force of all actuators"),),
    Ways(lambda: {"laws": Route(_af)}),
    Numerics(Size(20)),
    "MuJoCo's documentation, Computation, Actuation model",
    takes=(ACTUATOR_GAINS.name,),
    needs=DRIVES._replace(drives="actuators"),
)

DYNAMICS = (
    INVERSE_DYNAMICS,
    FORWARD_DYNAMICS,
    MASS_MATRIX,
    MASS_MATRIX_INVERSE,
    INVERSE_DYNAMICS_DERIVATIVES,
    FORWARD_DYNAMICS_DERIVATIVES,
    DYNAMICS_DERIVATIVES,
)

DRIVE_FORCES = (JOINT_FORCE_LAWS, ACTUATOR_FORCES)

SOLVE = Function(
    "solve",
    "solve",
    "M(q)^-1 tau",
    (Q, TAU),
    (A,),
    Ways(lambda: {"ltl": Route(_solve, size=GROWS), "aba": Route(_solve_by_elimination, alone=True)}),
    Numerics(Size(600), Accuracy(1e-9, 5e-5), 64.0),
    "Featherstone 2008, section 6.5",
    takes=("inertias", "armature"),
    normal_form="joint_space",
)

AUXILIARY = (SOLVE,)
"""What rules for derivatives call beside the functions that users have."""


# Routes


def _id(tree: Sweeps) -> Answers:
    tau = tree.gathered(algorithms.rnea.rnea(tree, tree.input("v"), tree.input("a")))
    return (algorithms.drives.resisted(tree, tau),)


def _jf(tree: Unrolled) -> Answers:
    return (algorithms.drives.joint_forces(tree),)


def _af(tree: Unrolled) -> Answers:
    return (algorithms.drives.actuator_forces(tree),)


def _m(tree: Sweeps) -> Answers:
    return (algorithms.crba.crba(tree),)


def _mminvgen(inverse: bool, tree: Unrolled) -> Answers:
    return (algorithms.mminvgen.mminvgen(tree, inverse),)


def _fd(solver: Callable[..., Solver], tree: Sweeps) -> Answers:
    if algorithms.drives.couples(tree):
        solver = cast("Callable[..., Solver]", algorithms.solvers.ByFactors)
    return (solver(algorithms.drives.driven(tree)).acceleration(),)


def _solve(tree: Unrolled) -> Answers:
    return (algorithms.ltl.solve(algorithms.solvers.factors(tree), list(tree.inputs["tau"])),)


def _solve_by_elimination(tree: Unrolled) -> Answers:
    """Forward dynamics at rest without gravity."""
    from condyle.scalar import number

    at_rest = {**tree.inputs, "v": [number(0.0)] * tree.nv}
    weightless = algorithms.unrolled.Unrolled(replace(tree.tree, gravity=(0.0, 0.0, 0.0)), at_rest)
    return (algorithms.solvers.ByElimination(weightless).acceleration(),)


def _minv(solver: Callable[..., Solver], tree: Sweeps) -> Answers:
    return (solver(tree).inverse(),)


def _did(derivatives: Derivatives, tree: Sweeps) -> tuple[Matrix, Matrix]:
    by_q, by_v = derivatives(tree, tree.input("v"), tree.input("a"))
    return algorithms.drives.with_slopes(tree, by_q, by_v)


def _difd(derivatives: Derivatives, tree: Sweeps) -> Answers:
    by_q, by_v = _did(derivatives, tree)
    return tree.minus_product(MINV.name, by_q), tree.minus_product(MINV.name, by_v)


def _dfd(solver: Callable[[Unrolled], Solver], derivatives: Derivatives, tree: Unrolled) -> Answers:
    """Plancher 2021, Algorithm 3. Columns that are known where a base floats freely are left out of the products."""
    drives, v = algorithms.drives, tree.input("v")
    way = solver(drives.driven(tree))
    a = way.acceleration()
    known = algorithms.derivatives.Known(tree, v)
    slopes = known.left(*derivatives(tree, v, tree.dofs(a)))
    by_q, by_v = drives.with_slopes(tree, *slopes, a)
    by_q, by_v = known.joined(way.minus_times(by_q), way.minus_times(by_v))
    return by_q, by_v, drives.by_controls(tree, way.inverse(), a)


def _dfd_by_sweeps(tree: Sweeps) -> Answers:
    way = algorithms.solvers.ByElimination(algorithms.drives.driven(tree))
    derivatives = algorithms.derivatives.DERIVATIVES["closed_form"]
    slopes = derivatives(tree, tree.input("v"), tree.dofs(way.acceleration()))
    by_q, by_v = algorithms.drives.with_slopes(tree, *slopes)
    return way.minus_times(by_q), way.minus_times(by_v), way.inverse()


def _dfd_factors(derivatives: Derivatives, tree: Unrolled) -> Answers:
    """What dense products make dfd of: derivatives of inverse dynamics, M^-1, and its `halves`."""
    way = algorithms.solvers.ByFactors(algorithms.drives.driven(tree))
    slopes = derivatives(tree, tree.input("v"), tree.dofs(way.acceleration()))
    by_q, by_v = algorithms.drives.with_slopes(tree, *slopes)
    return by_q, by_v, way.inverse(), *algorithms.ltl.halves(way.factors)


def _derivative_routes(run: Run, factors: Run | None = None) -> dict[str, Route]:
    """A route for each algorithm to the derivatives of inverse dynamics."""
    return {
        name: Route(
            partial(run, derivatives),
            loops=name == "closed_form",
            baseline=name == BASELINE,
            part=name,
            alias="grid" if name == BASELINE else "",
            factors=None if factors is None or name == BASELINE else partial(factors, derivatives),
        )
        for name, derivatives in algorithms.derivatives.DERIVATIVES.items()
    }


def _solved_routes(prefix: str, solver: Callable[[Unrolled], Solver]) -> dict[str, Route]:
    """The same, solved with M in one way; the baseline is that of the papers, which spell out M^-1."""
    spelled = solver is algorithms.solvers.ByInverse
    routes = _derivative_routes(partial(_dfd, solver), None if spelled else _dfd_factors)
    return {
        prefix + name: replace(route, loops=False, shallow=spelled, alias=route.alias and prefix + route.alias)
        for name, route in routes.items()
        if spelled or not route.baseline
    }


# Derivatives that are known in closed form


MOVING = (F_EXT.name, "inertias", "gravity", "armature")
"""What no D depends on, so that in a step, too, only inverse dynamics changes with it."""


MOVING_MASS = ("inertias", "armature")
"""What M depends on, beside q."""


class _Variant:
    """Functions with what is given behind their own inputs: external forces, numbers of the robot."""

    def __init__(self, calls: Any, inputs: ByName) -> None:
        self.calls, self.inputs = calls, inputs
        self.extra = {name: inputs[name] for name in EXTRA if name in inputs}

    def call(self, function: Function, *inputs: Values, **derivative: Any) -> tuple[list[Any], ...]:
        return call(self.calls, self.inputs, function, *inputs, **derivative)

    @property
    def state(self) -> tuple[Values, Values]:
        return self.inputs["q"], self.inputs["v"]

    @property
    def acceleration(self) -> list[Any]:
        return self.call(FORWARD_DYNAMICS, *self.state, pushed(self.inputs))[0]

    def solved(self, x: Values) -> list[Any]:
        """M^-1 x."""
        return self.call(SOLVE, self.inputs["q"], x)[0]


def _jacobian_id(calls: Any, inputs: ByName) -> ByName:
    of = _Variant(calls, inputs)
    by_q, by_v = of.call(INVERSE_DYNAMICS_DERIVATIVES, *of.state, inputs["a"])
    return {DTAU_DQ.name: by_q, DTAU_DV.name: by_v, "dtau_da": of.call(MASS_MATRIX, inputs["q"])[0]}


def _jvp_fd(calls: Any, inputs: ByName) -> ByName:
    if DRIVEN.keys() & inputs.keys():
        return {}
    of = _Variant(calls, inputs)
    still = [0.0] * calls.tree.nv
    more = (inputs["dq"], inputs["dv"], still, *(inputs[f"d{name}"] for name in of.extra))
    (moved,) = of.call(INVERSE_DYNAMICS, *of.state, of.acceleration, derived=jvp, more=more)
    return {"da": of.solved([x - y for x, y in zip(inputs["dtau"], moved, strict=True)])}


def _vjp_fd(calls: Any, inputs: ByName) -> ByName:
    if DRIVEN.keys() & inputs.keys():
        return {}
    of = _Variant(calls, inputs)
    w = of.solved(inputs["a_bar"])
    by_q, by_v, _, *others = of.call(INVERSE_DYNAMICS, *of.state, of.acceleration, derived=vjp, more=([-x for x in w],))
    by_extra = {f"{name}_bar": x for name, x in zip(of.extra, others, strict=True)}
    return {"q_bar": by_q, "v_bar": by_v, "tau_bar": w, **by_extra}


def _jacobian_fd(calls: Any, inputs: ByName) -> ByName:
    of = _Variant(calls, inputs)
    by_q, by_v, by_push = of.call(FORWARD_DYNAMICS_DERIVATIVES, *of.state, pushed(inputs))
    if CONTROLS.name in inputs:
        return {DA_DQ.name: by_q, DA_DV.name: by_v, f"da_d{CONTROLS.name}": by_push}
    found, inverse = {DA_DQ.name: by_q, DA_DV.name: by_v, DA_DTAU.name: by_push}, by_push
    for name in MOVING if IMPLICIT.name in inputs else of.extra:
        if name not in of.extra:
            continue
        (block,) = of.call(INVERSE_DYNAMICS, *of.state, of.acceleration, derived=partial(jacobian, by=name))
        found[f"da_d{name}"] = [-x for x in product(inverse, block, calls.tree.nv)]
    return found


def _hessian_fd(calls: Any, inputs: ByName) -> ByName:
    """Twice differentiated, tau = id(q, v, a(q, v, tau)) says that 0 = J^T G J + M a'', J being a's derivative below I.

    G is symmetric; of its blocks with a those with q, and with what moves M, are not zero.
    """
    if DRIVEN.keys() & inputs.keys():
        return {}
    of, n = _Variant(calls, inputs), calls.tree.nv
    jacobians = _jacobian_fd(calls, inputs)
    factors = [-x for x in of.solved(inputs["lam"])]
    (second,) = of.call(INVERSE_DYNAMICS, *of.state, of.acceleration, derived=hessian, more=(factors,))
    size = 3 * n + sum(map(len, of.extra.values()))
    moving, begin = list(range(n)), 3 * n
    for name, x in of.extra.items():
        moving += range(begin, begin + len(x)) if name in MOVING_MASS else ()
        begin += len(x)
    by_a = [second[i * size + 2 * n + j] for i in moving for j in range(n)]
    columns = [product(by_a, block, n) for block in jacobians.values()]
    widths = [len(block) // n if n else 0 for block in jacobians.values()]
    both = {
        i: [x for block, m in zip(columns, widths, strict=True) for x in block[k * m : k * m + m]]
        for k, i in enumerate(moving)
    }

    def entry(i: int, j: int) -> Any:
        """i >= j."""
        own = 0.0 if 2 * n <= i < 3 * n or 2 * n <= j < 3 * n else second[i * size + j]
        return own + (both[j][i] if j in both else 0.0) + (both[i][j] if i in both else 0.0)

    return {"H": [entry(max(i, j), min(i, j)) for i in range(size) for j in range(size)]}


def product(left: Values, right: Values, n: int) -> list[Any]:
    """Of flat matrices, left having rows of n entries."""
    if n == 0:  # a robot without joints
        return []
    from condyle.scalar import matrix_product

    m = len(right) // n
    rows = matrix_product([left[k : k + n] for k in range(0, len(left), n)], [right[j::m] for j in range(m)])
    return [x for row in rows for x in row]
