"""Phases of functions with a link a lane, and pairs of records as Programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import NO_BODY, NO_FORCE, Dof, Inertia, Joint, Wrench, joint_placed, placement, wrench_on
from condyle.algorithms.matrix import flat, numbers, refilled
from condyle.ir import link_parallel as ir
from condyle.ir.expr import Expr, Graph
from condyle.ir.link_parallel import NONE, Pairs
from condyle.ir.program import Program, input_of
from condyle.links.algorithms import derivatives
from condyle.links.algorithms import phases as columns
from condyle.links.algorithms.dynamics import axes_of
from condyle.links.algorithms.links import Branching, OfJoints, Semigroup, exchange_map
from condyle.links.algorithms.phases import PairRule
from condyle.links.trace.traced_segments import Entry, Here, LaneOperations, Stage, Table, View, name_of, seen, variable
from condyle.model.joints.base import JointType
from condyle.model.tree import Link, Numbers, Tree, carried
from condyle.operations import Node
from condyle.scalar import Scalar, number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import IDENTITY, Full, Transform
from condyle.spatial.vector import IDENTITY_MATRIX, Vector
from condyle.trace.recorded_steps import blank

# Sines and cosines of joint angles, which stages read instead of computing them.


ANGLE, SINE, COSINE = range(3)


class KnownSines(Graph):
    """A graph in which the sine and cosine of the joint's angle, an entry of q, are read from its first input."""

    def __init__(self) -> None:
        super().__init__()
        self.angle = NONE

    def node(self, key: Node) -> Expr:
        if key[0] in ("sin", "cos"):
            _, self.angle = input_of(self.nodes[cast("tuple[str, int]", key)[1]])
            return self.input(0, SINE if key[0] == "sin" else COSINE)
        return super().node(key)


# `Links` traced with a link a lane: each primitive becomes operations on per-lane variables.
#
# Scalars of values are entries of variables. A step becomes a Program for the lanes of each joint type. Scans of a
# chain are by distance, those of a tree by the lane-exchange map.


T = TypeVar("T")
U = TypeVar("U")
MASS, ARMATURE, LEVER, CARRIED, FRAME, WIDTH = 13, 23, 29, 30, 31, 43
MOST = 6
"""Degrees of freedom of one joint."""


class LaneLinks(LaneOperations):
    """`Links` as lanes, at most `lanes` of them; every primitive adds operations. guard: see `articulated.Segments`."""

    def __init__(self, tree: Tree, lanes: int, forces: bool = False, guard: float = 0.0) -> None:
        self.tree, self.lanes, self.guard, links = tree, lanes, guard, tree.links
        self.gravity: Vector = vec.three([number(g) for g in tree.gravity])
        self.kinds: list[JointType] = list(dict.fromkeys(link.kind for link in links))
        super().__init__(tree.parents == list(range(-1, len(links) - 1)))
        self.partners = {} if self.chain else exchange_map(tree.parents, lanes).copy()
        masses = carried(tree.parents, numbers(tuple(link.numbers.mass for link in links)))
        rows = [_row(*of)[: WIDTH if forces else FRAME] for of in zip(links, masses, tree.levers, strict=True)]
        absent = [*rows[0][:MASS], *[0.0] * (len(rows[0]) - MASS)]
        self.table = Table(rows + [absent] * (lanes - len(rows)))
        self.widths[ir.TABLE] = self.table.width
        self.starts: dict[str, tuple[float, ...]] = {}
        self.versions: dict[str, int] = {}
        self.answers: dict[str, list[int]] = {}
        self.still: OfJoints = View(lambda here: (number(0.0),) * here.nv)
        self.row = [cast(Scalar, x) for x in self.table.row(Entry)]
        own = refilled(blank(0), self.row)
        self.inertia = Inertia(own.mass, own.first, own.second)
        self.lever = self.row[LEVER]
        self.carried_mass = self.row[CARRIED]
        self.external = cast(Wrench, View(self._external)) if forces else None

    def _external(self, here: Here) -> Wrench:
        return wrench_on(seen(here, refilled(IDENTITY, self.row[FRAME:])), here.stage.read("f_ext", 6))

    def dofs(self, port: str) -> OfJoints:
        """An input with one number for each degree of freedom."""
        return View(lambda here: tuple(here.stage.read(port, here.nv)))

    def _seen(self, here: Here, values: Sequence[object]) -> list[object]:
        """Values with entries replaced by symbols of the stage."""
        used = [x for value in values if not isinstance(value, View) for x in flat(value) if isinstance(x, Entry)]
        assert all(x.version == self.versions.get(x.var, 0) for x in used), "a value that is used up"
        return [seen(here, value) for value in values]

    def joint(self, stage: Stage, kind: JointType) -> Joint:
        """A joint of this type, at its q."""
        armature = tuple(self.table.read(stage)[ARMATURE : ARMATURE + kind.nv])
        own = self.numbers(stage)._replace(armature=armature)
        return joint_placed(kind, own, placement(own.rotation), stage.read("q", kind.nq))

    def sines(self) -> None:
        """Operations for sine and cosine of every joint's angle, which stages read."""
        self.widths[ir.IO] = 3
        self.starts[ir.IO] = (0.0,) * 3
        for k, kind in enumerate(self.kinds):
            stage = Stage("angle", graph := KnownSines())
            stage.read(ir.IO, 3)
            self.joint(stage, kind)
            if graph.angle != ir.NONE:
                found = Stage("angle")
                found.write(ir.IO, (found.read("q", kind.nq)[graph.angle],), ANGLE)
                self.ops.append(ir.EachJoint(found.program(), False, k))
        self.ops.append(ir.Sines(ANGLE, SINE, COSINE))

    def _new_variable(self, name: str, start: Sequence[float]) -> str:
        """A new variable with these numbers in every lane."""
        var = f"{name.strip('_')}{len(self.starts)}"
        self.starts[var] = tuple(start)
        self.widths[var] = len(start)
        return var

    def _value(self, var: str, shape: T) -> T:
        return variable(var, shape, version=self.versions.get(var, 0))

    def _of_kinds(self, step: Callable[..., T], values: Sequence[object], write: Callable[[Stage, T], None]) -> T:
        """Stages for the joints of each type; `write` stores the result of the step."""
        value = None
        for k, kind in enumerate(self.kinds):
            stage = Stage(name_of(step), KnownSines())
            stage.read(ir.IO, 3)
            here = Here(stage, kind, self.joint(stage, kind))
            value = step(here.joint, *self._seen(here, values))
            write(stage, value)
            self.ops.append(ir.EachJoint(stage.program(), False, k))
        return cast(T, value)

    def each(self, step: Callable[..., T], *values: object) -> T:
        names: list[str] = []

        def write(stage: Stage, value: T) -> None:
            parts = _parts(value)
            if not names:
                names.extend(self._new_variable(name_of(step), (0.0,) * len(flat(part))) for part in parts)
            for var, part in zip(names, parts, strict=True):
                stage.write(var, part)

        parts = _parts(self._of_kinds(step, values, write))
        found = [self._value(var, part) for var, part in zip(names, parts, strict=True)]
        return cast(T, found[0] if len(found) == 1 else tuple(found))

    def answer(self, port: str, step: Callable[..., object], *values: object) -> OfJoints:
        sizes = list[int]()

        def write(stage: Stage, value: object) -> None:
            stage.write(port, value)
            sizes.append(len(flat(value)))

        self._of_kinds(step, values, write)
        self.answers[port] = [sizes[self.kinds.index(link.kind)] for link in self.tree.links]
        return self.dofs(port)

    def all(self, step: Callable[..., T], *values: object) -> T:
        stage = Stage(name_of(step))
        here = Here(stage, self.kinds[0])
        value = step(*self._seen(here, values))
        var = self._new_variable(name_of(step), (0.0,) * len(flat(value)))
        stage.write(var, value)
        self.ops.append(ir.EachJoint(stage.program(), False))
        return self._value(var, value)

    def view(self, step: Callable[..., T], *values: object) -> T:
        return cast(T, View(lambda here: step(*self._seen(here, values))))

    def of_joints(self, step: Callable[..., object], *values: object) -> OfJoints:
        return View(lambda here: step(here.joint, *self._seen(here, values)))

    def _kept(self, value: object, whole: bool) -> tuple[str, int]:
        """(variable, first entry) where a value is stored in order, filling the variable if `whole`; else of a copy."""
        entries = [cast(Entry, x) for x in flat(value)]
        var, first = entries[0].var, entries[0].position
        in_order = entries == flat(self._value(var, (entries[0],) * (first + len(entries))))[first:]
        if in_order and (not whole or len(entries) == self.widths[var]):
            return var, first
        return self._kept(self.all(_copy, value), whole)

    def _used_up(self, var: str) -> None:
        self.versions[var] = self.versions.get(var, 0) + 1

    def _scanned(self, semigroup: Semigroup[T], elements: T) -> str:
        """The variable in which elements are scanned, in place."""
        var, _ = self._kept(elements, whole=True)
        self._used_up(var)
        self.starts[var] = numbers(semigroup.identity())
        return var

    def outward(self, semigroup: Semigroup[T], elements: T) -> T:
        var = self._scanned(semigroup, elements)
        self._outward(var, semigroup)
        return self._value(var, elements)

    def inward(self, semigroup: Branching[T], elements: T) -> T:
        var = self._scanned(semigroup, elements)
        self._inward(var, semigroup)
        return self._value(var, elements)

    def of_parent(self, value: T, world: T) -> T:
        if self.chain:
            return self._neighbour("parent", value, numbers(world), -1)
        var, first = self._kept(value, whole=False)
        into = self._new_variable("parent", numbers(world))
        self._of_parent(var, into, value, first)
        return self._value(into, value)

    def of_children(self, value: T) -> T:
        none = (0.0,) * len(flat(value))
        if self.chain:
            return self._neighbour("children", value, none, 1)
        var, first = self._kept(value, whole=False)
        into = self._new_variable("children", none)
        self._of_children(var, into, value, first)
        return self._value(into, value)

    def _neighbour(self, name: str, value: T, none: Sequence[float], by: int) -> T:
        """The value of the lane `by` further, these numbers where there is none."""
        var, first = self._kept(value, whole=False)
        if var in self.identities and self.identities[var][first : first + len(none)] != tuple(none):
            var, first = self._kept(self.all(_copy, value), whole=False)
        known = list(self.identities.get(var, self.starts[var]))
        known[first : first + len(none)] = none
        self.identities[var] = tuple(known)
        into = self._new_variable(name, none)
        self.ops.append(ir.Neighbour(var, into, first, by))
        return self._value(into, value)

    def with_partner(self, partners: Sequence[int], step: Callable[[T, U], T], value: T, other: U) -> T:
        (var, _), (source, first) = self._kept(value, whole=True), self._kept(other, whole=False)
        rows = f"met{len(self.partners)}"
        self.partners[rows] = ((*partners, *[ir.NONE] * (self.lanes - len(partners))),)
        stage = Stage(name_of(step))
        stage.write(var, step(stage.value("tip", value), stage.value("base", other, first)))
        self._used_up(var)
        self.ops.append(ir.TreeScanStep(stage.program(), var, source, rows, False))
        return self._value(var, value)

    def numbers(self, stage: Stage) -> Numbers:
        return refilled(blank(0), self.table.read(stage))

    def finished(
        self,
        name: str,
        inputs: Sequence[str],
        firsts: Mapping[str, list[int]] | None = None,
        columns: ir.MatrixPorts | None = None,
    ) -> ir.LinkParallel:
        """All operations as a function of these ports. firsts: {port: first entry of each link}."""
        links = self.tree.links
        absent = (ir.NONE,) * (self.lanes - len(links))
        if firsts is None:
            firsts = {port: [_first(link, port) for link in links] for port in inputs}
            firsts |= {port: offsets(self.tree, sizes) for port, sizes in self.answers.items()}
        return ir.LinkParallel(
            name,
            len(links),
            self.lanes,
            1,
            tuple((port, ir.NONE) for port in inputs),
            tuple((port, ir.NONE) for port in self.answers),
            self.widths,
            self.identities,
            self.table.rows,
            (*(ir.Start(var, values) for var, values in self.starts.items()), *self.ops),
            {port: (*first, *absent) for port, first in firsts.items()},
            (*(self.kinds.index(link.kind) for link in links), *absent),
            self.partners,
            columns=columns,
            totals={port: sum(sizes) for port, sizes in self.answers.items()},
        )


def offsets(tree: Tree, sizes: Sequence[int]) -> list[int]:
    """The first number of each link: ordered by degree of freedom if each has equally many, else link after link."""
    each, first = {size / link.kind.nv for size, link in zip(sizes, tree.links, strict=True)}, tree.links[0].kind.nv
    if len(each) == 1:
        return [sizes[0] // first * link.v[0].entry for link in tree.links]
    return [sum(sizes[:i]) for i in range(len(sizes))]


def _parts(value: object) -> list[object]:
    """The values of a plain tuple of named tuples; any other value alone."""
    several = type(value) is tuple and all(hasattr(part, "_fields") for part in cast("tuple[object, ...]", value))
    return list(cast("tuple[object, ...]", value)) if several else [value]


def _copy(value: T) -> T:
    return value


def _row(link: Link, carried: float, lever: bool) -> list[float]:
    n = link.numbers
    rest = [0.0] * (MOST - len(n.armature))
    return [*numbers(n), *rest, float(lever), carried, *numbers(link.body_frame)]


def _first(link: Link, port: str) -> int:
    """The first entry of the link in a port."""
    if port == "f_ext":
        return 6 * link.body if link.body >= 0 else ir.NONE
    return (link.q if port == "q" else link.v)[0].entry


COLUMNS = 4
"""Columns that one lane solves for, which share the linear part of their maps: 36 + 4 * 6 numbers are 60, the most that
lanes exchange in registers (`cuda.links.transport.WIDE`)."""
SOLVER = [(IDENTITY_MATRIX, vec.ZERO, *[Elimination(NO_FORCE, number(0.0))] * nv) for nv in range(MOST + 1)]
"""The record of a joint for `solve`, by its number of degrees of freedom: E, origin, eliminations."""


def by_links(
    tree: Tree,
    lanes: int,
    forces: bool,
    guard: float,
    run: Callable[..., object],
    *ports: str,
    eliminates: bool = False,
) -> ir.LinkParallel:
    """run(links, *ports) as a function of q and these ports. guard: see `articulated.Segments`. eliminates: the first
    result of run is the eliminations, and the records for `solve` are an output too.
    """
    links = LaneLinks(tree, lanes, forces, guard)
    links.sines()
    found = run(links, *(links.dofs(port) for port in ports))
    if eliminates:
        links.answer("solver", _solver, cast("tuple[object, ...]", found)[0])
    return links.finished(name_of(run).strip("_"), ("q", *ports, *(("f_ext",) if forces else ())))


def _solver(joint: Joint, eliminated: tuple[Elimination, ...]) -> tuple[object, ...]:
    return vec.transpose(axes_of(joint)), joint.origin, *eliminated


class _Solved(LaneLinks):
    """Links whose joints are read from the records for `solve`."""

    def joint(self, stage: Stage, kind: JointType) -> Joint:
        rotation, origin, *_ = stage.value("solver", SOLVER[kind.nv])
        none = number(0.0)
        dofs = tuple(Dof(*column, none) for column in kind.subspace(self.numbers(stage).pitch))
        return Joint(Transform(Full(rotation), origin), dofs, NO_BODY, True)


def solve(tree: Tree, lanes: int, unit: bool) -> ir.LinkParallel:
    """x = -M^-1 x for columns of a matrix, in place; unit: M^-1 itself."""
    links, source = _Solved(tree, lanes), "unit" if unit else "given"

    def eliminated(here: Here) -> tuple[Elimination, ...]:
        return here.stage.value("solver", SOLVER[here.nv])[2:]

    def tau(here: Here) -> list[list[Scalar]]:
        x = here.stage.read(source, here.nv * COLUMNS)
        return [[x[k] if unit else -x[k] for k in range(c, len(x), COLUMNS)] for c in range(COLUMNS)]

    columns.solve(links, View(eliminated), View(tau), COLUMNS)
    rows = [link.v[0].entry for link in tree.links]
    of_matrix = [tree.nv * at for at in rows]
    of_solver = offsets(tree, [len(flat(SOLVER[link.kind.nv])) for link in tree.links])
    found = {"solver": of_solver, "x": of_matrix, source: rows if unit else of_matrix}
    ports = ("solver",) if unit else ("solver", source)
    return links.finished("solve", ports, found, ir.MatrixPorts(COLUMNS, tree.nv, unit))


def pairs(tree: Tree, rule: PairRule) -> Pairs:
    """Matrices from records: lower where the column's joint is an ancestor of the row's, or the same; upper where the
    row's joint is an ancestor of the column's."""
    n = rule.matrices
    lower, upper = _pair(rule, "column", "row", slice(n)), _pair(rule, "row", "column", slice(-n, None))
    width = len(flat(rule.record))
    return Pairs(rule.name, lower, upper, width, n, derivatives.spans(tree), width - 1 if rule.symmetric else ir.NONE)


def _pair(rule: PairRule, ancestor: str, record: str, part: slice) -> Program:
    stage = Stage(rule.name)
    values = rule.entries(stage.value(ancestor, rule.record), stage.value(record, rule.record))
    for k, value in enumerate(values[part]):
        stage.write(str(k), value)
    return stage.program()
