"""What can be wrong with a robot's numbers: impossible bodies, subtrees that nothing resists, odd limits."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import cast

import numpy as np

from condyle.errors import Finding, ModelError
from condyle.model.array import Array, moderate, motion_matrix, short, skew, transpose
from condyle.model.named import wrong_spring
from condyle.model.parts import FORCE_NUMBERS, Body, Joint, RobotData, stopped
from condyle.model.placement import Placement
from condyle.model.state import random_state
from condyle.model.tree import Link, tree_of
from condyle.scalar import number
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Axes

# Coordinates that move no inertia of their own, whatever the configuration: M(q) is singular then, and has no inverse.
#
# M = Aᵀ A, where A says how fast masses move: a row for each sqrt(mass) of a velocity, each sqrt(moment) of a turn,
# each sqrt(armature). Coordinates are eliminated from A by orthogonal transforms, the last first, link by link, so that
# a link hands few rows to its parent. What is left of a coordinate's column is the root of its pivot in M = Lᵀ D L. It
# is compared with what could be there: the masses behind the joint and their distances. Rounding leaves some 1e-16 of
# that; of a pivot of M itself it leaves as much, and a pivot is a square.
#
# Who has little left waits until all others are eliminated, then the largest goes first: coordinates that only together
# move nothing would hide it else, each by the little that the other one lacks.


NOTHING = 1e-11
"""Of what could be there; a coordinate with less is idle."""
WEAK, LONG = (1e-3, 1e-6), 300
"""Who has less than the first waits, in robots with more coordinates than LONG than the second: waiting costs time."""
FLAT = 1e-12
"""A principal moment below so much of the largest one is rounding."""


@dataclass(frozen=True)
class _Factor:
    """A of some links: (states, rows, columns), a column for each coordinate in `shared`, then six of a motion.

    mass: of the links. reach: the root of their moments about the origin of the motion, or more.
    """

    matrix: Array
    shared: tuple[int, ...]
    mass: float
    reach: float


def idle_coordinates(robot: RobotData, q: Array) -> list[int]:
    """The numbers of coordinates without inertia of their own at every one of the states q (n, nq), ascending."""
    if is_sound(robot):
        return []
    return [int(k) for k in np.flatnonzero(np.all(shares(robot, q) <= NOTHING, axis=0))]


def is_sound(robot: RobotData) -> bool:
    """Whether every body resists every motion, or its joint has armature all over: M has an inverse then, at every q.

    Where nothing that moves has energy, joint after joint from the root on has to rest.
    """
    doubtful = [
        body for joint, body in zip(robot.joints, robot.bodies, strict=True) if not (joint.armature > 0.0).all()
    ]
    if not doubtful:
        return True
    moments = np.linalg.eigvalsh(np.array([body.inertia for body in doubtful]))
    solid = (moments[:, 0] > 0.0) & (moments[:, 0] > FLAT * moments[:, 2])
    return bool(solid.all()) and all(body.mass > 0.0 for body in doubtful)


def shares(robot: RobotData, q: Array) -> Array:
    """What is left of each coordinate's column, of what could be there, (n, nv); those behind it are free to move."""
    return _Elimination(robot, q).run()


class _Elimination:
    """One run over the links, leaves first."""

    def __init__(self, robot: RobotData, q: Array) -> None:
        self.tree, self.bodies, self.q = tree_of(robot), robot.bodies, q
        self.left, self.size = np.zeros((len(q), robot.nv)), np.zeros(robot.nv)
        self.weak = WEAK[robot.nv > LONG]
        self.to_come = Counter(coordinate.entry for link in self.tree.links for coordinate in link.v)

    def run(self) -> Array:
        carried: dict[int, list[_Factor]] = defaultdict(list)
        for i, link in reversed(list(enumerate(self.tree.links))):
            behind = _stacked([self._body(link), *carried.pop(i, [])])
            carried[link.parent].append(self._eliminated(self._through(link, behind)))
        if carried:
            world = _stacked(carried[-1])
            self._eliminate_waiting(world.matrix[..., :-6], world.shared)
        return self.left / np.where(self.size > 0.0, self.size, 1.0)

    def _body(self, link: Link) -> _Factor:
        """A of one body by the motion of its link."""
        rows = np.zeros((len(self.q), 6, 6))
        if link.body < 0:
            return _Factor(rows, (), 0.0, 0.0)
        body = self.bodies[link.body]
        turn = np.array(cast(Axes, link.body_frame.rotation).axes, np.float64)
        com = turn @ body.com + np.array(link.body_frame.translation, np.float64)
        moments, axes = np.linalg.eigh(body.inertia)
        moments = np.where(moments > FLAT * np.max(np.abs(moments)), moments, 0.0)
        root = np.sqrt(max(body.mass, 0.0))
        rows[:, :3, :3], rows[:, :3, 3:] = root * np.eye(3), -root * skew(com)
        rows[:, 3:, 3:] = np.sqrt(moments)[:, None] * (transpose(axes) @ transpose(turn))
        return _Factor(rows, (), body.mass, float(np.sqrt(2.0 * body.mass * (com @ com) + moments.sum())))

    def _through(self, link: Link, behind: _Factor) -> _Factor:
        """A by the joint's own coordinates and the motion before it."""
        motion, rest = behind.matrix[..., -6:], behind.matrix[..., :-6]
        columns = dict(zip(behind.shared, np.moveaxis(rest, 2, 0), strict=True))
        rotors: list[tuple[int, float]] = []
        subspace = link.kind.subspace(link.numbers.pitch)
        for (linear, angular), armature, own in zip(subspace, link.numbers.armature, link.v, strict=True):
            line, turn = np.array(linear, np.float64), np.array(angular, np.float64)
            root = float(np.sqrt(cast(float, armature)))
            columns[own.entry] = columns.get(own.entry, 0.0) + own.ratio * (motion @ np.concatenate((line, turn)))
            size = math.sqrt(behind.mass) * math.hypot(*line) + behind.reach * math.hypot(*turn) + root
            self.size[own.entry] += abs(own.ratio) * size
            self.to_come[own.entry] -= 1
            if root:
                rotors.append((own.entry, own.ratio * root))
        across, distance = self._across(link)
        moved = np.stack([*columns.values(), *np.moveaxis(motion @ across, 2, 0)], axis=-1)
        extra = np.zeros((len(self.q), len(rotors), moved.shape[2]))
        for row, (at, root) in enumerate(rotors):
            extra[:, row, list(columns).index(at)] = root
        reach = behind.reach + float(np.sqrt(2.0 * behind.mass)) * distance
        return _Factor(np.concatenate((moved, extra), axis=1), tuple(columns), behind.mass, reach)

    def _across(self, link: Link) -> tuple[Array, float]:
        """The motion of a link by that of its parent (n, 6, 6) while the joint rests, and how far off it is at most."""
        values = [number(self.q[:, c.entry] * c.ratio + c.offset) for c in link.q]
        turned, moved = link.kind.transform(values, link.numbers.pitch)
        placed = np.array(link.numbers.rotation, np.float64)
        n = len(self.q)
        turn, shift = np.empty((n, 3, 3)), np.empty((n, 3))
        for j, column in enumerate(vec.transpose(link.numbers.rotation)):
            for i, x in enumerate(turned.into(column)):
                turn[:, i, j] = cast(Array, x)
        for i, x in enumerate(moved):
            shift[:, i] = cast(Array, x)
        origin: Array = shift @ placed + np.array(link.numbers.origin, np.float64)
        return motion_matrix(turn, origin), float(np.linalg.norm(origin, axis=-1).max())

    def _eliminated(self, factor: _Factor) -> _Factor:
        """Without the coordinates that no other link shares, the last first; idle ones and weak ones wait."""
        done = sorted((k for k in factor.shared if not self.to_come[k]), reverse=True)
        while True:
            kept = [k for k in factor.shared if k not in done]
            order = [*(factor.shared.index(k) for k in (*done, *kept)), *range(-6, 0)]
            upper = cast(Array, np.linalg.qr(factor.matrix[..., order], mode="r"))
            left = np.abs(np.diagonal(upper, axis1=1, axis2=2)[:, : len(done)])
            waits = [k for k, x in zip(done, np.transpose(left), strict=True) if x.min() <= self.weak * self.size[k]]
            if not waits:
                break
            done.remove(waits[0])
            self.to_come[waits[0]] += 1
        self.left[:, done] = left
        return replace(factor, matrix=upper[:, len(done) :, len(done) :], shared=tuple(kept))

    def _eliminate_waiting(self, matrix: Array, waiting: Sequence[int]) -> None:
        """The coordinates that have waited, the one with the largest share first."""
        names = list(waiting)
        columns: Array = matrix / np.where(self.size[names] > 0.0, self.size[names], 1.0)
        while names:
            lengths: Array = np.linalg.norm(columns, axis=1)
            at = int(np.argmax(lengths.min(axis=0)))
            self.left[:, names[at]] = lengths[:, at] * self.size[names[at]]
            unit = columns[..., at] / np.where(lengths[:, at] > 0.0, lengths[:, at], 1.0)[:, None]
            columns = np.delete(columns, at, axis=2)
            for _ in range(2):  # the second time takes the rounding of the first
                columns = columns - unit[:, :, None] * (unit[:, None, :] @ columns)
            del names[at]


def _stacked(factors: Sequence[_Factor]) -> _Factor:
    """A of all of them together."""
    shared = tuple(dict.fromkeys(k for factor in factors for k in factor.shared))
    parts: list[Array] = []
    for factor in factors:
        wide = np.zeros((*factor.matrix.shape[:2], len(shared) + 6))
        wide[..., [*(shared.index(k) for k in factor.shared), *range(-6, 0)]] = factor.matrix
        parts.append(wide)
    mass, reach = sum(factor.mass for factor in factors), math.hypot(*(factor.reach for factor in factors))
    return _Factor(np.concatenate(parts, axis=1), shared, mass, reach)


POINT_MASS = "a mass but no inertia: a point mass"
NO_MASS = "an inertia but no mass"

_KEPT = "it is used as it stands; give both, or neither"

_ROUNDING = 1e-9
_TINY = 1e-6  # m², of one millimetre: moments are compared with those of a body of that size
_GYRATION = 5.0
_SMALLEST = 0.1


@dataclass(frozen=True, slots=True)
class Source:
    """Where links stand in a file, for messages: lines by link name."""

    file: str | None = None
    lines: Mapping[str, int] = field(default_factory=dict[str, int])


NOWHERE = Source()


def check(robot: RobotData) -> tuple[Finding, ...]:
    """Return what is wrong or doubtful in this robot, a `Finding` each; an empty tuple if nothing is.

    Bodies that cannot exist (merged bodies about their own frames), joints that move no mass, limits that are reversed,
    or that leave a joint with followers no motion.
    """
    bodies = [finding for body in robot.bodies for finding in check_body(body)]
    return (*bodies, *check_structure(robot))


def check_structure(robot: RobotData, source: Source = NOWHERE) -> tuple[Finding, ...]:
    """Findings that need the whole tree: singular joints, sizes that do not fit, reversed limits."""
    findings = [
        Finding(
            "physics",
            "has a motion that moves no mass while the joints behind it are free: the mass matrix is singular, "
            "so there is no forward dynamics",
            source.file,
            source.lines.get(robot.bodies[i].name),
            f"joint {robot.joints[i].name!r}",
            f"give mass and inertia to link {robot.bodies[i].name!r} or to what it carries, or lock the joint",
        )
        for i in singular_joints(robot)
    ]
    findings += _oversized(robot, source)
    for joint in robot.joints:
        if not (moderate(joint.armature) and bool((joint.armature >= 0.0).all())):
            wrong = f"armature {short(joint.armature)}, expected 0 or more of each degree of freedom, and finite"
            findings.append(Finding("error", wrong, source.file, None, f"joint {joint.name!r}"))
        if wrong := wrong_spring(joint.kind, joint.stiffness):
            findings.append(Finding("error", wrong, source.file, None, f"joint {joint.name!r}"))
        if (joint.lower > joint.upper).any():
            odd = "lower limit above the upper one"
            findings.append(Finding("note", odd, source.file, None, f"joint {joint.name!r}"))
    for joint, left in stopped(robot.joints):
        odd = f"limits of joints that mimic it leave it no motion: {left}"
        cure = "correct their limits or multipliers"
        findings.append(Finding("note", odd, source.file, None, f"joint {joint.name!r}", cure))
    return tuple(findings)


def _finding(severity: str, message: str, source: Source, link: str | None, cure: str | None = None) -> Finding:
    line = None if link is None else source.lines.get(link)
    return Finding(severity, message, source.file, line, None if link is None else f"link {link!r}", cure)


def check_body(body: Body, source: Source = NOWHERE) -> list[Finding]:
    """Return what is impossible ("error") or doubtful ("physics") in the mass and inertia of one body.

    Errors: a negative mass, a negative moment, an inertia that is not positive definite about the link's origin.
    Doubtful: an inertia that is indefinite about the com only (in files with rounded numbers), one that breaks the
    triangle inequality, a mass without inertia, an inertia without mass.
    """
    if body.mass < 0.0:
        return [_finding("error", f"mass {body.mass:.9g} kg, expected 0 or more", source, body.name)]
    inertia = body.inertia
    if body.mass == 0.0:
        if inertia.any():
            return _check_moments(body, source) or [_finding("physics", NO_MASS, source, body.name, _KEPT)]
        return []
    if float(np.max(np.abs(inertia))) <= _ROUNDING * _TINY * body.mass:
        return [_finding("physics", POINT_MASS, source, body.name, "give its inertia")]
    return _check_moments(body, source)


def _check_moments(body: Body, source: Source) -> list[Finding]:
    moments = np.linalg.eigvalsh(body.inertia)
    c = body.com
    about_origin = np.linalg.eigvalsh(body.inertia + body.mass * (float(c @ c) * np.eye(3) - c[:, None] * c))
    text = ", ".join(f"{m:.6g}" for m in moments)
    slack = _ROUNDING * (float(np.max(np.abs(moments))) + _TINY * body.mass)
    if float(np.min(np.diagonal(body.inertia))) < -slack or float(about_origin[0]) < -slack:
        message = f"inertia not positive definite: principal moments {text} kg m²"
        return [_finding("error", message, source, body.name, "check signs and units of the inertia")]
    if float(moments[0]) < -slack:
        message = f"inertia indefinite about the com: principal moments {text} kg m²"
        return [_finding("physics", message, source, body.name, "check the products of inertia")]
    if float(moments[0] + moments[1] - moments[2]) < -slack:
        message = f"principal moments {text} kg m² break the triangle inequality"
        return [_finding("physics", message, source, body.name, "no rigid body has this inertia; often rounding")]
    return []


def _oversized(robot: RobotData, source: Source) -> list[Finding]:
    """Bodies whose radius of gyration is far beyond anything else known about their size: a unit mistake, mostly."""
    pairs = zip(robot.joints, robot.bodies, strict=True)
    size = [max(_SMALLEST, _norm(body.com), _norm(joint.placement.translation)) for joint, body in pairs]
    for joint in robot.joints:
        if joint.parent >= 0:
            size[joint.parent] = max(size[joint.parent], _norm(joint.placement.translation))
    for frame in robot.frames.values():
        if frame.body >= 0:
            size[frame.body] = max(size[frame.body], _norm(frame.placement.translation))
    findings: list[Finding] = []
    for body, extent in zip(robot.bodies, size, strict=True):
        largest = float(np.max(np.diagonal(body.inertia)))
        if body.mass > 0.0 and largest > body.mass * (_GYRATION * extent) ** 2:
            radius = float(np.sqrt(largest / body.mass))
            message = f"radius of gyration {radius:.3g} m, while the link measures about {extent:.2g} m"
            findings.append(_finding("note", message, source, body.name, "check the units of its inertia"))
    return findings


def _norm(x: Array) -> float:
    return float(np.sqrt(x @ x))


def singular_joints(robot: RobotData) -> tuple[int, ...]:
    """Joints of which some motion moves nothing, or nothing that those behind them cannot undo; see `idle_coordinates`.

    They make M singular in every configuration. Armature counts as inertia. Of such joints in a row the first stands
    for all.
    """
    idle = idle_coordinates(robot, random_state(robot, 3, 0).q)
    found = [any(joint.v_index <= k < joint.v_index + joint.nv for k in idle) for joint in robot.joints]
    return tuple(
        i for i, joint in enumerate(robot.joints) if found[i] and not (joint.parent >= 0 and found[joint.parent])
    )


# Robots that cannot be: parts that `dataclasses.replace` put together, refused by name.


CLOSE = 1e-6
"""How far an axis may be from unit length, and a rotation from orthogonal: far more than rounding."""


def refuse_impossible(robot: RobotData) -> None:
    """ModelError with every body and joint whose numbers no robot has: an inertia that is not positive definite about
    the body's own frame, a negative or endless armature, an axis that is not unit, a placement that is none.

    Loading has refused such files already, and with their lines; this is for robots that were made in code.
    """
    findings = [one for k in _doubtful(robot) for one in check_body(robot.bodies[k]) if one.severity == "error"]
    for joint in robot.joints:
        findings += [Finding("error", wrong, element=f"joint {joint.name!r}") for wrong in _wrong(joint)]
    if findings:
        raise ModelError(findings)


def check_drives(robot: RobotData, forces: Sequence[str]) -> None:
    """ModelError for numbers of joints that these forces cannot have: negative ones, and limits upside down."""
    findings: list[Finding] = []
    for law, name in (("damping", "damping"), ("friction", "friction"), ("springs", "stiffness")):
        for joint in robot.joints if law in forces else ():
            if not (getattr(joint, name) >= 0.0).all():
                wrong = f"{name} {short(getattr(joint, name))}: expected 0 or more"
                findings.append(Finding("error", wrong, element=f"joint {joint.name!r}"))
    for joint in robot.joints if "limits" in forces else ():
        low, high = (getattr(robot, name)[joint.q_slice] for name in ("lower", "upper"))
        if joint.mimic is None and not (low <= high).all():
            wrong = f"limits: lower {short(low)}, upper {short(high)}: expected lower <= upper"
            findings.append(Finding("error", wrong, element=f"joint {joint.name!r}"))
    if findings:
        raise ModelError(findings)


def _doubtful(robot: RobotData) -> list[int]:
    """Bodies that have to be looked at one by one: those whose inertia about their frame has a moment of 0 or less."""
    if not robot.bodies:
        return []
    c = np.stack([body.com for body in robot.bodies])
    mass = np.array([body.mass for body in robot.bodies])[:, None, None]
    central = np.stack([body.inertia for body in robot.bodies])
    square = np.sum(c * c, axis=-1)[:, None, None] * np.eye(3)
    least = np.linalg.eigvalsh(central + mass * (square - c[:, :, None] * c[:, None, :]))[:, 0]
    least = np.minimum(least, np.diagonal(central, axis1=1, axis2=2).min(axis=-1))
    return [int(k) for k in np.flatnonzero(least <= 0.0)]


def _wrong(joint: Joint) -> Iterator[str]:
    armature = joint.armature
    if not (moderate(armature) and bool((armature >= 0.0).all())):
        yield f"armature {short(armature)}, expected 0 or more of each degree of freedom, and finite"
    if wrong := wrong_spring(joint.kind, joint.stiffness):
        yield wrong
    for name in FORCE_NUMBERS:
        if not moderate(getattr(joint, name)):
            yield f"{name} {short(getattr(joint, name))}, expected finite numbers"
    for name, axis in (("axis", joint.axis), ("second_axis", joint.second_axis))[: joint.kind.axes]:
        if axis is None or not abs(float(axis @ axis) - 1.0) < CLOSE:
            yield f"{name} {'None' if axis is None else short(axis)}, expected a unit vector"
    for name, place in (("placement", joint.placement), ("after", joint.after)):
        if not _is_turn(place):
            yield f"{name}: its rotation {short(place.rotation)} is not one, or a number is not finite"


def _is_turn(place: Placement) -> bool:
    turn: Array = place.rotation
    if not (moderate(turn) and moderate(place.translation)):
        return False
    return bool(np.abs(turn @ transpose(turn) - np.eye(3)).max() < CLOSE) and float(np.linalg.det(turn)) > 0.0
