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
from condyle.derivatives import jvp, vjp
from condyle.functions import contact_sweeps
from condyle.functions.quantities import ByName, Values
from condyle.functions.repeat import iterate
from condyle.specification import Function, Route
from condyle.specification.ports import ACTIVE, DRY_FRICTION, IMPULSE0, JOINT_IMPULSE, JOINT_IMPULSE0

if TYPE_CHECKING:
    from condyle.algorithms.contact_friction import Frictional
    from condyle.algorithms.contact_newton import Problem
    from condyle.algorithms.unrolled import Unrolled

MOST, STRAIGHT = 20, 5
"""Iterations; and how many there are in straight code."""
WITH_STARTS = {JOINT_IMPULSE0.name: JOINT_IMPULSE}
"""What is answered behind the residual where rows of joints have a start."""
Read = Callable[[ByName], "Problem"]
Shape = tuple[tuple[bool, bool, bool], ...]
"""Of rows of joints: see `algorithms.contact_newton.shape_of`."""
HELD = ("G", "b", "steps", "rates", "damping", "friction_there", "ends")
"""What the iterations do not change."""


class Parts(NamedTuple):
    """Functions. problem: inputs of `contact_solve` -> p and what is held. loop, last: these -> p. solution: these -> p
    again, with the derivative of the solution. answers: inputs and p -> the answers."""

    problem: Function
    loop: Function
    last: Function
    solution: Function
    answers: Function


def ways_of(solve: Function) -> Mapping[str, Route]:
    """How `contact_solve` is computed."""
    return {"newton": _composed(partial(_record, solve))}


def _composed(record: Callable[..., Any]) -> Route:
    from condyle.derivatives.composed import Composed

    return Route(Composed(record), recorded=True)


def _same(_: Any, inputs: ByName) -> Sequence[Values]:
    return [inputs["p"]]


def _record(solve: Function, recording: Any, inputs: ByName) -> Sequence[Values]:
    shape = algorithms.contact_newton.shape_of(recording.tree, DRY_FRICTION.name in inputs)
    contacts = len(recording.tree.contacts)
    parts = parts_of(solve, contacts, shape)
    extra = [name for name in solve.takes if name in inputs]
    problem, answers = parts.problem.taking(*extra), parts.answers.taking(*extra)
    if recording.tree.sweeps is not None:

        def solution(p: Values) -> Values:
            known = {IMPULSE0.name: [0.0] * (3 * contacts), **inputs}  # where iterations begin does not matter
            begun = parts.problem.taking(*extra, IMPULSE0.name)
            held = recording.call(begun, *(known[port.name] for port in begun.inputs))[1:]
            return recording.call(parts.solution, p, *held)[0]

        return contact_sweeps.record(solve, solution, recording, inputs)
    p, *held = recording.call(problem, *(inputs[port.name] for port in problem.inputs))
    if p:
        fixed = [recording.equal(x) for x in held]
        p, *_ = recording.call(parts.loop, recording.equal(p), [0.0], *fixed)
        (p,) = recording.call(parts.last, p, *fixed)
        (p,) = recording.call(parts.solution, recording.equal(p), *held)
    return contact_sweeps.answers_of(recording, answers, {**inputs, "p": p})


@lru_cache(maxsize=64)
def parts_of(solve: Function, contacts: int, shape: Shape) -> Parts:
    """The parts of `contact_solve` with this many contacts and these rows of joints."""
    n, ends = 3 * contacts + len(shape), sum(map(sum, shape))
    sizes = ((n, n), (n,), (n,), (n,), (n,), (contacts,), (ends,))
    names, port = ("p", "extra", "right", *HELD), contact_sweeps.port_of
    p, extra, right, *held = (port(name, *size) for name, size in zip(names, ((n,), (), (n,), *sizes), strict=True))
    solution = replace(p, name="solution")

    read, function = partial(_read, shape), partial(contact_sweeps.part_of, solve, f"{contacts} {shape}")
    step = function("iteration", (p, extra, *held), (p, extra, port("done")), partial(_iteration, read))
    misses = function("misses", (p, *held), (right,), partial(_misses, read))
    solves = [
        function(name, (p, *held, right), (solution,), partial(_solved, read, name))
        for name in ("derivative", "transposed")
    ]
    same = function("solution", (p, *held), (solution,), _composed(_same))

    def rules() -> dict[str, Any]:
        kinds = zip(("jvp", "vjp"), (_jvp, _vjp), solves, strict=True)
        return {kind: partial(rule, solved, misses, solving) for kind, rule, solving in kinds}

    solved = replace(same, ways=same.ways._replace(closed=rules))
    return Parts(
        function("problem", solve.inputs, (p, *held), _problem),
        iterate(step, MOST, straight=STRAIGHT),
        function("last", (p, *held), (p,), partial(_last, read)),
        solved,
        contact_sweeps.answering(function("answers", (*solve.inputs, p), solve.outputs, _answers), solve),
    )


def _frictional(tree: Unrolled) -> Frictional:
    tree, rows = algorithms.contact_newton.apart(tree)
    tree = algorithms.drives.stepping(tree)
    return algorithms.contact_friction.Frictional(tree, tree.inputs[ACTIVE.name], rows)


def _problem(tree: Unrolled) -> tuple[Values, ...]:
    way = _frictional(tree)
    rows, *vectors, joints = way.problem
    flat = [x for row in rows for x in row]
    return way.start(), flat, *vectors, algorithms.contact_newton.ends_of(joints)


def _read(shape: Shape, inputs: ByName) -> Problem:
    flat, *vectors, ends = (inputs[name] for name in HELD)
    n = len(vectors[0])
    rows = [flat[k : k + n] for k in range(0, n * n, n)]
    joints = algorithms.contact_newton.with_ends(shape, ends)
    return algorithms.contact_newton.Problem._make((rows, *vectors, joints))


def _iteration(read: Read, tree: Unrolled) -> tuple[Values, ...]:
    from condyle.scalar import select

    problem = read(tree.inputs)
    p, extra, merit = problem.iterated(tree.inputs["p"], *tree.inputs["extra"])
    near = problem.is_near(merit)
    return p, [extra], [select(-near, select(near, 1.0, 0.0), 1.0)]  # what is no number is done


def _last(read: Read, tree: Unrolled) -> tuple[Values, ...]:
    return (read(tree.inputs).ended(tree.inputs["p"]),)


def _misses(read: Read, tree: Unrolled) -> tuple[Values, ...]:
    problem, p = read(tree.inputs), tree.inputs["p"]
    return (problem.misses(p, problem.velocity(p)),)


def _solved(read: Read, kind: str, tree: Unrolled) -> tuple[Values, ...]:
    problem, p = read(tree.inputs), tree.inputs["p"]
    return (getattr(problem.linearised(p, problem.velocity(p)), kind)(tree.inputs["right"]),)


def _jvp(solution: Function, misses: Function, solves: Function, calls: Any, inputs: ByName) -> ByName:
    p, held = _at_solution(solution, calls, inputs)
    (changes,) = calls.call(jvp(misses), p, *held, [0.0] * len(p), *(inputs[f"d{name}"] for name in HELD))
    return {"dsolution": calls.call(solves, p, *held, [-x for x in changes])[0]}


def _vjp(solution: Function, misses: Function, solves: Function, calls: Any, inputs: ByName) -> ByName:
    p, held = _at_solution(solution, calls, inputs)
    (pulled,) = calls.call(solves, p, *held, inputs["solution_bar"])
    _, *bars = calls.call(vjp(misses), p, *held, [-x for x in pulled])
    return {"p_bar": [0.0] * len(p), **{f"{name}_bar": x for name, x in zip(HELD, bars, strict=True)}}


def _at_solution(solution: Function, calls: Any, inputs: ByName) -> tuple[Values, list[Values]]:
    """p as what it is, so that a rule that is differentiated again knows how it moves; what is held."""
    held = [inputs[name] for name in HELD]
    return calls.call(solution, inputs["p"], *held)[0], held


def _answers(tree: Unrolled) -> tuple[Values, ...]:
    return contact_sweeps.answered(tree, _frictional(tree).answers(tree.inputs["p"]))
