"""What `contact_solve` is made of: its problem, iterations until the residual is small, and its answers.

The answers are those of one more step of Newton's method after the iterations. Nothing is differentiated through the
iterations: the derivative of that step is the derivative of the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from condyle import algorithms
from condyle.derivatives import jacobian, jvp, vjp
from condyle.functions.quantities import ByName, Values
from condyle.functions.repeat import iterate
from condyle.scalar import select
from condyle.specification import Closed, Function, Numerics, Port, Route, Size, Ways
from condyle.specification.ports import ACTIVE, DRY_FRICTION

if TYPE_CHECKING:
    from condyle.algorithms.contact_friction import Frictional
    from condyle.algorithms.contact_newton import Problem
    from condyle.algorithms.unrolled import Unrolled

MOST = 40
"""Iterations."""
Shape = tuple[tuple[bool, bool, bool], ...]
"""Of rows of joints: see `algorithms.joint_rows.shape_of`."""
DERIVATIVES = {"jvp": jvp, "vjp": vjp, "jacobian": jacobian}
HELD = ("G", "b", "steps", "rates", "damping", "friction_there", "ends")
"""What the iterations do not change."""


class Parts(NamedTuple):
    """Functions: inputs of `contact_solve` -> p and what is held; these -> p; inputs and p -> the answers."""

    problem: Function
    loop: Function
    last: Function
    answers: Function


def ways_of(solve: Function) -> Mapping[str, Route]:
    """How `contact_solve` is computed."""
    return {"newton": _route(solve, exact=False)}


def rules_of(solve: Function) -> Mapping[str, Closed]:
    """Its derivatives: those of a step of Newton's method from the answer."""
    ways = Ways(lambda: {"newton": _route(solve, exact=True)})
    exact = replace(solve, name=f"exact_{solve.name}", ways=ways, content=f"exact {solve.name}")
    return {kind: partial(_rule, derive, exact) for kind, derive in DERIVATIVES.items()}


def _rule(derive: Callable[[Function], Function], exact: Function, calls: Any, inputs: ByName) -> ByName:
    function = derive(exact.taking(*(name for name in exact.takes if name in inputs)))
    answers = calls.call(function, *(inputs[port.name] for port in function.inputs))
    return {port.name: x for port, x in zip(function.outputs, answers, strict=True)}


def _route(solve: Function, exact: bool) -> Route:
    from condyle.derivatives.recording import Composed

    return Route(Composed(partial(_record, solve, exact)), recorded=True)


def _record(solve: Function, exact: bool, recording: Any, inputs: ByName) -> Sequence[Values]:
    """exact: with a second last step. The derivative of one step errs by about R (G + R)^-1, that of two by its square."""
    shape = algorithms.joint_rows.shape_of(recording.tree, DRY_FRICTION.name in inputs)
    parts = parts_of(solve, len(recording.tree.contacts), shape)
    extra = [name for name in solve.takes if name in inputs]
    problem, answers = parts.problem.taking(*extra), parts.answers.taking(*extra)
    p, *held = recording.call(problem, *(inputs[port.name] for port in problem.inputs))
    if p:
        fixed = [recording.equal(x) for x in held]
        p, *_ = recording.call(parts.loop, recording.equal(p), [0.0], *fixed)
        if exact:
            (p,) = recording.call(parts.last, p, *held)
        (p,) = recording.call(parts.last, p, *held)
    return recording.call(answers, *({**inputs, "p": p}[port.name] for port in answers.inputs))


@lru_cache(maxsize=64)
def parts_of(solve: Function, contacts: int, shape: Shape) -> Parts:
    """The parts of `contact_solve` with this many contacts and these rows of joints."""
    n, ends = 3 * contacts + len(shape), sum(map(sum, shape))
    sizes = ((n, n), (n,), (n,), (n,), (n,), (contacts,), (ends,))
    p, *held = (_port(name, size) for name, size in zip(("p", *HELD), ((n,), *sizes), strict=True))
    extra = _port("extra", ())
    content = f"contacts {contacts} {shape}"

    def function(name: str, inputs: Sequence[Port], outputs: Sequence[Port], run: Callable[..., Any]) -> Function:
        said, ports = f"{name}_of_{solve.name}", {"inputs": tuple(inputs), "outputs": tuple(outputs)}
        ways = Ways(lambda: {name: Route(run)})
        return replace(
            solve, name=said, method=said, **ports, ways=ways, numerics=Numerics(Size(0)), content=f"{said} {content}"
        )

    step = function("iteration", (p, extra, *held), (p, extra, _port("done", ())), partial(_iteration, shape))
    return Parts(
        function("problem", solve.inputs, (p, *held), _problem),
        iterate(step, MOST),
        function("last", (p, *held), (p,), partial(_last, shape)),
        function("answers", (*solve.inputs, p), solve.outputs, _answers),
    )


def _port(name: str, size: Sequence[int]) -> Port:
    return Port(name, tuple(map(str, size)), "mixed", "-", f"{name} of the problem")


def _frictional(tree: Unrolled) -> Frictional:
    tree, rows = algorithms.joint_rows.apart(tree)
    tree = algorithms.drives.stepping(tree)
    return algorithms.contact_friction.Frictional(tree, tree.inputs[ACTIVE.name], rows)


def _problem(tree: Unrolled) -> tuple[Values, ...]:
    way = _frictional(tree)
    rows, *vectors, joints = way.problem
    flat = [x for row in rows for x in row]
    return way.start(), flat, *vectors, algorithms.joint_rows.ends_of(joints)


def _read(shape: Shape, inputs: ByName) -> Problem:
    flat, *vectors, ends = (inputs[name] for name in HELD)
    n = len(vectors[0])
    rows = [flat[k : k + n] for k in range(0, n * n, n)]
    joints = algorithms.joint_rows.with_ends(shape, ends)
    return algorithms.contact_newton.Problem(rows, *vectors, joints)


def _iteration(shape: Shape, tree: Unrolled) -> tuple[Values, ...]:
    problem = _read(shape, tree.inputs)
    p, extra, merit = problem.iterated(tree.inputs["p"], *tree.inputs["extra"])
    return p, [extra], [select(-problem.is_near(merit), select(problem.is_near(merit), 1.0, 0.0), 1.0)]


def _last(shape: Shape, tree: Unrolled) -> tuple[Values, ...]:
    return (_read(shape, tree.inputs).ended(tree.inputs["p"]),)


def _answers(tree: Unrolled) -> tuple[Values, ...]:
    v, impulse, residual = _frictional(tree).answers(tree.inputs["p"])
    return v, impulse, [residual]
