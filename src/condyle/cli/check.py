"""`condyle check`: every function against the reference at random states, three laws, and the model's findings."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from condyle.backends.cpu.target import NEEDS
from condyle.cli.bound import NO_DRIVES, Driving, add_bound, contacts_of, controlled, driving, frames_of, those_there
from condyle.cli.common import (
    Json,
    add_machine,
    add_robot,
    load,
    progress,
    show,
    show_json,
    show_snapped,
    snapped_json,
    table,
)
from condyle.cli.export import functions_that_run
from condyle.cli.states import Array, States, draw
from condyle.derivatives import vjp
from condyle.errors import SingularError, listed
from condyle.functions import FUNCTIONS
from condyle.functions.constraints import CONTACTS
from condyle.specification import Derivative, Function, Port

if TYPE_CHECKING:
    from condyle import Contact, Dynamics, Robot


# Derivatives held to differences of what they are derivatives of: for `condyle check --functions vjp_fd`.


STEP = 1e-6
Arrays: TypeAlias = "Sequence[Array]"


def error(robot: Robot, reference: Dynamics, function: Function, states: States) -> float:
    """The worst error of w . D e, for one random direction e of the inputs and one w of the answers a state.

    D e is by central differences of the function; w . D e of a hessian, with w = e, by those of the function's vjp.
    Relative to the sum of the sizes of all terms.
    """
    origin, rng = function.origin, np.random.default_rng(1)
    assert isinstance(origin, Derivative)
    base, values, n = origin.function, states.arguments(function), states.n
    at, more = values[: len(base.inputs)], values[len(base.inputs) :]

    def drawn(ports: Sequence[Port], like: Arrays) -> list[Array]:
        shapes = [(n, robot.nv) if port.is_configuration else x.shape for port, x in zip(ports, like, strict=True)]
        return [rng.standard_normal(shape) for shape in shapes]

    along = list(more) if origin.kind == "jvp" else drawn(base.inputs, at)
    if origin.is_partial:
        along = [e if port.name in origin.by else 0.0 * e for port, e in zip(base.inputs, along, strict=True)]

    def answers(function: Function, h: float) -> Arrays:
        """With the inputs moved by h e."""
        moved = [
            robot.integrate(x, h * e) if port.is_configuration else x + h * e
            for port, x, e in zip(base.inputs, at, along, strict=True)
        ]
        return reference.call(function, moved if function == base else [*moved, *more])

    found = reference.call(function, values)
    if origin.kind == "hessian":
        e = _rows(along)
        terms = e[:, :, None] * found[0] * e[:, None, :]
        slope = _slope(lambda h: np.sum(e * _rows(answers(vjp(base), h)), axis=-1))
    else:
        behind, ahead = answers(base, -STEP), answers(base, STEP)
        slopes = [
            (robot.difference(a, b) if port.is_configuration else b - a) / (2 * STEP)
            for port, a, b in zip(base.outputs, behind, ahead, strict=True)
        ]
        factors = list(more) if origin.kind == "vjp" else drawn(base.outputs, ahead)
        w = _rows(factors)
        terms = _terms(origin, found, along, factors)
        slope = np.sum(w * _rows(slopes), axis=-1)
    terms = np.reshape(terms, (n, terms[:1].size))
    scale = np.maximum(np.sum(np.abs(terms), axis=-1), np.finfo(np.float64).tiny)
    return float(np.max(np.abs(np.sum(terms, axis=-1) - slope) / scale, initial=0.0))


def _terms(origin: Derivative, answers: Arrays, along: Arrays, factors: Arrays) -> Array:
    """What w . D e is the sum of, by the derivative's answers; factors: w by answer of the function."""
    w = _rows(factors)
    if origin.kind == "jvp":
        return w * _rows(answers)
    if origin.kind == "vjp":
        return _rows(along) * _rows(answers)
    of = [e for port, e in zip(origin.function.inputs, along, strict=True) if port.name in origin.by]
    pairs = [(row, column) for row in factors for column in of]
    blocks = [np.reshape(x, (len(w), *map(_width, pair))) for x, pair in zip(answers, pairs, strict=True)]
    rows = [np.concatenate(blocks[k : k + len(of)], axis=-1) for k in range(0, len(blocks), len(of))]
    return w[:, :, None] * np.concatenate(rows, axis=1) * _rows(of)[:, None, :]


def _slope(f: Callable[[float], Array]) -> Array:
    return (f(STEP) - f(-STEP)) / (2 * STEP)


def _rows(arrays: Arrays) -> Array:
    """Side by side, flat."""
    return np.concatenate([np.reshape(x, (len(x), -1)) for x in arrays], axis=-1)


def _width(array: Array) -> int:
    return array.size // max(1, len(array))


N_STATES = 64
# what solving with M may cost: this many roundings for each unit of its condition number
ROUNDINGS = 16.0
# of the largest singular value of J: rows that depend on each other nearly
WEAK = 0.03
# central differences with the step of `differences`
DIFFERENCES = 1e-6


@dataclass(frozen=True, slots=True)
class Verdict:
    """One comparison: the worst error found and what was allowed; zeros: every number compared was zero."""

    what: str
    error: float
    allowed: float
    zeros: bool = False

    @property
    def fine(self) -> bool:
        return self.error <= self.allowed  # false for NaN

    @property
    def said(self) -> str:
        return "FAILED" if not self.fine else "only zeros" if self.zeros else "ok"


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        f"Compare every function with the NumPy reference at {N_STATES} random states, and derivatives with central "
        "differences too. Test three laws of mechanics, and list what is wrong with the file and the model. Exit "
        "status 1 if a function or a law fails, or if a body has a mass or an inertia that no body can have (links "
        "that are welded together are one body)."
    )
    command.epilog = "example: condyle check arm.urdf --dtype float32"
    add_robot(command)
    add_bound(command)
    add_machine(command)
    command.add_argument(
        "--functions",
        metavar="fd,vjp_fd",
        type=functions_that_run,
        default=(),
        help="functions to compare, by short name, derivatives too (default: all functions, no derivatives)",
    )
    command.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    loaded = load(arguments)
    dtype: str = arguments.dtype
    frames, contacts = frames_of(loaded.robot, arguments), contacts_of(loaded.robot, arguments)
    named = arguments.contacts or arguments.functions or loaded.robot.contacts
    locked = not named and bool(contacts) and bool(weak(loaded.robot, contacts).all())
    contacts = () if locked else contacts
    left_out = [name for name, function in FUNCTIONS.items() if locked and set(CONTACTS) & set(function.options)]
    drives = driving(arguments)
    dynamics = loaded.robot.compile(target=arguments.target, dtype=dtype, frames=frames, contacts=contacts, **drives)
    named = arguments.functions or [function for name, function in FUNCTIONS.items() if name in dynamics.signature]
    functions = controlled(those_there(named, arguments), arguments)
    verdicts = compare(loaded.robot, dynamics, dtype, frames, functions, drives)
    findings = loaded.robot.check()
    said = {(finding.element, finding.message) for finding in loaded.findings}
    fresh = [finding for finding in findings if (finding.element, finding.message) not in said]
    wanting = any(not verdict.fine for verdict in verdicts) or any(f.severity != "note" for f in findings)
    if arguments.json:
        rows: list[Json] = [{**asdict(verdict), "fine": verdict.fine} for verdict in verdicts]
        all_found = [asdict(finding) for finding in (*loaded.findings, *fresh)]
        told = snapped_json(loaded.robot)
        show_json({"fine": not wanting, "checks": rows, "left_out": left_out, "findings": all_found, "snapped": told})
        return int(wanting)
    cells = [[v.what, f"{v.error:.1e}", f"{v.allowed:.1e}", v.said] for v in verdicts]
    show(table(("check", "error", "allowed", ""), cells))
    for line in (*loaded.warnings, *listed(fresh).splitlines()):
        show(line)
    show_snapped(loaded.robot)
    if dynamics.target != arguments.target:
        show(f"target {dynamics.target}: machine code {NEEDS}, which is not here")
    if any(verdict.zeros for verdict in verdicts):
        show(
            "only zeros: every number that was compared is zero, so these functions are not verified. A frame that "
            "cannot move and a robot of one joint have such answers; --frames names other frames"
        )
    if left_out:
        reason = "the tip does not move in three directions, so a point that is held there contradicts itself"
        show(f"not checked: {', '.join(left_out)}: {reason}; --contacts names other frames")
    show("check failed" if wanting else f"all checks passed at {N_STATES} random states")
    return int(wanting)


def compare(
    robot: Robot,
    dynamics: Dynamics,
    dtype: str,
    frames: tuple[str, ...],
    served: Sequence[Function],
    drives: Driving = NO_DRIVES,
) -> list[Verdict]:
    """Each function against the reference (the programs' meaning, run in NumPy float64), then the laws.

    Derivatives among them are held to differences of the reference too. The laws are those of the bodies.
    """
    solved = solvable(robot, served)
    contacts = dynamics.contacts
    states = draw(robot, N_STATES, dtype, solved, frames=len(frames), contacts=contacts)
    reference = robot.compile(target="numpy", frames=frames, contacts=contacts, **drives)
    drawn: dict[str, Array] = {name: array.astype(np.float64) for name, array in states.quantities.items()}
    exact = independent(robot, contacts, States(drawn, states.sizes, "float64"))
    states = States({name: array.astype(dtype) for name, array in exact.quantities.items()}, states.sizes, dtype)
    condition = float(np.max(np.linalg.cond(reference.mass_matrix(exact.quantities["q"])))) if robot.nv else 1.0
    verdicts: list[Verdict] = []
    for function in solved:
        progress(f"checking {function.name}")
        found, expected = answers(dynamics, function, states), answers(reference, function, exact)
        worst = max(worst_of(function, found, expected))
        limit = allowed(function, dtype, condition)
        zeros = only_zeros(*found, *expected)
        verdicts.append(Verdict(f"{function.name} against the reference", worst, limit, zeros))
        if isinstance(function.origin, Derivative):
            solving = ROUNDINGS * condition * np.finfo("float64").eps / STEP if function.solves else 0.0
            off, limit = error(robot, reference, function, exact), max(DIFFERENCES, float(solving))
            verdicts.append(Verdict(f"{function.name} against differences", off, limit, zeros))
    unsolved = [function.name for function in served if function not in solved]
    verdicts += [Verdict(f"{name}: M has no inverse", math.inf, 0.0) for name in unsolved]
    verdicts += laws(robot.compile(target="numpy"), exact, condition) if robot.nv else []
    progress("")
    return verdicts


def weak(robot: Robot, contacts: Sequence[Contact], q: Array | None = None) -> NDArray[np.bool_]:
    """Of configurations, or of some random ones, whether rows of contacts depend on each other nearly.

    There forces are what rounding leaves of rows that contradict each other: they have no digits to compare.
    """
    some = robot.random_state(N_STATES, 0).q if q is None else q
    J = robot.compile(target="numpy", contacts=contacts).constraint_jacobian(some)
    singular = np.linalg.svd(J, compute_uv=False)
    return (singular[:, -1] < WEAK * singular[:, 0]) | (J.shape[1] > J.shape[2])


def independent(robot: Robot, contacts: Sequence[Contact], states: States) -> States:
    """The states, those with such rows replaced by others, where there are any."""
    is_weak = weak(robot, contacts, states.quantities["q"]) if contacts else np.zeros(states.n, bool)
    rows = np.arange(states.n)
    rows[is_weak] = np.resize(rows if is_weak.all() else rows[~is_weak], int(is_weak.sum()))
    return replace(states, quantities={name: array[rows] for name, array in states.quantities.items()})


def solvable(robot: Robot, served: Sequence[Function]) -> Sequence[Function]:
    """The functions that this robot has: all, or those that need no inverse of M where there never is one."""
    from condyle.compile.routes import check_solvable

    try:
        check_solvable(robot, served)
    except SingularError:
        return [function for function in served if not function.solves_own]
    return served


def laws(reference: Dynamics, states: States, condition: float) -> list[Verdict]:
    """What must hold of the reference itself, in float64."""
    if "Minv" not in states.quantities:
        return []
    q, v, tau = (states.quantities[name] for name in ("q", "v", "tau"))
    solving = allowed(next(f for f in FUNCTIONS.values() if f.inverts), "float64", condition)
    round_trip = reference.inverse_dynamics(q, v, reference.forward_dynamics(q, v, tau))
    product = reference.mass_matrix(q) @ reference.mass_matrix_inverse(q)
    step = 1e-6
    by_v = np.stack(
        [
            reference.inverse_dynamics(q, v + step * e, tau) - reference.inverse_dynamics(q, v - step * e, tau)
            for e in np.eye(v.shape[-1])
        ],
        axis=-1,
    )
    slope = reference.inverse_dynamics_derivatives(q, v, tau)[1]
    sizes = np.concatenate([np.reshape(slope, (states.n, -1)), reference.inverse_dynamics(q, v, tau)], axis=1)
    return [
        Verdict("law: id(fd(tau)) = tau", relative(round_trip, tau), solving),
        Verdict("law: M Minv = 1", relative(product, np.broadcast_to(np.eye(v.shape[-1]), product.shape)), solving),
        # central differences of a quadratic: only rounding, divided by the step
        Verdict(
            "law: did by differences in v", relative(by_v / (2 * step), slope, sizes), 1e-6, only_zeros(by_v, slope)
        ),
    ]


def only_zeros(*arrays: Array) -> bool:
    """Whether there is no number but zero among them, or none at all."""
    return not any(map(np.any, arrays))


def answers(dynamics: Dynamics, function: Function, states: States) -> tuple[Array, ...]:
    out = states.outputs(function)
    if isinstance(function.origin, Derivative):  # as it is named: the method of a step's takes flags of contacts too
        return dynamics.call(function, states.arguments(function), out)
    dynamics.function(function)(*states.arguments(function), out=out[0] if len(out) == 1 else out)
    return out


def allowed(function: Function, dtype: str, condition: float) -> float:
    """The contract's accuracy; where M is solved with, its condition is allowed for."""
    told: float = getattr(function.accuracy, dtype)
    return max(told, ROUNDINGS * condition * float(np.finfo(dtype).eps)) if function.solves else told


def worst_of(function: Function, answers: Sequence[Array], expected: Sequence[Array]) -> list[float]:
    """The worst error of each answer; of a difference of larger numbers relative to these."""
    sizes = {port.name: x for port, x in zip(function.outputs, expected, strict=True)}
    triples = zip(function.outputs, answers, expected, strict=True)
    return [relative(a, b, sizes.get(port.beside)) for port, a, b in triples]


def relative(answer: Array, expected: Array, beside: Array | None = None) -> float:
    """The worst error of a state, relative to the largest entry of that state's answer, or of `beside`."""
    if expected.size == 0:
        return 0.0
    size = expected if beside is None else beside
    worst = [
        float(np.max(np.abs(a.astype(np.float64) - b)))
        / max(float(np.max(np.abs(c))), float(np.finfo(np.float64).tiny))
        for a, b, c in zip(answer, expected, size, strict=True)
    ]
    return float(np.max(worst))  # unlike max, keeps NaN
