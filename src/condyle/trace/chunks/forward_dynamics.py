"""Forward dynamics of a chain in chunks: the articulated-body algorithm, with three scans over the chunks.

Rotations and angular velocities to the tip, articulated elements to the base, accelerations to the tip, each between
two sweeps within the chunks. What velocities do enters joint by joint, about each link's own origin: accelerations of
the whole chain when no joint accelerates (rnea first) are larger, and cost half a digit on long chains in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from condyle.algorithms import aba, rotors
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import Joint
from condyle.algorithms.rnea import NO_FORCE, Wrench, coasting, turning
from condyle.algorithms.scans.affine import Map, Outward
from condyle.algorithms.scans.articulated import NO_INERTIA, Bias, Load, Segment, Segments, extended
from condyle.algorithms.scans.turns import Turns
from condyle.algorithms.values import flat, plus
from condyle.ir import chunked as ir
from condyle.ir.program import Program
from condyle.model.tree import Link
from condyle.scalar import Scalar, number
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.vector import ONE, Matrix, Vector
from condyle.trace.chunks.between import inward, of_base, outward
from condyle.trace.chunks.chain import ANSWER, BASE, COLUMNS, DRIVE, Chain, V, start
from condyle.trace.chunks.motions import base_force, own_force, sines
from condyle.trace.stage import Stage, composed


class Turning(NamedTuple):
    """Of a chunk: parent axes to tip axes, and the angular velocity of its tip if its base has none."""

    axes: Matrix
    w: Vector


class Turnings:
    """Rotations and angular velocities: w of the tip = axes w of the base + own."""

    def combine(self, base: Turning, tip: Turning) -> Turning:
        return Turning(Turns().combine(tip.axes, base.axes), vec.add(vec.times(tip.axes, base.w), tip.w))


STILL = Turning(ONE, vec.ZERO)
KNOWN = Bias(twist.ZERO, NO_FORCE)
NOTHING = Load(NO_FORCE, NO_INERTIA)
EMPTY = Segments(0.0).identity()
SAME = Outward().identity()
FREE = len(flat(EMPTY[:3]))
"""Numbers of a segment that say how its tip moves: A, b and C; h and J stand behind them."""
LEFT = (Elimination(NO_FORCE, number(0.0)), number(0.0))
BANKS = {
    "turning": STILL,
    "before": STILL,
    "w": vec.ZERO,
    "segment": EMPTY,
    "own": EMPTY[:3],
    "load": NOTHING,
    "map": SAME,
    "reached": SAME,
    "a": twist.ZERO,
    ir.ROW: (KNOWN, LEFT),
}
"""What each bank holds."""


def chunked(chain: Chain, guard: float) -> ir.Chunked:
    """a = M(q)^-1 (tau - c(q, v, f_ext)). guard: see `Segments`."""
    free = chain.free
    ops = [
        *sines(chain),
        start("turning", STILL),
        ir.Sweep(_turn(chain), False),
        outward(chain, "turning", STILL, Turnings().combine),
        of_base(chain, "turning", "before", STILL),
        ir.Once(_arrive(chain)),
        ir.Sweep(_move(chain), False),
        start("segment", EMPTY),
        ir.Sweep(_fold(chain), True),
        ir.Neighbour("segment", "own", 0, 0),
        *(_joined(chain, guard) if chain.partners is None else _of_limbs(guard)),
        *([start("a", (chain.down, vec.ZERO))] if free is None else []),
        ir.Once(_through(guard)),
        ir.Sweep(_articulate(chain), True),
        outward(chain, "map", SAME, Outward().combine),
        of_base(chain, "map", "reached", SAME),
        ir.Once(_reach()),
        ir.Sweep(_accelerate(chain), False),
    ]
    return chain.made("fd", BANKS, {"turning": STILL, "segment": EMPTY, "load": NOTHING, "map": SAME}, ops)


def _joined(chain: Chain, guard: float) -> list[ir.Op]:
    """The load behind each chunk of a chain; a floating base moves as soon as all of it is known."""
    free = chain.free
    return [
        ir.Scan(composed("segment", EMPTY, Segments(guard).combine), "segment", True, halves=True),
        ir.Neighbour("segment", "load", FREE, max(1, chain.chunks // 2)),
        ir.Once(_carry(guard)),
        *([] if free is None else [ir.Once(_base(chain, free)), ir.Spread("a")]),
        ir.Neighbour("load", "load", 0, 1),
    ]


def _of_limbs(guard: float) -> list[ir.Op]:
    return inward("segment", EMPTY, Segments(guard).combine, "load", NOTHING, FREE)


def _turn(chain: Chain) -> Program:
    stage = Stage("turn")
    joint = chain.joint(stage)
    rate = stage.read(ir.IO, COLUMNS)[V : V + 1]
    stage.write("turning", turned(joint, stage.value("turning", STILL), rate))
    return stage.program()


def turned(joint: Joint, before: Turning, v: Sequence[Scalar]) -> Turning:
    """A joint behind a segment."""
    into, (_, rate) = joint.rotation.into, joint.rate(v)
    x, y, z = (into(column) for column in vec.transpose(before.axes))
    return Turning(vec.transpose((x, y, z)), vec.add(into(before.w), rate))


def _arrive(chain: Chain) -> Program:
    """The angular velocity of each chunk's base."""
    stage = Stage("arrive")
    axes, w = stage.value("before", STILL)
    if chain.free is not None:
        _, root = chain.base(stage, chain.free).rate(stage.read(BASE[1], 6))
        w = vec.add(vec.times(axes, root), w)
    stage.write("w", w)
    return stage.program()


def _move(chain: Chain) -> Program:
    """Angular velocity to the next joint; what velocity does, into the row."""
    stage = Stage("move")
    joint = chain.joint(stage)
    rate = stage.read(ir.IO, COLUMNS)[V : V + 1]
    moved = coasting(joint, stage.value("w", vec.ZERO), rate)
    stage.write("w", moved.w)
    stage.write(ir.ROW, Bias((moved.a, moved.dw), own_force(chain, stage, joint, turning(moved.w))))
    return stage.program()


def _fold(chain: Chain) -> Program:
    stage = Stage("fold")
    joint, known, below = chain.joint(stage), stage.value(ir.ROW, KNOWN), stage.value("segment", EMPTY)
    tau = stage.read(ir.IO, COLUMNS)[DRIVE : DRIVE + 1]
    stage.write("segment", extended(joint, below, aba.rigid(joint), known.force, known.before, tau))
    return stage.program()


def _carry(guard: float) -> Program:
    """What each chunk and all behind it need: its half of the chunks, with what the other half needs."""
    stage = Stage("carry")
    stage.write("load", Segments(guard).loaded(stage.value("segment", EMPTY), stage.value("load", NOTHING)))
    return stage.program()


def _through(guard: float) -> Program:
    """A chunk's map of accelerations from base to tip, the load behind it given."""
    stage = Stage("through")
    own = Segment(*stage.value("own", EMPTY[:3]), *NOTHING)
    free = Segments(guard).freed(own, stage.value("load", NOTHING).segment())
    b = six.add(free.b, six.times(free.A, own.b))
    stage.write("map", Map(six.product(free.A, own.A), b))
    return stage.program()


def _articulate(chain: Chain) -> Program:
    """The articulated-body algorithm's own backward step, now that the load behind the chunk is known."""
    stage = Stage("articulate")
    joint, known, below = chain.joint(stage), stage.value(ir.ROW, KNOWN), stage.value("load", NOTHING)
    tau = stage.read(ir.IO, COLUMNS)[DRIVE : DRIVE + 1]
    after = extended(joint, below.segment(), aba.rigid(joint), known.force, known.before, tau)
    elimination, _ = aba.eliminate(joint.dofs[0], plus(aba.rigid(joint), below.J))
    (u,), _ = aba.load(joint, Wrench(*twist.add(known.force, below.h)), (elimination,), tau)
    stage.write("load", after.load)
    stage.write(ir.ROW, (elimination, u), 12)
    return stage.program()


def _base(chain: Chain, link: Link) -> Program:
    """A floating base moves under all that it carries, in the first lane."""
    stage = Stage("base")
    joint, rate = chain.base(stage, link), stage.read(BASE[1], 6)
    moved = coasting(joint, vec.ZERO, rate)
    carried = stage.value("load", NOTHING)
    eliminated, _ = aba.articulate(joint, plus(aba.rigid(joint), carried.J))
    force = Wrench(*twist.add(base_force(chain, stage, joint, turning(moved.w)), carried.h))
    u, _ = aba.load(joint, force, eliminated, rotors.less_bias(joint, stage.read(BASE[2], 6), rate))
    at = twist.add(aba.carry(joint, (chain.down, vec.ZERO)), (moved.a, moved.dw))
    rates, reached = aba.respond(joint, at, u, eliminated)
    stage.write("answer", rates)
    stage.write("a", reached)
    return stage.program()


def _reach() -> Program:
    """The acceleration of each chunk's base."""
    stage = Stage("reach")
    stage.write("a", stage.value("reached", SAME)(stage.value("a", six.ZERO)))
    return stage.program()


def _accelerate(chain: Chain) -> Program:
    stage = Stage("accelerate")
    joint, known = chain.joint(stage), stage.value(ir.ROW, KNOWN)
    elimination, u = stage.value(ir.ROW, LEFT, 12)
    at = twist.add(aba.carry(joint, six.halves(stage.value("a", six.ZERO))), known.before)
    (rate,), reached = aba.respond(joint, at, (u,), (elimination,))
    stage.write("a", reached)
    stage.write(ir.IO, rate, ANSWER)
    return stage.program()
