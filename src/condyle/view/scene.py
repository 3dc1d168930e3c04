"""A scene: robots at some times, as numbers. What draws it knows no robot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from condyle.calls.dynamics import Dynamics
from condyle.errors import UnsupportedError
from condyle.model.array import Array, transpose
from condyle.model.contact import Contact
from condyle.model.parts import Frame
from condyle.model.placement import IDENTITY
from condyle.model.robot import Robot
from condyle.text import printable
from condyle.view.ground import ContactMark, HardPlane, SmoothGround, Surface, contact_marks, openings, said, surface_of
from condyle.view.picture import Sheet
from condyle.view.robot_parts import Mark, Parts, Point, parts_of
from condyle.view.states import checked_contact_forces, checked_dt, checked_forces, checked_points, checked_states

R = TypeVar("R", bound=Robot)
Poses = Callable[[Array], tuple[Array, Array]]
"""q (..., nq) to rotations (..., n_bodies, 3, 3) and origins (..., n_bodies, 3) of body frames in the world."""


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """N robots at T times, dt [s] apart.

    rotations (T, N, n_bodies + 1, 3, 3), origins (T, N, n_bodies + 1, 3): body frames in world axes; the last one is
    the world of that robot, so that body -1 is found. com (T, N, 3): of what moves. forces: (T, N, 3) [N] in world
    axes by frame. force_points: where they act, (T, N, 3). weight [N]: of one robot. size [m]: the diagonal of the box
    around one robot at the first time. floor [m]: the height of the grid: the lowest of the ground, else 0, or
    the lowest point then where a joint is below 0. contacts, surface: the marks, and the ground that was given.
    """

    name: str
    parts: Parts
    rotations: Array
    origins: Array
    com: Array
    forces: Mapping[str, Array]
    force_points: Mapping[str, Array]
    weight: float
    size: float
    floor: float
    dt: float
    contacts: tuple[ContactMark, ...] = ()
    surface: Surface | None = None

    @property
    def times(self) -> int:
        return self.origins.shape[0]

    @property
    def robots(self) -> int:
        return self.origins.shape[1]

    def points(self, points: Sequence[Point]) -> Array:
        """Points of bodies in the world, (T, N, n, 3)."""
        return placed(self.rotations, self.origins, points)

    def taken(self, times: Sequence[int]) -> Scene:
        """The scene at some of its times."""
        picked = list(times)
        return replace(
            self,
            rotations=self.rotations[picked],
            origins=self.origins[picked],
            com=self.com[picked],
            forces={name: force[picked] for name, force in self.forces.items()},
            force_points={name: at[picked] for name, at in self.force_points.items()},
        )

    def points_at(self, time: int, points: Sequence[Point]) -> Array:
        """The same at one time, (N, n, 3)."""
        return placed(self.rotations[time : time + 1], self.origins[time : time + 1], points)[0]

    def turned(self, body: int, axes: Array) -> Array:
        """Axes (3, n) of a body in world axes, (T, N, 3, n)."""
        return self.rotations[:, :, body] @ axes

    def pose_at(self, time: int, robot: int, mark: Mark) -> tuple[Array, Array]:
        """Rotation (3, 3) and origin (3,) of a frame in the world."""
        turn = self.rotations[time, robot, mark.origin.body]
        return turn @ mark.axes, turn @ mark.origin.position + self.origins[time, robot, mark.origin.body]

    def opening(self, time: int, robot: int, contact: ContactMark) -> tuple[float, float] | None:
        """How far a contact is open [m], [rad]; None for one that has no anchor."""
        if contact.anchor is None:
            return None
        return openings(contact, self.pose_at(time, robot, contact.frame), self.pose_at(time, robot, contact.anchor))

    def normal(self, time: int, robot: int, contact: ContactMark) -> Array | None:
        """The unit normal (3,) of the ground at a contact, in world axes: up without a ground; None for closures."""
        if not contact.has_normal:
            return None
        if self.surface is None:
            return np.array((0.0, 0.0, 1.0))
        return self.surface.normal_at(self.pose_at(time, robot, contact.frame)[1] - self.origins[time, robot, -1])

    def nets(self) -> list[Array]:
        """The net (n, m, 3) of the ground under each robot."""
        return [] if self.surface is None else [self.surface.net + at for at in self.origins[0, :, -1]]


def placed(rotations: Array, origins: Array, points: Sequence[Point]) -> Array:
    """Points of bodies in the world, (T, N, n, 3)."""
    if not points:
        return np.zeros((*origins.shape[:2], 0, 3))
    bodies = [point.body for point in points]
    offsets = np.stack([point.position for point in points])
    return (rotations[:, :, bodies] @ offsets[:, :, None])[..., 0] + origins[:, :, bodies]


def with_body_frames(robot: R) -> R:
    """The robot whose frames are those of its bodies, named by their numbers: what `Poses` asks for."""
    return replace(robot, frames={str(k): Frame(k, IDENTITY) for k in range(len(robot.bodies))}, contacts=())


def poses_of(dynamics: Dynamics, q: Array) -> tuple[Array, Array]:
    """`Poses` of a robot that was compiled for its bodies' frames."""
    found = dynamics.frame_placements(q)
    return np.asarray(found.rotation, np.float64), np.asarray(found.translation, np.float64)


def poses_by(robot: R, compiled: Callable[[R, tuple[str, ...]], Dynamics]) -> Poses:
    """Poses of a robot; compiled: its functions with these frames."""
    held = with_body_frames(robot)
    return partial(poses_of, compiled(held, tuple(held.frames))) if held.frames else nowhere


def nowhere(q: Array) -> tuple[Array, Array]:
    """`Poses` of a robot without bodies."""
    return np.zeros((*q.shape[:-1], 0, 3, 3)), np.zeros((*q.shape[:-1], 0, 3))


def scene_of(
    robot: Robot,
    poses: Poses,
    q: ArrayLike | None = None,
    *,
    trajectory: ArrayLike | None = None,
    dt: float = 0.01,
    frames: Iterable[str] | None = None,
    forces: Mapping[str, ArrayLike] | None = None,
    points: Mapping[str, ArrayLike] | None = None,
    spacing: float | None = None,
    contacts: Sequence[Contact] | None = None,
    contact_forces: ArrayLike | None = None,
    ground: HardPlane | SmoothGround | None = None,
    heights: ArrayLike | None = None,
) -> Scene:
    """The scene of these states; arguments and errors are those of `Robot.show`."""
    if spacing is not None and not (isinstance(spacing, Real) and 0.0 <= spacing < math.inf):
        raise UnsupportedError(f"spacing={spacing!r}, expected metres between robots, 0 or more")
    states = checked_states(robot, q, trajectory)
    times, robots = states.shape[:2]
    pushed = checked_forces(robot, forces, times, robots)
    parts = parts_of(robot, frames)
    rotations, origins = _with_world(*poses(states), (times, robots))
    joints = [Point(j.parent, j.placement.translation) for j in robot.joints if not j.kind.is_free]
    drawn = [*joints, *(end for link in parts.links for end in (link.start, link.end))]
    drawn += [e.centre for e in parts.ellipsoids]
    first = placed(rotations[:1, :1], origins[:1, :1], drawn or [Point(-1, np.zeros(3))])[0, 0]
    size = max(float(np.linalg.norm(np.ptp(first, axis=0))), 0.1)
    surface, feet = _ground(ground, heights, np.reshape(origins, (-1, 3)), size)
    origins = origins + _layout(robots, 1.2 * size if spacing is None else spacing)[:, None]
    marks = contact_marks(robot, robot.contacts if contacts is None else contacts, feet)
    at_contacts = checked_contact_forces(contact_forces, len(marks), times, robots)
    acting = checked_points(pushed, points)
    places = {k: Point(robot.frames[k].body, robot.frames[k].placement.apply(acting[k])) for k in pushed}
    force_points = {name: placed(rotations, origins, [at])[:, :, 0] for name, at in places.items()}
    if at_contacts is not None:
        pushed |= {m.name: _in_world(rotations, m, at_contacts[:, :, k]) for k, m in enumerate(marks)}
        force_points |= {m.name: placed(rotations, origins, [m.frame.origin])[:, :, 0] for m in marks}
    floor = None if surface is None else surface.floor
    weight = robot.mass * float(np.linalg.norm(robot.gravity)) or 1.0
    return Scene(
        robot.name,
        parts,
        rotations,
        origins,
        _com(robot, rotations, origins),
        pushed,
        force_points,
        weight,
        size,
        _floor(parts, rotations, origins, first) if floor is None else floor,
        checked_dt(dt),
        tuple(marks),
        surface,
    )


def _ground(
    ground: HardPlane | SmoothGround | None, heights: ArrayLike | None, spread: Array, size: float
) -> tuple[Surface | None, tuple[object, ...]]:
    if ground is not None:
        return surface_of(ground, heights, spread, size)
    if heights is not None:
        raise UnsupportedError("heights: give the ground too, ground=Ground(..., height=Grid(...))")
    return None, ()


def _in_world(rotations: Array, mark: ContactMark, force: Array) -> Array:
    """Forces (T, N, 6) in a contact's axes, torques left out, or (T, N, 3) in world axes: (T, N, 3) in world axes."""
    if force.shape[-1] == 3:
        return force
    turn = rotations[:, :, mark.frame.origin.body] @ mark.frame.axes
    return (turn @ force[..., :3, None])[..., 0]


def _with_world(rotations: Array, origins: Array, batch: tuple[int, int]) -> tuple[Array, Array]:
    world = np.broadcast_to(np.eye(3), (*batch, 1, 3, 3))
    return np.concatenate([rotations, world], axis=2), np.concatenate([origins, np.zeros((*batch, 1, 3))], axis=2)


def _floor(parts: Parts, rotations: Array, origins: Array, first: Array) -> float:
    """0, or the lowest point of all ellipsoids where joints and centres, first (n, 3), reach below 0."""
    if float(first[:, 2].min()) > -1e-3:
        return 0.0
    lowest = [float(first[:, 2].min())]
    for e in parts.ellipsoids:
        half = rotations[0, 0, e.centre.body] @ (e.axes * e.radii)
        at = placed(rotations[:1, :1], origins[:1, :1], [e.centre])[0, 0, 0, 2]
        lowest.append(float(at - np.linalg.norm(half[2])))
    return min(lowest)


def _layout(robots: int, spacing: float) -> Array:
    """Where each robot stands, (N, 3): side by side along y, the next rows along x."""
    columns = math.ceil(math.sqrt(robots))
    return np.array([(spacing * (k // columns), spacing * (k % columns), 0.0) for k in range(robots)])


def _com(robot: Robot, rotations: Array, origins: Array) -> Array:
    """The centre of mass of what moves, (T, N, 3); the world's origin where nothing has mass."""
    masses = np.array([body.mass for body in robot.bodies])
    if not masses.sum():
        return origins[:, :, -1]
    centres = placed(rotations, origins, [Point(k, body.com) for k, body in enumerate(robot.bodies)])
    return np.tensordot(centres, masses, axes=([2], [0])) / masses.sum()


# Contacts, loop closures and the ground in a picture.


NORMAL, SMALL = 0.09, 0.035
"""Lengths as a share of the robot's size: of a normal, and of the axes of a contact's frame."""
OWN, HELD = 3.0, 5.5
"""Radii [px]: of the dot at a contact, and of the ring where it is held."""


@dataclass(frozen=True, slots=True)
class Shot:
    """One robot at one time, and how opaque it is drawn."""

    time: int
    robot: int
    opacity: float


def draw_surface(sheet: Sheet, scene: Scene) -> None:
    """The net of the ground under each robot."""
    for net in scene.nets():
        for lines in (net, np.swapaxes(net, 0, 1)):
            for line in lines:
                sheet.line(list(line), "ground", 0.6)


def draw_contacts(sheet: Sheet, scene: Scene, shot: Shot, aloud: bool) -> None:
    """Each contact: its two frames, a line between them, the normal; aloud: with the error in words."""
    for contact in scene.contacts:
        turn, at = scene.pose_at(shot.time, shot.robot, contact.frame)
        _held(sheet, scene, shot, contact, at, aloud)
        _axes(sheet, scene, shot, turn, at)
        title = f"{printable(contact.name)}: {contact.kind}"
        sheet.dot(at, OWN, "contact solid", shot.opacity, title)
        normal = scene.normal(shot.time, shot.robot, contact)
        if normal is not None:
            tip = at + NORMAL * scene.size * normal
            sheet.arrow(at, tip, "contact", shot.opacity, f"normal at {printable(contact.name)}")


def _held(sheet: Sheet, scene: Scene, shot: Shot, contact: ContactMark, point: Array, aloud: bool) -> None:
    """The frame where a contact is held, the line to it, and how far they are apart."""
    opening = scene.opening(shot.time, shot.robot, contact)
    if contact.anchor is None or opening is None:
        return
    turn, end = scene.pose_at(shot.time, shot.robot, contact.anchor)
    words = said(contact, opening)
    title = f"{printable(contact.name)}: {'open by ' + words if words else 'closed'}"
    _axes(sheet, scene, shot, turn, end)
    sheet.dot(end, HELD, "contact", shot.opacity, title)
    if words:
        sheet.line([point, end], "contact", shot.opacity, title)
    if words and aloud:
        x, y = sheet.pixel(0.5 * (point + end))
        _ = sheet.words((x + 9.0, y + 14.0), words, "name") or sheet.words((x - 9.0, y + 14.0), words, "name", "end")


def _axes(sheet: Sheet, scene: Scene, shot: Shot, turn: Array, origin: Array) -> None:
    for letter, axis in zip("xyz", transpose(turn), strict=True):
        sheet.line([origin, origin + SMALL * scene.size * axis], letter, shot.opacity)
