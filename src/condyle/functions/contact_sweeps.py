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
from condyle.ir.expr import Graph
from condyle.model.tree import Tree
from condyle.specification import Function, Numerics, Port, Route, Size, Ways
from condyle.specification.ports import ACTIVE
from condyle.trace.straight import arrays

if TYPE_CHECKING:
    from condyle.algorithms.contact_sweeps import Sweep, Swept
    from condyle.algorithms.unrolled import Unrolled

STRAIGHT = 12_000
"""Products of all sweeps, up to which they are written out: above, code is longer than a processor keeps near."""
HELD = ("rows", "b", "steps", "ties", "friction_there", "ends")
"""What sweeps do not change."""


class Plan(NamedTuple):
    """What is known before there are numbers. factored: see `algorithms.contact_sweeps`. rows: the entries of each row
    that are there. shape: of rows of joints."""

    factored: bool
    rows: tuple[tuple[int, ...], ...]
    contacts: int
    shape: tuple[tuple[bool, bool, bool], ...]
    loops: bool


class Sweeping(NamedTuple):
    """Functions. begin: inputs of `contact_solve` -> p, state and what is held. sweep: these -> p, state. answers:
    inputs and p -> the answers."""

    begin: Function
    sweep: Function
    answers: Function


def record(solve: Function, solution: Callable[..., Values], recording: Any, inputs: ByName) -> Sequence[Values]:
    """The answers. solution: p -> p with the derivative of the solution."""
    names = tuple(name for name in solve.takes if name in inputs)
    plan = plan_of(recording.tree, solve.taking(*names), recording.tree.sweeps)
    begin, sweep, answers = parts_of(solve, plan, recording.tree.nv)
    begin, answers = begin.taking(*names), answers.taking(*names)
    p, state, *held = recording.call(begin, *(inputs[port.name] for port in begin.inputs))
    if p:
        p, state = recording.equal(p), recording.equal(state)
        held = [recording.equal(x) for x in held]
        if plan.loops:
            p, *_ = recording.call(repeat(sweep, recording.tree.sweeps, last=True), p, state, *held)
        else:
            for _ in range(recording.tree.sweeps):
                p, state = recording.call(sweep, p, state, *held)
        p = solution(recording.equal(p))
    v, impulse, residual = recording.call(answers, *({**inputs, "p": p}[port.name] for port in answers.inputs))
    return v, impulse, recording.equal(residual)


@lru_cache(maxsize=64)
def plan_of(tree: Tree, solve: Function, sweeps: int) -> Plan:
    """The shorter way for this many sweeps, by products."""
    graph, inputs = Graph(), {}
    for k, array in enumerate(arrays(tree, solve.inputs)):
        inputs[array.name] = [graph.input(k, entry) for entry in range(array.size)]
    way = swept_of(algorithms.unrolled.Unrolled(tree, inputs))
    Y = [sorted(row) for row in way.Y]
    shared = [[len({*one} & {*other}) for other in Y] for one in Y]
    dense = sum(map(bool, (x for row in shared for x in row)))
    building = sum(x for i, row in enumerate(shared) for x in row[:i])
    by_factors, by_G = 2 * sweeps * sum(map(len, Y)), sweeps * dense + building
    factored = by_factors < by_G
    rows = Y if factored else [[j for j, x in enumerate(row) if x] for row in shared]
    shape = (
        algorithms.joint_rows.shape_of(tree, False)
        if not way.joints
        else tuple((x is not None, y is not None, z is not None) for _, x, y, z in way.joints)
    )
    contacts = len(tree.contacts)
    return Plan(factored, tuple(map(tuple, rows)), contacts, shape, min(by_factors, by_G) > STRAIGHT)


@lru_cache(maxsize=64)
def parts_of(solve: Function, plan: Plan, nv: int) -> Sweeping:
    """The parts of `contact_solve` by this plan."""
    n, ends = len(plan.rows), sum(map(sum, plan.shape))
    entries = sum(map(len, plan.rows))
    sizes = entries, n if plan.factored else 0, n, 2 * plan.contacts, plan.contacts, ends
    p, state, *held = map(_port, ("p", "state", *HELD), (n, nv if plan.factored else n, *sizes))

    def function(name: str, inputs: Sequence[Port], outputs: Sequence[Port], run: Callable[..., Any]) -> Function:
        said = f"{name}_of_{solve.name}"
        described = {"name": said, "method": said, "inputs": tuple(inputs), "outputs": tuple(outputs)}
        ways, content = Ways(lambda: {name: Route(run)}), f"{said} {plan}"
        return replace(solve, **described, ways=ways, numerics=Numerics(Size(0)), content=content)

    return Sweeping(
        function("begin", solve.inputs, (p, state, *held), partial(_begin, plan)),
        function("sweep", (p, state, *held), (p, state), partial(_sweep, plan)),
        function("swept", (*solve.inputs, p), solve.outputs, _answers),
    )


def _port(name: str, size: int) -> Port:
    return Port(name, (str(size),), "mixed", "-", f"{name} of the sweeps")


def swept_of(tree: Unrolled) -> Swept:
    """The problem of a step."""
    tree, rows = algorithms.joint_rows.apart(tree)
    tree = algorithms.drives.stepping(tree)
    return algorithms.contact_sweeps.Swept(tree, tree.inputs[ACTIVE.name], rows)


def _begin(plan: Plan, tree: Unrolled) -> tuple[Values, ...]:
    way = swept_of(tree)
    p, sweep = way.start(), way.sweep(plan.factored)
    flat = [row[k] for row, places in zip(sweep.rows, plan.rows, strict=True) for k in places]
    ends = algorithms.joint_rows.ends_of(sweep.joints)
    return p, way.state(p, plan.factored), flat, sweep.b, sweep.steps, sweep.ties, sweep.friction, ends


def _sweep(plan: Plan, tree: Unrolled) -> tuple[Values, ...]:
    flat, *vectors, ends = (tree.inputs[name] for name in HELD)
    numbers = iter(flat)
    rows = [{k: next(numbers) for k in places} for places in plan.rows]
    sweep: Sweep = algorithms.contact_sweeps.Sweep(rows, *vectors, algorithms.joint_rows.with_ends(plan.shape, ends))
    return sweep.swept(tree.inputs["p"], tree.inputs["state"])


def _answers(tree: Unrolled) -> tuple[Values, ...]:
    v, impulse, residual = swept_of(tree).answers_without_gain(tree.inputs["p"])
    return v, impulse, [residual]
