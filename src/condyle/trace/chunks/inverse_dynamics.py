"""Inverse dynamics of a chain in chunks: rnea, with a scan of motions to the tip and one of forces to the base.

A chunk's motion against its base, and the force that it needs by itself, are the paper's elements (scans.lie). Composed
they say how every chunk's base moves and what hangs on its tip. From there each chunk takes rnea's own steps.
"""

from __future__ import annotations

from typing import NamedTuple, cast

from condyle.algorithms import aba, rotors
from condyle.algorithms.rnea import NO_FORCE, Motion, Wrench, at_rest, motion, spin, torques
from condyle.algorithms.scans.lie import Forces, Loaded, Motions, Moved
from condyle.algorithms.values import flat
from condyle.ir import chunked as ir
from condyle.ir.program import Program
from condyle.model.tree import Link
from condyle.spatial import twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Axes
from condyle.spatial.transform import IDENTITY, Transform
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Vector
from condyle.trace.chunks.between import inward, of_base, outward
from condyle.trace.chunks.chain import ANSWER, BASE, COLUMNS, DRIVE, Chain, V, start
from condyle.trace.chunks.motions import base_force, own_force, sines
from condyle.trace.stage import Stage, composed


class Rates(NamedTuple):
    """What the next link needs of a Motion."""

    w: Vector
    dw: Vector
    a: Vector


class Root(NamedTuple):
    """Spatial acceleration, less gravity, and velocity of the base."""

    acceleration: Pair
    velocity: Pair


STILL, UNLOADED = Motions().identity(), Forces().identity()
POSE = len(flat(STILL.pose))
"""Numbers of a loaded chunk's pose; its force stands behind them."""
REST = Rates(vec.ZERO, vec.ZERO, vec.ZERO)
BANKS = {
    "moved": STILL,
    "own": STILL.pose,
    "before": STILL,
    "motion": REST,
    "load": NO_FORCE,
    "loaded": UNLOADED,
    ir.ROW: NO_FORCE,
}
"""What each bank holds."""


def chunked(chain: Chain) -> ir.Chunked:
    """tau = M(q) a + c(q, v, f_ext)."""
    ops = [
        *sines(chain),
        start("moved", STILL),
        ir.Sweep(_place(chain), False),
        ir.Neighbour("moved", "own", 0, 0),
        outward(chain, "moved", STILL, Motions().combine),
        of_base(chain, "moved", "before", STILL),
        ir.Once(_arrive(chain)),
        ir.Sweep(_force(chain), False),
        start("load", NO_FORCE),
        ir.Sweep(_gather(chain), True),
        ir.Once(_folded()),
        *(_joined(chain) if chain.partners is None else _of_limbs()),
        ir.Sweep(_torques(chain), True),
    ]
    return chain.made("id", BANKS, {"moved": STILL, "loaded": UNLOADED}, ops)


def _joined(chain: Chain) -> list[ir.Op]:
    """The force behind each chunk of a chain, and of a floating base when all of it is known."""
    return [
        ir.Scan(composed("loaded", UNLOADED, Forces().combine), "loaded", True),
        *([] if chain.free is None else [ir.Once(_base(chain, chain.free))]),
        ir.Neighbour("loaded", "load", POSE, 1),
    ]


def _of_limbs() -> list[ir.Op]:
    return inward("loaded", UNLOADED, Forces().combine, "load", NO_FORCE, POSE)


def _place(chain: Chain) -> Program:
    """Pose, acceleration and velocity against the base of the chunk: `Motions` with one link behind."""
    stage = Stage("place")
    joint, columns = chain.joint(stage), stage.read(ir.IO, COLUMNS)
    (rotation, origin), acceleration, velocity = stage.value("moved", STILL)
    rate, drive = joint.rate(columns[V : V + 1]), joint.rate(columns[DRIVE : DRIVE + 1])
    axes = cast(Axes, rotation).axes
    x, y, z = (joint.rotation.into(row) for row in axes)
    velocity = twist.add(aba.carry(joint, velocity), rate)
    acceleration = twist.add(aba.carry(joint, acceleration), twist.add(drive, twist.cross_motion(velocity, rate)))
    pose = Transform(Axes((x, y, z)), vec.add(origin, vec.times(axes, joint.origin)))
    stage.write("moved", Moved(pose, acceleration, velocity))
    return stage.program()


def _arrive(chain: Chain) -> Program:
    """How the base of every chunk moves."""
    stage = Stage("arrive")
    root = Root((chain.down, vec.ZERO), twist.ZERO)
    if chain.free is not None:
        joint = chain.base(stage, chain.free)
        falling = joint.rotation.into(chain.down), vec.ZERO
        root = Root(twist.add(falling, joint.rate(stage.read(BASE[2], 6))), joint.rate(stage.read(BASE[1], 6)))
    before = stage.value("before", STILL)
    (_, (a, dw), (v, w)) = Motions().combine(Moved(IDENTITY, *root), before)
    stage.write("motion", Rates(w, dw, vec.add(a, vec.cross(w, v))))
    return stage.program()


def _force(chain: Chain) -> Program:
    """rnea's forward step, and the force that the link needs, into the row."""
    stage = Stage("force")
    joint, columns = chain.joint(stage), stage.read(ir.IO, COLUMNS)
    w, dw, a = stage.value("motion", REST)
    before = Motion(w, dw, spin(w, dw), a)
    moved = motion(joint, before, columns[V : V + 1], columns[DRIVE : DRIVE + 1])
    stage.write("motion", Rates(moved.w, moved.dw, moved.a))
    stage.write(ir.ROW, own_force(chain, stage, joint, moved))
    return stage.program()


def _gather(chain: Chain) -> Program:
    """The force that a chunk needs by itself."""
    stage = Stage("gather")
    joint = chain.joint(stage)
    total = twist.add(stage.value("load", NO_FORCE), stage.value(ir.ROW, NO_FORCE))
    stage.write("load", joint.force_to_parent(*total))
    return stage.program()


def _folded() -> Program:
    """A chunk as an element."""
    stage = Stage("folded")
    stage.write("loaded", Loaded(stage.value("own", STILL.pose), stage.value("load", NO_FORCE)))
    return stage.program()


def _torques(chain: Chain) -> Program:
    """rnea's backward step, now that the load behind the chunk is known."""
    stage = Stage("torques")
    joint = chain.joint(stage)
    total = Wrench(*twist.add(stage.value("load", NO_FORCE), stage.value(ir.ROW, NO_FORCE)))
    (tau,) = torques(joint, total, stage.read(ir.IO, COLUMNS)[DRIVE : DRIVE + 1])
    stage.write("load", joint.force_to_parent(*total))
    stage.write(ir.IO, tau, ANSWER)
    return stage.program()


def _base(chain: Chain, link: Link) -> Program:
    """What moves a floating base and all that it carries, in the first lane."""
    stage = Stage("base")
    joint, a = chain.base(stage, link), stage.read(BASE[2], 6)
    v = stage.read(BASE[1], 6)
    moved = motion(joint, at_rest(vec.scale(-1.0, chain.down)), v, a)
    carried = stage.value("loaded", UNLOADED).force
    total = Wrench(*twist.add(base_force(chain, stage, joint, moved), carried))
    stage.write("answer", torques(joint, total, rotors.rates(joint, v, a)))
    return stage.program()
