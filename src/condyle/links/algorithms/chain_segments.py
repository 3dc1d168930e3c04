"""Forward and inverse dynamics in segments, a lane for each segment of a chain or of a tree's branches.

Each lane first reduces its segment to one element; scans over the lanes combine the elements; then each lane runs the
serial algorithm on its links. The accuracy within a segment is that of the serial algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol, TypeVar, cast

from condyle.algorithms import rnea
from condyle.algorithms.aba import Elimination
from condyle.algorithms.joint import NO_FORCE, Joint, Wrench
from condyle.algorithms.matrix import flat, plus
from condyle.algorithms.rnea import Motion, at_rest, motion, spin, torques
from condyle.links.algorithms.articulated import NOTHING, Bias, Load, Segment, extended
from condyle.links.algorithms.articulated import Segments as Elements
from condyle.links.algorithms.dynamics import Freed, bias, free, own_force, respond, turned
from condyle.links.algorithms.lie import Forces, Loaded, Motions, Moved
from condyle.links.algorithms.links import Branching, Map, Outward, Semigroup, Turning, Turnings
from condyle.scalar import Scalar, number
from condyle.spatial import six, twist
from condyle.spatial import vector as vec
from condyle.spatial.rotation import IDENTITY, Axes, Transform
from condyle.spatial.six import Six
from condyle.spatial.twist import Pair
from condyle.spatial.vector import Vector

T = TypeVar("T")


class Segments(Protocol):
    """The primitives of these functions, and values of the joints and of a floating base.

    v, drive: of every joint; drive is tau or a. answer: the output. external: external wrenches, where there are any.
    root: the joint of the base, floating if `free`; base_...: its values. branches: segments form a tree, not a chain.
    down: minus gravity.
    """

    lanes: int
    free: bool
    branches: bool
    guard: float
    down: Vector
    v: Sequence[Scalar]
    drive: Sequence[Scalar]
    answer: Sequence[Scalar]
    external: tuple[Wrench, ...]
    root: Joint
    base_v: Sequence[Scalar]
    base_drive: Sequence[Scalar]
    base_external: Sequence[Wrench]
    base_answer: object

    def sines(self) -> None:
        """Computes sine and cosine of every joint that rotates."""
        ...

    def variable(self, name: str, shape: T) -> T:
        """A new per-lane variable."""
        ...

    def of_joints(self, shape: T, first: int = 0) -> T:
        """A new value of every joint, from entry `first` of its storage."""
        ...

    def start(self, value: T, constants: T) -> None:
        """Sets the variable to these constants in every lane."""
        ...

    def sweep(self, step: Callable[..., T], *values: object, into: T, backward: bool = False) -> None:
        """step(joint, *values) for every joint of a segment, first to last or last to first; the result goes `into`."""
        ...

    def once(self, step: Callable[..., T], *values: object, into: T) -> None:
        """step(*values) in every lane; the result goes `into`."""
        ...

    def outward(self, semigroup: Semigroup[T], elements: T) -> None:
        """In each lane the product of the elements from the base to it."""
        ...

    def inward(self, semigroup: Branching[T], elements: T, half: bool = False) -> None:
        """In each lane the product of the elements from it to the tips; half: of at most half the lanes of a chain."""
        ...

    def of_base(self, elements: T, into: T) -> None:
        """`into` = the elements of the segment before; without one it keeps its value, the identity."""
        ...

    def of_tip(self, elements: object, into: object, none: object, by: int = 1) -> None:
        """`into` = the elements of the segment `by` lanes behind, or the sum over the branches behind, or `none`."""
        ...

    def copied(self, value: object, into: object) -> None: ...

    def spread(self, value: object) -> None:
        """Copies the first lane's value to every lane."""
        ...


STILL, EMPTY, SAME = Turnings().identity(), Elements(0.0).identity(), Outward().identity()
NO_BIAS = Bias(twist.ZERO, NO_FORCE)
FREED = Freed((Elimination(NO_FORCE, number(0.0)),), (number(0.0),))


def forward_dynamics(s: Segments) -> None:
    """a = M(q)^-1 (tau - c(q, v, f_ext)): the articulated-body algorithm, with three scans over the segments.

    Scans: rotations and angular velocities outward, articulated elements inward, accelerations outward. Before and
    after each scan is a sweep within the segments.
    """
    elements = Elements(s.guard)
    turning, before, w = s.variable("turning", STILL), s.variable("before", STILL), s.variable("w", vec.ZERO)
    segment, own = s.variable("segment", EMPTY), s.variable("own", EMPTY[:3])
    load, map = s.variable("load", NOTHING), s.variable("map", SAME)
    reached, a = s.variable("reached", SAME), s.variable("a", six.ZERO)
    known, freed = s.of_joints(NO_BIAS), s.of_joints(FREED, len(flat(NO_BIAS)))
    s.sines()
    s.start(turning, STILL)
    s.sweep(turned, turning, s.v, into=turning)
    s.outward(Turnings(), turning)
    s.of_base(turning, before)
    s.once(_spinning, before, *((s.root, s.base_v) if s.free else ()), into=w)
    s.sweep(bias, w, s.v, *s.external, into=(w, known))
    s.start(segment, EMPTY)
    s.sweep(extended, known, segment, s.drive, into=segment, backward=True)
    s.copied(segment, own)
    s.inward(elements, segment, half=True)
    if not s.branches:
        s.of_tip(segment[3:], load, NOTHING, max(1, s.lanes // 2))
        s.once(elements.loaded, segment, load, into=load)
        if s.free:
            given = s.root, s.base_v, load, s.base_external, s.base_drive
            s.once(partial(_base, s.down), *given, into=(s.base_answer, a))
            s.spread(a)
        s.of_tip(load, load, NOTHING)
    else:
        s.of_tip(segment[3:], load, NOTHING)
    if not s.free:
        s.start(a, six.joined((s.down, vec.ZERO)))
    s.once(partial(_through, elements), own, load, into=map)
    s.sweep(_articulate, known, load, s.drive, into=(load, freed), backward=True)
    s.outward(Outward(), map)
    s.of_base(map, reached)
    s.once(_reach, reached, a, into=a)
    s.sweep(_accelerate, known, freed, a, into=(a, s.answer))


def _spinning(before: Turning, root: Joint | None = None, v: Sequence[Scalar] = ()) -> Vector:
    """The angular velocity of each segment's base."""
    axes, w = before
    return w if root is None else vec.add(vec.times(axes, root.rate(v)[1]), w)


def _base(
    down: Vector, root: Joint, v: Sequence[Scalar], load: Load, external: Sequence[Wrench], tau: Sequence[Scalar]
) -> tuple[tuple[Scalar, ...], Pair]:
    """The acceleration of a floating base, in the first lane."""
    _, known = bias(root, vec.ZERO, v, *external)
    return respond(root, (down, vec.ZERO), known, free(root, known, load, rnea.less_bias(root, tau, v)))


def _through(elements: Elements, alone: tuple[six.Rows, Six, six.Upper], load: Load) -> Map:
    """A segment's map of accelerations from base to tip, given the load behind it."""
    freed = elements.freed(Segment(*alone, *NOTHING), load.segment())
    return Map(six.product(freed.A, alone[0]), six.add(freed.b, six.times(freed.A, alone[1])))


def _articulate(joint: Joint, bias: Bias, load: Load, tau: Sequence[Scalar]) -> tuple[Load, Freed]:
    """The articulated-body algorithm's own backward step, now that the load behind the segment is known."""
    return extended(joint, bias, load.segment(), tau).load, free(joint, bias, load, tau)


def _reach(reached: Map, a: Six) -> Six:
    """The acceleration of each segment's base."""
    return reached(a)


def _accelerate(joint: Joint, bias: Bias, freed: Freed, a: Six) -> tuple[Pair, tuple[Scalar, ...]]:
    rates, reached = respond(joint, six.halves(a), bias, freed)
    return reached, rates


class Rates(NamedTuple):
    """The part of a Motion that the next link needs."""

    w: Vector
    dw: Vector
    a: Vector


AT_BASE, UNLOADED = Motions().identity(), Forces().identity()
REST = Rates(vec.ZERO, vec.ZERO, vec.ZERO)


def inverse_dynamics(s: Segments) -> None:
    """tau = M(q) a + c(q, v, f_ext): rnea, with a scan of motions to the tip and one of forces to the base.

    The elements are the paper's (lie.py): the motion of a segment's tip relative to its base, and the force of the
    segment alone. The scans give the motion of every segment's base and the force at its tip. Then each lane runs
    rnea's own steps on its segment.
    """
    moved, pose, before = s.variable("moved", AT_BASE), s.variable("own", AT_BASE.pose), s.variable("before", AT_BASE)
    move, load = s.variable("motion", REST), s.variable("load", NO_FORCE)
    loaded, force = s.variable("loaded", UNLOADED), s.of_joints(NO_FORCE)
    s.sines()
    s.start(moved, AT_BASE)
    s.sweep(_place, moved, s.v, s.drive, into=moved)
    s.copied(moved, pose)
    s.outward(Motions(), moved)
    s.of_base(moved, before)
    s.once(partial(_arrive, s.down), s.root, s.base_drive, s.base_v, before, into=move)
    s.sweep(_force, move, s.v, s.drive, *s.external, into=(move, force))
    s.start(load, NO_FORCE)
    s.sweep(_gather, load, force, into=load, backward=True)
    s.once(Loaded, pose, load, into=loaded)
    s.inward(Forces(), loaded)
    if s.free:
        given = s.root, s.base_drive, s.base_v, loaded, s.base_external
        s.once(partial(_base_torques, s.down), *given, into=s.base_answer)
    s.of_tip(loaded.force, load, NO_FORCE)
    s.sweep(_torques, load, force, s.drive, into=(load, s.answer), backward=True)


def _place(joint: Joint, before: Moved, v: Sequence[Scalar], a: Sequence[Scalar]) -> Moved:
    """Pose, acceleration and velocity relative to the segment's base: `Motions.combine` with one more link."""
    (rotation, origin), acceleration, velocity = before
    axes = cast(Axes, rotation).axes
    rate, drive = joint.rate(v), joint.rate(a)
    x, y, z = (joint.rotation.into(row) for row in axes)
    carry = joint.transform.motion_to_child
    velocity = twist.add(carry(velocity), rate)
    acceleration = twist.add(carry(acceleration), twist.add(drive, twist.cross_motion(velocity, rate)))
    pose = Transform(Axes((x, y, z)), vec.add(origin, vec.times(axes, joint.origin)))
    return Moved(pose, acceleration, velocity)


def _arrive(down: Vector, root: Joint, a: Sequence[Scalar], v: Sequence[Scalar], before: Moved) -> Rates:
    """The motion of the base of every segment."""
    falling = root.rotation.into(down), vec.ZERO
    at_root = Moved(IDENTITY, twist.add(falling, root.rate(a)), root.rate(v))
    _, (linear, dw), (u, w) = Motions().combine(at_root, before)
    return Rates(w, dw, vec.add(linear, vec.cross(w, u)))


def _force(
    joint: Joint, before: Rates, v: Sequence[Scalar], a: Sequence[Scalar], *external: Wrench
) -> tuple[Rates, Wrench]:
    """rnea's forward step, and the force on the link alone."""
    moved = motion(joint, Motion(before.w, before.dw, spin(before.w, before.dw), before.a), v, a)
    return Rates(moved.w, moved.dw, moved.a), own_force(joint, moved, *external)


def _gather(joint: Joint, load: Wrench, force: Wrench) -> Pair:
    """The force of the segment alone, at its base."""
    return joint.transform.force_to_parent(plus(load, force))


def _base_torques(
    down: Vector, root: Joint, a: Sequence[Scalar], v: Sequence[Scalar], behind: Loaded, external: Sequence[Wrench]
) -> tuple[Scalar, ...]:
    """tau of a floating base, in the first lane."""
    moved = motion(root, at_rest(vec.scale(-1.0, down)), v, a)
    total = plus(own_force(root, moved, *external), behind.force)
    return torques(root, total, rnea.rates(root, v, a))


def _torques(joint: Joint, load: Wrench, force: Wrench, a: Sequence[Scalar]) -> tuple[Pair, tuple[Scalar, ...]]:
    """rnea's backward step, now that the load behind the segment is known."""
    total = plus(load, force)
    tau = torques(joint, total, a)
    return joint.transform.force_to_parent(total), tau
