"""Several functions in one graph, each node marked with its pipeline stage, for hardware: each step is a circuit
there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.joint import Joint
from condyle.algorithms.ltl import Factors, held
from condyle.algorithms.matrix import SparseMatrix, numbers
from condyle.algorithms.sweeps import Entry, Field, PairStep
from condyle.algorithms.unrolled import Unrolled
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Note, Program
from condyle.model.tree import Tree
from condyle.operations import Node
from condyle.scalar import Scalar, number
from condyle.specification import F_EXT, Function
from condyle.trace.loops import second_moments
from condyle.trace.reference import Output
from condyle.trace.straight import arrays, entries, leaves

T = TypeVar("T")
U = TypeVar("U")
FLOATS = "floats"
"""The input that is 1 where the base moves freely, 0 where its motion is given."""


class StepCall(NamedTuple):
    """A call of a step at joint `number`: its arguments and its result, with nodes of the graph as scalars."""

    step: Callable[..., object]
    number: int
    joint: Joint
    arguments: tuple[object, ...]
    result: object


@dataclass(frozen=True)
class Staged:
    """A Program whose notes have the stage of each node: a letter, "f" (forward) or "b" (backward), the joint's number.

    Nodes that belong to no single joint (a factorisation, a sum over joints) have the letter only. steps: all calls of
    steps, in order. pivots: {node that is a reciprocal 1 / D_k of M = Lᵀ D L: k}.
    """

    program: Program
    steps: tuple[StepCall, ...]
    pivots: Mapping[int, int]


class _Graph(Graph):
    """A graph that records the current stage with each new node."""

    def __init__(self) -> None:
        super().__init__()
        self.letter = ""
        self.place = ""
        self.stages: list[str] = []
        self.steps: list[StepCall] = []

    def node(self, key: Node) -> Expr:
        found = super().node(key)
        if len(self.nodes) > len(self.stages):
            self.stages.append(self.letter + self.place)
        return found


class _Stages(Unrolled):
    """Sweeps that tell the graph which joint they are at."""

    def __init__(self, tree: Tree, inputs: Mapping[str, Sequence[Scalar]], graph: _Graph, base: int) -> None:
        super().__init__(tree, inputs)
        self._graph, self._base = graph, base
        self.pivots: dict[int, int] = {}
        self._index = {id(joint): i for i, joint in enumerate(self.joints)}

    def factors(self, mass: SparseMatrix) -> Factors:
        found = super().factors(mass)
        self.pivots |= {d.index: k for k, d in enumerate(found.inverse_D) if isinstance(d, Expr)}
        return held(found, self.inputs[FLOATS][0], self._base) if self._base else found

    def _recorded(self, direction: str, step: Callable[..., T]) -> Callable[..., T]:
        def staged(joint: Joint, *arguments: object) -> T:
            at = self._index[id(joint)]
            self._graph.place = f"{direction}{at}"
            result = step(joint, *arguments)
            self._graph.steps.append(StepCall(step, at, joint, arguments, result))
            return result

        return staged

    def _left(self, result: T) -> T:
        self._graph.place = ""
        return result

    def each(self, step: Callable[..., T], *fields: Field[object]) -> Field[T]:
        return self._left(super().each(self._recorded("f", step), *fields))

    def forward(self, step: Callable[..., T], world: T, *fields: Field[object]) -> Field[T]:
        return self._left(super().forward(self._recorded("f", step), world, *fields))

    def outward(self, step: Callable[..., tuple[U, T]], world: T, *fields: Field[object]) -> Field[U]:
        return self._left(super().outward(self._recorded("f", step), world, *fields))

    def backward(self, step: Callable[..., tuple[U, T]], values: Field[T], *fields: Field[object]) -> Field[U]:
        return self._left(super().backward(self._recorded("b", step), values, *fields))

    def pairs(
        self,
        start: Callable[..., T],
        meet: PairStep,
        rise: Callable[[Joint, T], T],
        entries: Sequence[Entry],
        *fields: Field[object],
        diagonal: PairStep | None = None,
    ) -> Sequence[SparseMatrix]:
        staged = (self._recorded("b", start), self._recorded("b", meet), self._recorded("b", rise))
        at_start = None if diagonal is None else self._recorded("b", diagonal)
        return self._left(super().pairs(*staged, entries, *fields, diagonal=at_start))


def trace_staged(tree: Tree, routes: Sequence[tuple[str, Function, str]], base: int = 0) -> Staged:
    """One Program with the outputs of all (letter, function, route), in order, and the inputs of all of them.

    External forces, where a function takes them, are after the other inputs. base: the number of first coordinates
    whose motion may be given. If it is not 0, FLOATS is the last input; where that is 0, M^-1 has zeros for these
    coordinates, and for the others the inverse of their own mass matrix.
    """
    ports = {port.name: port for _, function, _ in routes for port in function.inputs}
    if F_EXT.name in ports:
        ports[F_EXT.name] = ports.pop(F_EXT.name)
    inputs = (*arrays(tree, ports.values()), *((Array(FLOATS, (1,)),) if base else ()))
    graph = _Graph()
    given = leaves(graph, inputs)
    swept = _Stages(tree, given, graph, base)
    outputs: list[Array] = []
    values: list[tuple[int, int, Expr | float]] = []
    for letter, function, route in routes:
        graph.letter = letter
        found = entries(cast("tuple[Output, ...]", function.routes[route].run(swept)))
        values += [(array + len(outputs), index, value) for array, index, value in found]
        outputs += arrays(tree, function.outputs)
    graph.letter = ""
    program = graph.program("staged", inputs, outputs, values)
    stages = graph.stages + [""] * (len(program) - len(graph.stages))
    return Staged(replace(program, notes=tuple(map(Note, stages))), tuple(graph.steps), swept.pivots)


# Lower bounds of the pivots D of M = Lᵀ D L, for all configurations.
#
# D_k is the articulated inertia along coordinate k: twice the least kinetic energy at unit rate of k, with earlier
# coordinates at rest and later ones free. The energy of the joint's own link is a part of it, and no part is negative.
# So D_k is at least the same minimum of the own link alone: 1 over the first entry of A⁻¹, with A = Sᵀ I S + armature
# over coordinate k and those after it in its joint.


Reals = NDArray[np.float64]
NEGATIVE = -1e-12
"""An inertia counts as positive semidefinite if its eigenvalues are above this fraction of its largest entry."""


def pivot_bounds(tree: Tree) -> list[float]:
    """A lower bound for every entry of D; 0 where there is none.

    There is none for trees with shared coordinates, and for joints that carry a link whose inertia is not positive
    semidefinite.
    """
    found = [0.0] * tree.nv
    if tree.has_shared_coordinates:
        return found
    joints = Unrolled(tree, {"q": [number(0.0)] * tree.nq}).joints
    inertias = [_spatial(joint) for joint in joints]
    sound = [bool(np.linalg.eigvalsh(one)[0] >= NEGATIVE * np.abs(one).max()) for one in inertias]
    for i, link in reversed(list(enumerate(tree.links))):
        if link.parent >= 0:
            sound[link.parent] &= sound[i]
    for link, joint, inertia, good in zip(tree.links, joints, inertias, sound, strict=True):
        columns: Reals = np.array([numbers(dof.column) for dof in joint.dofs])
        rotors = np.eye(len(columns)) * numbers(tuple(dof.armature for dof in joint.dofs))
        own: Reals = columns @ inertia @ np.transpose(columns) + rotors
        for k, coordinate in enumerate(link.v if good else ()):
            found[coordinate.entry] = _least(own[k:, k:])
    return found


def _least(energy: Reals) -> float:
    """The minimum of xᵀ A x over x with first entry 1; 0 where A is singular."""
    return float(1.0 / np.linalg.inv(energy)[0, 0]) if np.linalg.eigvalsh(energy)[0] > 0.0 else 0.0


def _spatial(joint: Joint) -> Reals:
    """A link's inertia about its origin, [linear; angular]."""
    mass, x, y, z, xx, xy, xz, yy, yz, zz = numbers(joint.inertia)
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    second = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    rotational = sum(second_moments(joint.inertia)) * np.eye(3) - second
    return np.block([[mass * np.eye(3), -cross], [cross, rotational]])
