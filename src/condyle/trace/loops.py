"""The loops of a function: those over joints, recorded from sweeps, and the loop over time of a rollout."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.matrix import flat, numbers
from condyle.algorithms.normal_form import normal_form
from condyle.algorithms.sweeps import Field
from condyle.errors import UnsupportedError
from condyle.ir.expr import Expr
from condyle.ir.loops import COUNT, Code, Give, Kind, Repeated, Rolled, Take, TimeLoop, verify_repeated
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.model.tree import Tree
from condyle.operations import TRIGONOMETRIC
from condyle.scalar import Scalar
from condyle.specification import Function, Port, Repeat
from condyle.trace.recorded_steps import MatrixHandle
from condyle.trace.recorded_sweeps import Rolling
from condyle.trace.straight import arrays


def rolled_route(function: Function) -> str:
    """The route that loops are recorded from; UnsupportedError for a function without one."""
    for name, route in function.routes.items():
        if route.loops:
            return name
    raise UnsupportedError(f"{function} has no form of loops over joints, which robots as long as this need")


def roll(tree: Tree, function: Function) -> Rolled:
    """The loops of one function; UnsupportedError for robots with mimic joints, and for forces in the world's axes."""
    if function.has_forces and tree.has_world_forces:
        raise UnsupportedError(
            f"{function}: loops over joints, which robots as long as this need, take external forces in their bodies' "
            "axes; compile with force_frame='local', and robot.f_ext(..., frame='local_world_aligned', q=q) turns them"
        )
    rolling = Rolling(normal_form(tree, function.normal_form), function.has_forces)
    answers = function.routes[rolled_route(function)].run(rolling)
    results: dict[str, str] = {}
    for port, answer in zip(function.outputs, answers, strict=True):
        if isinstance(answer, MatrixHandle):
            results[port.name] = answer.name
        else:
            rolling.output(port.name, cast("Field[Sequence[Scalar]]", answer))
    loops = rolling.loops()
    return Rolled(
        function.name,
        arrays(tree, function.inputs),
        arrays(tree, function.outputs),
        tuple(Kind(kind.type.name, kind.type.nq, kind.type.nv) for kind in rolling.kinds),
        rolling.joints,
        rolling.buffers,
        tuple(rolling.matrices),
        results,
        loops,
        tree.nv,
    )


# Isomorphic subtrees: branches of one link with the same joints, whose constants may differ.


class BranchIndex(NamedTuple):
    """A position in isomorphic branches: the class of branches, the branch of that class, the position in it."""

    kind: int
    branch: int
    position: int


class Branches(NamedTuple):
    """Positions in isomorphic branches: {joint: position} and {(array, entry) of q, v, a or f_ext: position}."""

    joints: dict[int, BranchIndex]
    inputs: dict[tuple[str, int], BranchIndex]


def branches_of(tree: Tree) -> Branches:
    """The outermost isomorphic branches of each link; none where joints share coordinates."""
    found = Branches({}, {})
    kinds = [] if tree.has_shared_coordinates else _alike(tree)
    for kind, branches in enumerate(kinds):
        for branch, joints in enumerate(branches):
            _number(tree, found, BranchIndex(kind, branch, 0), joints)
    return found


def _alike(tree: Tree) -> list[list[list[int]]]:
    children: dict[int, list[int]] = defaultdict(list)
    for i, link in enumerate(tree.links):
        children[link.parent].append(i)

    def branch(i: int) -> list[int]:
        return [i, *(k for child in children[i] for k in branch(child))]

    def shape(i: int) -> tuple[object, ...]:
        link = tree.links[i]
        return (link.kind.name, link.body >= 0, tuple(shape(child) for child in children[i]))

    result: list[list[list[int]]] = []
    forks = [-1]
    while forks:
        shapes: dict[tuple[object, ...], list[int]] = defaultdict(list)
        for child in children[forks.pop()]:
            shapes[shape(child)].append(child)
        for alike in shapes.values():
            if len(alike) > 1:
                result.append([branch(i) for i in alike])
            else:
                forks += alike
    return result


def _number(tree: Tree, branches: Branches, place: BranchIndex, joints: list[int]) -> None:
    counts: dict[str, int] = defaultdict(int)

    def add(name: str, entry: int) -> None:
        branches.inputs[name, entry] = place._replace(position=counts[name])
        counts[name] += 1

    for position, i in enumerate(joints):
        branches.joints[i] = place._replace(position=position)
        link = tree.links[i]
        for coordinate in link.q:
            add("q", coordinate.entry)
        for coordinate in link.v:
            add("v", coordinate.entry)
            add("a", coordinate.entry)
        for k in range(6 if link.body >= 0 else 0):
            add("f_ext", 6 * link.body + k)


# Upper bounds of the norms of vectors that depend on inputs only, and the bounds recorded for nodes.


Pair: TypeAlias = tuple[float, float]
"""Bounds of the norms of a linear and an angular part, or of a force and a torque."""


class Moving(NamedTuple):
    """Bounds of the norms of a body's w, dw, a, u, and of U as a matrix."""

    w: float
    dw: float
    a: float
    u: float
    U: float


class Mass(NamedTuple):
    """Bounds of the norms of a composite's mass, first and second moment, and rotational inertia."""

    mass: float
    first: float
    second: float
    turn: float


class Load(NamedTuple):
    """Bounds of the norms of the parts of `rnea_derivatives.Carried`."""

    inertia: Pair
    coriolis: float
    by_q: Pair
    by_v: Pair


class Lengths:
    """Bounds in a program. edges: of its inputs, by name and entry. upper: the recorded bounds, {node: bound}."""

    def __init__(self, program: Program, edges: Mapping[tuple[str, int], float]) -> None:
        self.program, self.edges = program, edges
        self.upper: dict[int, float] = {}

    def bound(self, bound: float, value: object) -> None:
        """Records a bound for all scalars of a value, and for the operand where a scalar is a negation."""
        for x in flat(value):
            node = x.index if isinstance(x, Expr) else -1
            while node >= 0:
                self.upper[node] = min(bound, self.upper.get(node, math.inf))
                negated = self.program.nodes[node][0] == "neg"
                (node,) = operands(self.program.nodes[node]) if negated else (-1,)

    def bound_pair(self, bound: Pair, value: Sequence[object]) -> None:
        for one, part in zip(bound, value, strict=True):
            self.bound(one, part)

    def size(self, x: object) -> float:
        """The bound of a scalar that depends on inputs only."""
        return self._size(x.index) if isinstance(x, Expr) else abs(cast(float, x))

    def _size(self, k: int) -> float:
        node = self.program.nodes[k]
        if node[0] == "input":
            array, entry = input_of(node)
            return self.edges.get((self.program.inputs[array].name, entry), math.inf)
        if node[0] == "const":
            return abs(constant_of(node))
        if node[0] in TRIGONOMETRIC:
            return 1.0
        parts = [self._size(a) for a in operands(node)]
        if node[0] in ("neg", "add", "sub"):
            return sum(parts)
        return math.prod(parts) if node[0] == "mul" else math.inf

    def length(self, vector: Sequence[object]) -> float:
        return math.hypot(*(self.size(x) for x in vector))

    def rate(self, joint: Joint, x: Sequence[object]) -> Pair:
        """|S x|, linear and angular."""
        sizes = [self.size(one) for one in x]

        def norm(parts: Sequence[Sequence[object]]) -> float:
            rows = [[rate * self.size(p) for p in part] for rate, part in zip(sizes, parts, strict=True)]
            return math.hypot(*(sum(row) for row in zip(*rows, strict=True)))

        return norm([dof.linear for dof in joint.dofs]), norm([dof.angular for dof in joint.dofs])

    def along(self, dof: Dof, force: Pair) -> float:
        return self.length(dof.angular) * force[1] + self.length(dof.linear) * force[0]


def second_moments(inertia: Inertia) -> list[float]:
    """Eigenvalues of the second moment, ascending."""
    xx, xy, xz, yy, yz, zz = numbers(inertia.second)
    return np.linalg.eigvalsh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])).tolist()


def turning_moments(inertia: Inertia) -> list[float]:
    """Eigenvalues of the rotational inertia tr(second) 1 - second, ascending."""
    found = second_moments(inertia)
    return sorted(sum(found) - x for x in found)


# Rollouts as code: the time loop of a function's specification, and that of its vjp.


def time_loop(repeat: Repeat) -> TimeLoop:
    """The time loop of a rollout (that of its vjp: `tape`)."""
    base = repeat.function
    outputs = [port.name for port in base.outputs]
    takes = [
        Take(outputs.index(port.name)) if port.name in repeat.carried else Take(every=int(port.name in repeat.by_time))
        for port in base.inputs
    ]
    gives = [Give(k, summed=True) if name in repeat.summed else Give(k, repeat.every) for k, name in enumerate(outputs)]
    if not repeat.until:
        return TimeLoop(repeat.steps, tuple(takes), tuple(gives))
    until = outputs.index(repeat.until)
    return TimeLoop(repeat.steps, tuple(takes), (*gives, Give(COUNT)), until=until, together=repeat.together)


def repeated(tree: Tree, function: Function, body: Code) -> Repeated:
    """A rollout as code. body: the code of the function that is repeated."""
    assert function.repeat is not None and not function.repeat.backwards
    inputs, outputs = arrays(tree, function.inputs), arrays(tree, function.named_outputs)
    return verify_repeated(Repeated(function.name, body, time_loop(function.repeat), inputs, outputs))


class Tape(NamedTuple):
    """The vjp of a rollout as two loops: forward over the function that is repeated, which stores the states, then
    backward over its vjp.

    forward: one step less than the rollout; None for a rollout of one step. Its outputs are the carried values after
    every step. With those given at the start, they are the states before each step: inputs of the backward loop with a
    time axis. The backward loop's other inputs are those of the rollout, then the cotangents.
    """

    forward: TimeLoop | None
    backward: TimeLoop


def tape(repeat: Repeat) -> Tape:
    """The loops of a rollout's vjp."""
    base = repeat.function
    inputs, outputs = [port.name for port in base.inputs], [port.name for port in base.outputs]
    plain = time_loop(repeat)
    forward = TimeLoop(repeat.steps - 1, plain.takes, tuple(Give(outputs.index(name), 1) for name in repeat.carried))
    takes = [Take(every=int(name in (*repeat.carried, *repeat.by_time))) for name in inputs]
    for name in outputs:
        carried = inputs.index(name) if name in repeat.carried else -1
        every = repeat.every or repeat.steps
        takes.append(Take(carried, 0 if name in repeat.summed else every))
    gives = [
        Give(k) if name in repeat.carried else Give(k, 1) if name in repeat.by_time else Give(k, summed=True)
        for k, name in enumerate(inputs)
    ]
    backward = TimeLoop(repeat.steps, tuple(takes), tuple(gives), backwards=True)
    return Tape(forward if repeat.steps > 1 else None, backward)


def sizes_of(tree: Tree, ports: Sequence[Port]) -> list[int]:
    """Entries of ports."""
    return [array.size for array in arrays(tree, ports)]
