"""`contact_solve` by a fixed number of sweeps, for `compile(sweeps=)`: no loop that depends on data.

The derivative is that of the solution, as `contact_steps` has it, at the impulses that the sweeps end with.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from condyle import algorithms
from condyle.functions.quantities import ByName, Values
from condyle.functions.repeat import repeat
from condyle.specification import Function, Numerics, Port, Route, Size, Ways
from condyle.specification.ports import ACTIVE, JOINT_IMPULSE0

if TYPE_CHECKING:
    from condyle.algorithms.contact_sweeps import Swept
    from condyle.algorithms.unrolled import Unrolled
    from condyle.model.tree import Tree
    from condyle.scalar import Scalar

STRAIGHT = 12_000
"""Products of all sweeps, up to which they are written out: above, code is longer than a processor keeps near."""
HELD = ("rows", "b", "steps", "ties", "inverses", "friction_there", "ends")
"""What sweeps do not change."""


class Plan(NamedTuple):
    """What is known before there are numbers. factored: by Y, else by G. rows: the entries of each row that are there.
    shape: of rows of joints. loops: whether sweeps are a loop."""

    factored: bool
    rows: tuple[tuple[int, ...], ...]
    contacts: int
    shape: tuple[tuple[bool, bool, bool], ...]
    loops: bool


class Sweeping(NamedTuple):
    """Functions. begin: inputs of `contact_solve` -> p, y and what is held. sweep: these -> p, y. answers: inputs and
    p -> the answers."""

    begin: Function
    sweep: Function
    answers: Function


def record(solve: Function, solution: Callable[..., Values], recording: Any, inputs: ByName) -> Sequence[Values]:
    """The answers. solution: p -> p with the derivative of the solution."""
    names = tuple(name for name in solve.takes if name in inputs)
    plan = plan_of(recording.tree, solve.taking(*names), recording.tree.sweeps)
    begin, sweep, answers = parts_of(solve, plan, recording.tree.nv)
    begin, answers = begin.taking(*names), answers.taking(*names)
    answered = recording.call(begin, *(inputs[port.name] for port in begin.inputs))
    p = answered[0]
    if p:
        frozen, carried = [recording.equal(x) for x in answered], len(sweep.outputs)
        held, times = frozen[carried:], 1 if plan.loops else recording.tree.sweeps
        sweep = repeat(sweep, recording.tree.sweeps, last=True) if plan.loops else sweep
        for _ in range(times):
            frozen = recording.call(sweep, *frozen[:carried], *held)
        p = solution(recording.equal(frozen[0]))
    return answers_of(recording, answers, {**inputs, "p": p})


@lru_cache(maxsize=64)
def plan_of(tree: Tree, solve: Function, sweeps: int, factored: bool | None = None) -> Plan:
    """The shorter way for this many sweeps, by products, or the one that is named."""
    from condyle.ir.expr import Graph
    from condyle.trace.straight import arrays

    graph, inputs = Graph(), dict[str, list[Any]]()
    for k, array in enumerate(arrays(tree, solve.inputs)):
        inputs[array.name] = [graph.input(k, entry) for entry in range(array.size)]
    way = _swept_of(True, algorithms.unrolled.Unrolled(tree, inputs))
    Y = [sorted(row) for row in way.Y]
    shared = [[len({*one} & {*other}) for other in Y] for one in Y]
    dense = sum(map(bool, (x for row in shared for x in row)))
    building = sum(x for i, row in enumerate(shared) for x in row[:i])
    by_factors, by_G = 2 * sweeps * sum(map(len, Y)), sweeps * dense + building
    factored = by_factors < by_G if factored is None else factored
    rows = Y if factored else [[j for j, x in enumerate(row) if x] for row in shared]
    shape, contacts = algorithms.contact_newton.shape(way.joints), len(tree.contacts)
    return Plan(factored, tuple(map(tuple, rows)), contacts, shape, (by_factors if factored else by_G) > STRAIGHT)


@lru_cache(maxsize=64)
def parts_of(solve: Function, plan: Plan, nv: int) -> Sweeping:
    """The parts of `contact_solve` by this plan."""
    n, ends = len(plan.rows), sum(map(sum, plan.shape))
    entries = sum(map(len, plan.rows))
    sizes = entries, n, n, 2 * plan.contacts, 6 * plan.contacts, plan.contacts, ends
    p, y, *held = (port_of(*pair) for pair in zip(("p", "y", *HELD), (n, nv, *sizes), strict=True))
    carried, function = (p, y) if plan.factored else (p,), partial(part_of, solve, str(plan))
    return Sweeping(
        function("begin", solve.inputs, (*carried, *held), partial(_begin, plan)),
        function("sweep", (*carried, *held), carried, partial(_sweep, plan)),
        answering(function("swept", (*solve.inputs, p), solve.outputs, partial(_answers, plan)), solve),
    )


def port_of(name: str, *size: int) -> Port:
    """Numbers that only parts of `contact_solve` hand on."""
    return Port(name, tuple(map(str, size)), "mixed", "-", f"{name} of the problem")


def part_of(
    solve: Function, content: str, name: str, inputs: Sequence[Port], outputs: Sequence[Port], run: Any
) -> Function:
    """A part of `contact_solve`. run: an algorithm, or a route."""
    said, route = f"{name}_of_{solve.name}", run if isinstance(run, Route) else Route(run)
    described: dict[str, Any] = {"name": said, "method": said, "inputs": tuple(inputs), "outputs": tuple(outputs)}
    ways = Ways(lambda: {name: route})
    return replace(
        solve, **described, outputs_with={}, ways=ways, numerics=Numerics(Size(0)), content=f"{said} {content}"
    )


def answering(part: Function, solve: Function) -> Function:
    """The part whose answers are those of `contact_solve`, also where it takes more."""
    return replace(part, outputs_with=solve.outputs_with)


def answers_of(recording: Any, answers: Function, inputs: ByName) -> Sequence[Values]:
    """The answers of this part, the residual as one without a slope: it is 0 at a solution, its curvature rounding."""
    v, impulse, residual, *more = recording.call(answers, *(inputs[port.name] for port in answers.inputs))
    return v, impulse, recording.equal(residual), *more


def answered(tree: Unrolled, answers: tuple[Values, Values, Scalar, Values]) -> tuple[Values, ...]:
    """Flat, the impulses of joints where their start is an input."""
    v, impulse, residual, joints = answers
    return v, impulse, [residual], *([joints] if JOINT_IMPULSE0.name in tree.inputs else [])


def _swept_of(factored: bool, tree: Unrolled) -> Swept:
    """The problem of a step."""
    tree, rows = algorithms.contact_newton.apart(tree)
    tree = algorithms.drives.stepping(tree)
    sweeps = algorithms.contact_sweeps
    return (sweeps.Rooted if factored else sweeps.Swept)(tree, tree.inputs[ACTIVE.name], rows)


def _begin(plan: Plan, tree: Unrolled) -> tuple[Values, ...]:
    from condyle.scalar import number

    way = _swept_of(plan.factored, tree)
    p, sweep = way.start(), way.sweep()
    rows, *vectors, joints = sweep
    flat = [row[k] for row, columns in zip(rows, plan.rows, strict=True) for k in columns]
    held = flat, *vectors, algorithms.contact_newton.ends_of(joints)
    pushed = way.pushed(p) if plan.factored else {}
    y: Values = [pushed.get(k, number(0.0)) for k in range(tree.nv)] if plan.factored else []
    if JOINT_IMPULSE0.name not in tree.inputs:
        p, y = sweep.joints_swept(p, y)
    return (p, y, *held) if plan.factored else (p, *held)


def _sweep(plan: Plan, tree: Unrolled) -> tuple[Values, ...]:
    flat, b, steps, ties, inverses, friction, ends = (tree.inputs[name] for name in HELD)
    entries = iter(flat)
    rows = [{k: next(entries) for k in columns} for columns in plan.rows]
    joints = algorithms.contact_newton.with_ends(plan.shape, ends)
    sweep = algorithms.contact_sweeps.Sweep(rows, b, steps, ties, inverses, friction, joints)
    p, y = sweep.swept(tree.inputs["p"], tree.inputs.get("y", ()))
    return (p, y) if plan.factored else (p,)


def _answers(plan: Plan, tree: Unrolled) -> tuple[Values, ...]:
    return answered(tree, _swept_of(plan.factored, tree).answers_without_gain(tree.inputs["p"]))
