"""Forward dynamics of a long chain for lanes that are links: the chain in chunks, each folded to one element of a scan.

Three scans over the chunks, each between two sweeps within them: rotations and angular velocities to the tip,
articulated elements to the base, accelerations to the tip. Within a chunk everything but the folds is the articulated-
body algorithm as it stands, so that accuracy is its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar, cast

from condyle.algorithms import aba
from condyle.algorithms.aba import Articulated, Elimination
from condyle.algorithms.joint import Dof, Inertia, Joint
from condyle.algorithms.rnea import Motion, Wrench, motion, newton_euler, no_acceleration, spin
from condyle.algorithms.scans.affine import Map, Outward
from condyle.algorithms.scans.articulated import NO_INERTIA, Segment, Segments, attached, equivalent, extended
from condyle.algorithms.scans.turns import ONE, Turns
from condyle.algorithms.unrolled import is_zero
from condyle.algorithms.values import flat, plus
from condyle.ir import chunked as ir
from condyle.ir.count import work
from condyle.ir.program import Program
from condyle.model.tree import Tree
from condyle.scalar import Scalar, number
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import AboutZ, Chain, Full, Identity, Rotation
from condyle.spatial.six import Six
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Matrix, Vector
from condyle.trace.stage import Stage, Table

T = TypeVar("T")
TYPES = ("revolute", "continuous", "prismatic", "helical")
Q, V, TAU, ACCELERATION, ANGLE, SINE, COSINE = range(7)
ROTATION, ORIGIN, MASS, FIRST, SECOND, ARMATURE, TURN, SLIDE = 0, 9, 12, 13, 16, 22, 23, 24


class Turning(NamedTuple):
    """Of a chunk: parent axes to tip axes, and the angular velocity of its tip if its base has none."""

    axes: Matrix
    w: Vector


class Known(NamedTuple):
    """What the first sweep leaves for the others: acceleration without rates, and the force needed then."""

    before: Pair
    force: Wrench


class Load(NamedTuple):
    """What all links behind a joint need: force and inertia."""

    h: Wrench
    J: Articulated


NOTHING = Load(Wrench(vec.ZERO, vec.ZERO), NO_INERTIA)
EMPTY = Segments(0.0).identity()
STILL = Turning(ONE, vec.ZERO)
SAME = Outward().identity()


def is_chain(tree: Tree) -> bool:
    """Whether lanes can be its links: one joint of one degree of freedom after the other, from a fixed base."""
    links = tree.links
    return (
        bool(links)
        and not tree.has_shared_coordinates
        and all(link.parent == i - 1 and link.kind.name in TYPES and link.body >= 0 for i, link in enumerate(links))
        and all(link.v[0].at == link.q[0].at == i for i, link in enumerate(links))
    )


CHUNKS = (1, 2, 4, 8, 16, 32, 64, 128)
"""Numbers of lanes to choose from where the hardware does not fix it: one warp for each of a processor's schedulers at
most."""


def best_chunks(tree: Tree) -> int:
    """The number of chunks with the fewest operations one after the other: within a chunk, and in the scans."""
    ops = chunked(tree, 1, 0.0).ops
    inside = sum(work(op.stage) for op in ops if isinstance(op, ir.Sweep))
    across = sum(work(op.stage) for op in ops if isinstance(op, ir.Scan))
    return min(CHUNKS, key=lambda chunks: -(-len(tree.links) // chunks) * inside + (chunks - 1).bit_length() * across)


def chunked(tree: Tree, chunks: int, guard: float) -> ir.Chunked:
    """Forward dynamics of a chain in so many chunks. guard: see `Segments`."""
    length = -(-len(tree.links) // chunks)
    rows = [_row(tree, i) for i in range(len(tree.links))]
    rows += [_absent(rows[0])] * (chunks * length - len(rows))
    stages = _Stages(rows)
    segments, turns, maps = Segments(guard), _Turnings(), Outward()
    down = six.joined((vec.scale(-1.0, cast(Vector, tree.gravity)), vec.ZERO))
    angle: tuple[ir.Op, ...] = () if stages.turns_always else (ir.Sweep(stages.angles(), False),)
    ops: tuple[ir.Op, ...] = (
        *angle,
        ir.Sines(Q if stages.turns_always else ANGLE, SINE, COSINE),
        _start("turning", STILL),
        ir.Sweep(stages.turn(), False),
        ir.Scan(_composed("turning", STILL, turns.combine), "turning", False),
        ir.Neighbour("turning", "w", 9, -1),
        ir.Sweep(stages.move(), False),
        _start("segment", EMPTY),
        ir.Sweep(stages.fold(), True),
        ir.Neighbour("segment", "own", 0, 0),
        ir.Scan(_composed("segment", EMPTY, segments.combine), "segment", True),
        ir.Neighbour("segment", "load", 63, 1),
        ir.Once(_through(guard)),
        ir.Sweep(stages.articulate(), True),
        ir.Scan(_composed("map", SAME, maps.combine), "map", False),
        ir.Neighbour("map", "reached", 0, -1),
        ir.Once(_arrive(down)),
        ir.Sweep(stages.accelerate(), False),
    )
    widths = {"turning": 12, "w": 3, "segment": 90, "own": 90, "load": 27, "map": 42, "reached": 42, "a": 6}
    return ir.Chunked(
        "fd",
        len(tree.links),
        chunks,
        length,
        (("q", Q), ("v", V), ("tau", TAU)),
        (("a", ACCELERATION),),
        {**widths, ir.TABLE: stages.table.width, ir.IO: 7, ir.ROW: 20},
        {name: _numbers(value) for name, value in (("turning", STILL), ("segment", EMPTY), ("map", SAME))},
        stages.table.rows,
        ops,
    )


class _Turnings:
    """Rotations and angular velocities: w of the tip = axes w of the base + own."""

    def combine(self, base: Turning, tip: Turning) -> Turning:
        return Turning(Turns().combine(tip.axes, base.axes), vec.add(vec.times(tip.axes, base.w), tip.w))


def _row(tree: Tree, i: int) -> list[float]:
    link = tree.links[i]
    n, (linear, angular) = link.numbers, link.kind.subspace(link.numbers.pitch)[0]
    values = (n.rotation, n.origin, n.mass, n.first, n.second, n.armature[0], angular[2], linear[2])
    return [float(cast(float, x)) for x in flat(values)]


def _absent(row: list[float]) -> list[float]:
    """A joint that is not there: beyond the chain's tip, without mass, with an armature that keeps D from zero."""
    return [*row[:MASS], *[0.0] * (ARMATURE - MASS), 1.0, *row[TURN:]]


def _numbers(value: object) -> tuple[float, ...]:
    return tuple(float(cast(float, x)) for x in flat(value))


def _start(bank: str, value: object) -> ir.Start:
    return ir.Start(bank, _numbers(value))


class _Stages:
    """The sweeps over the joints of a chunk; constants that all joints share are in the code, not in the table."""

    def __init__(self, rows: Sequence[Sequence[float]]) -> None:
        self.table = Table(rows)
        self.turns_always = self.table.fixed[TURN] == 1.0

    def _joint(self, stage: Stage) -> Joint:
        row = self.table.read(stage)
        columns = stage.read(ir.IO, 7)
        turn, slide = row[TURN], row[SLIDE]
        axes = (_three(row, ROTATION), _three(row, ROTATION + 3), _three(row, ROTATION + 6))
        placed: Rotation = Identity() if axes == ONE else Full(axes)
        rotation = placed if is_zero(turn) else Chain(placed, AboutZ(columns[COSINE], columns[SINE]))
        origin = vec.add(_three(row, ORIGIN), placed.back((number(0.0), number(0.0), slide * columns[Q])))
        none = number(0.0)
        dof = Dof((none, none, slide), (none, none, turn), row[ARMATURE])
        xx, xy, xz, yy, yz, zz = row[SECOND:ARMATURE]
        inertia = Inertia(row[MASS], _three(row, FIRST), (xx, xy, xz, yy, yz, zz))
        return Joint(rotation, origin, (dof,), inertia, True)

    def angles(self) -> Program:
        """What turns: q of turning joints, zero of the others."""
        stage = Stage("angles")
        turn = self.table.read(stage)[TURN]
        stage.write(ir.IO, stage.read(ir.IO, 7)[Q] * turn, ANGLE)
        return stage.program()

    def turn(self) -> Program:
        stage = Stage("turn")
        joint = self._joint(stage)
        before = stage.value("turning", STILL)
        into, (_, rate) = joint.rotation.into, joint.rate(stage.read(ir.IO, 7)[V : V + 1])
        columns = tuple(into(column) for column in vec.transpose(before.axes))
        axes = vec.transpose((columns[0], columns[1], columns[2]))
        stage.write("turning", Turning(axes, vec.add(into(before.w), rate)))
        return stage.program()

    def move(self) -> Program:
        """Angular velocity to the next joint; what velocity does, into the row."""
        stage = Stage("move")
        joint = self._joint(stage)
        rate = stage.read(ir.IO, 7)[V : V + 1]
        moved = motion(joint, _turning(stage.value("w", vec.ZERO)), rate, no_acceleration(joint))
        stage.write("w", moved.w)
        stage.write(ir.ROW, Known((moved.a, moved.dw), newton_euler(joint, _turning(moved.w))))
        return stage.program()

    def _known(self, stage: Stage) -> Known:
        return stage.value(ir.ROW, Known(twist.ZERO, Wrench(vec.ZERO, vec.ZERO)))

    def fold(self) -> Program:
        stage = Stage("fold")
        joint, known = self._joint(stage), self._known(stage)
        tau = stage.read(ir.IO, 7)[TAU : TAU + 1]
        below = stage.value("segment", EMPTY)
        stage.write("segment", extended(joint, below, aba.rigid(joint), known.force, known.before, tau))
        return stage.program()

    def articulate(self) -> Program:
        """The articulated-body algorithm's own backward step, now that the load behind the chunk is known."""
        stage = Stage("articulate")
        joint, known, below = self._joint(stage), self._known(stage), stage.value("load", NOTHING)
        tau = stage.read(ir.IO, 7)[TAU : TAU + 1]
        before = Segment(six.ONE, six.ZERO, six.ZERO_UPPER, below.h, below.J)
        after = extended(joint, before, aba.rigid(joint), known.force, known.before, tau)
        total = plus(aba.rigid(joint), below.J)
        elimination, _ = aba.eliminate(joint.dofs[0], total)
        force = Wrench(*twist.add(known.force, below.h))
        (u,), _ = aba.load(joint, force, (elimination,), tau)
        stage.write("load", Load(after.h, after.J))
        stage.write(ir.ROW, (elimination, u), 12)
        return stage.program()

    def accelerate(self) -> Program:
        stage = Stage("accelerate")
        joint, known = self._joint(stage), self._known(stage)
        none = number(0.0)
        shape = (Elimination(Wrench(vec.ZERO, vec.ZERO), none), none)
        elimination, u = stage.value(ir.ROW, shape, 12)
        parent = six.halves(stage.value("a", six.ZERO))
        at = twist.add(aba.carry(joint, parent), known.before)
        (rate,), reached = aba.respond(joint, at, (u,), (elimination,))
        stage.write("a", six.joined(reached))
        stage.write(ir.IO, rate, ACCELERATION)
        return stage.program()


def _three(row: Sequence[Scalar], first: int) -> Vector:
    return row[first], row[first + 1], row[first + 2]


def _turning(w: Vector) -> Motion:
    return Motion(w, vec.ZERO, spin(w, vec.ZERO), vec.ZERO)


def _composed(bank: str, shape: T, combine: Callable[[T, T], T]) -> Program:
    stage = Stage(f"{bank}_scan")
    stage.write(bank, combine(stage.value("base", shape), stage.value("tip", shape)))
    return stage.program()


def _through(guard: float) -> Program:
    """A chunk's map of accelerations from base to tip, the load behind it given."""
    stage = Stage("through")
    own, load = stage.value("own", EMPTY), stage.value("load", NOTHING)
    tail = Segment(six.ONE, six.ZERO, six.ZERO_UPPER, load.h, load.J)
    free = attached(equivalent(own.C, guard), [number(0.0)] * 6, tail)
    b = six.add(free.b, six.times(free.A, own.b))
    stage.write("map", Map(six.product(free.A, own.A), b))
    return stage.program()


def _arrive(down: Six) -> Program:
    """The acceleration at each chunk's base."""
    stage = Stage("arrive")
    stage.write("a", stage.value("reached", SAME)(down))
    return stage.program()
