"""From a scene to a picture: what is drawn, in which order, and how large."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import Array
from condyle.specification.integrators import LAYERS, USUAL
from condyle.text import printable
from condyle.view.ground import Ground, draw_ground
from condyle.view.picture import HEIGHT, MARGIN, WIDTH, Picture, Sheet, Words, camera
from condyle.view.scene import NORMAL, Scene, Shot, draw_contacts, draw_surface

AXIS, RANGE, TRIAD, FORCE = 0.11, 0.07, 0.06, 0.5
"""Lengths as a share of the robot's size; of a force: that of its weight."""
PATH = 400
"""Points of a path, at most."""
SHOTS = 5
"""Times of a trajectory that are drawn over each other."""


def checked_layers(layers: Sequence[str]) -> tuple[str, ...]:
    """UnsupportedError for a word that is no layer."""
    if isinstance(layers, str) or not isinstance(layers, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        such = layers if layers in LAYERS else LAYERS[0]
        raise UnsupportedError(f"layers={layers!r}, expected several words, such as ({such!r},)")
    if wrong := [word for word in layers if word not in LAYERS]:
        raise UnsupportedError(f"layers: {wrong[0]!r} is not one of {', '.join(LAYERS)}")
    return tuple(layers)


def draw(scene: Scene, view: str = "iso", layers: Sequence[str] = USUAL) -> Picture:
    """The picture of a scene; of a trajectory at most five times, the last one opaque. UnsupportedError."""
    layers, seen_by = checked_layers(layers), camera(view)
    shown = sorted({round(k) for k in np.linspace(0, scene.times - 1, min(SHOTS, scene.times)).tolist()})
    some = scene.taken(shown)
    fades = np.linspace(0.25, 1.0, len(shown)).tolist() if len(shown) > 1 else [1.0]
    shots = [Shot(time, robot, fade) for time, fade in enumerate(fades) for robot in range(scene.robots)]
    box = np.concatenate([box_of(some), *(_outlines(some) if "limits" in layers else ())])
    ground = Ground.under(box, scene.floor)
    sheet = Sheet.around(seen_by, seen_by.flat(np.concatenate([box, ground.corners, ground.upright(seen_by)])))
    draw_ground(sheet, ground)
    if "ground" in layers:
        draw_surface(sheet, scene)
    for shot in shots:
        draw_robot(sheet, some, shot, layers)
    if "com" in layers and scene.times > 1:
        for robot in range(scene.robots):
            sheet.line(list(scene.com[:: -(-scene.times // PATH), robot]), "path", title="path of the centre of mass")
    _legend(sheet, scene, layers)
    return Picture(printable(scene.name), WIDTH, HEIGHT, tuple(sheet.items))


def box_of(scene: Scene) -> Array:
    """Points (n, 3) that hold all that is drawn."""
    ends = scene.points([end for link in scene.parts.links for end in (link.start, link.end)])
    marks = scene.points([mark.origin for mark in scene.parts.marks])
    reach: list[Array] = []
    for e in scene.parts.ellipsoids:
        half = scene.turned(e.centre.body, e.axes * e.radii)
        wide = np.sqrt(np.sum(half**2, axis=-1))
        at = scene.points([e.centre])[:, :, 0]
        reach += [at - wide, at + wide]
    held = scene.points([of.origin for one in scene.contacts for of in (one.frame, one.anchor) if of is not None])
    tips = [scene.force_points[k] + _force(scene, f) for k, f in scene.forces.items()]
    arrows = NORMAL * scene.size if any(one.has_normal for one in scene.contacts) else 0.0
    every = np.concatenate(
        [ends, marks, held - arrows, held + arrows, np.stack([*reach, *tips, scene.com], axis=2)], axis=2
    )
    return np.concatenate([np.reshape(points, (-1, 3)) for points in (every, *scene.nets())])


def _force(scene: Scene, force: Array) -> Array:
    """A force [N] as a displacement [m]."""
    return force * (FORCE * scene.size / scene.weight)


def draw_robot(sheet: Sheet, scene: Scene, shot: Shot, layers: tuple[str, ...]) -> None:
    """One robot: bodies and links from far to near, then what lies on them, names last."""
    solid: list[tuple[float, Callable[[], None]]] = []
    if "bodies" in layers:
        solid += _bodies(sheet, scene, shot)
    if "links" in layers:
        solid += _links(sheet, scene, shot)
    for _, put in sorted(solid, key=lambda one: one[0]):
        put()
    for layer, lay in {"axes": _axes, "limits": _limits, "frames": _frames}.items():
        if layer in layers:
            lay(sheet, scene, shot)
    if "contacts" in layers:
        draw_contacts(sheet, scene, shot, shot.time == scene.times - 1)
    if "com" in layers:
        sheet.dot(scene.com[shot.time, shot.robot], 5.5, "com", shot.opacity, "centre of mass")
        sheet.dot(scene.com[shot.time, shot.robot], 1.5, "com solid", shot.opacity)
    if "forces" in layers:
        _forces(sheet, scene, shot)
    if "names" in layers and shot.time == scene.times - 1:
        _names(sheet, scene, shot)


def _bodies(sheet: Sheet, scene: Scene, shot: Shot) -> list[tuple[float, Callable[[], None]]]:
    found: list[tuple[float, Callable[[], None]]] = []
    for e in scene.parts.ellipsoids:
        at = scene.points([e.centre])[shot.time, shot.robot, 0]
        half = scene.turned(e.centre.body, e.axes * e.radii)[shot.time, shot.robot]
        title = f"{printable(e.name)}: {e.mass:.4g} kg"

        def put(centre: Array = at, half: Array = half, title: str = title) -> None:
            sheet.ellipse(centre, half, "body", shot.opacity, title)

        found.append((float(sheet.camera.depth(at)), put))
    return found


def _links(sheet: Sheet, scene: Scene, shot: Shot) -> list[tuple[float, Callable[[], None]]]:
    found: list[tuple[float, Callable[[], None]]] = []
    ends = scene.points([end for link in scene.parts.links for end in (link.start, link.end)])[shot.time, shot.robot]
    for link, start, end in zip(scene.parts.links, ends[::2], ends[1::2], strict=True):

        def put(start: Array = start, end: Array = end, title: str = printable(link.name)) -> None:
            sheet.line([start, end], "link", shot.opacity, title)

        found.append((float(sheet.camera.depth(0.5 * (start + end))), put))
    return found


def _axes(sheet: Sheet, scene: Scene, shot: Shot) -> None:
    for axis in scene.parts.axes:
        at = scene.points([axis.point])[shot.time, shot.robot, 0]
        along = scene.turned(axis.point.body, axis.direction[:, None])[shot.time, shot.robot, :, 0] * AXIS * scene.size
        title = f"{printable(axis.name)}: {axis.type}"
        sheet.arrow(at - 0.5 * along, at + along, "axis", shot.opacity, title)


def _outlines(scene: Scene) -> list[Array]:
    """Points (n, 3) of what is drawn of limits."""
    radius = RANGE * scene.size
    return [np.reshape(scene.points(one.outline(radius)), (-1, 3)) for one in scene.parts.ranges]


def _limits(sheet: Sheet, scene: Scene, shot: Shot) -> None:
    radius = RANGE * scene.size
    for one in scene.parts.ranges:
        title = f"{printable(one.name)}: {one.lower:.4g} to {one.upper:.4g} {'m' if one.slides else 'rad'}"
        for points in (one.outline(radius), one.pointing(radius)):
            sheet.line(list(scene.points(points)[shot.time, shot.robot]), "limit", shot.opacity, title)


def _frames(sheet: Sheet, scene: Scene, shot: Shot) -> None:
    for mark in scene.parts.marks:
        at = scene.points([mark.origin])[shot.time, shot.robot, 0]
        ends = at + TRIAD * scene.size * scene.turned(mark.origin.body, mark.axes)[shot.time, shot.robot].T
        for letter, end in zip("xyz", ends, strict=True):
            sheet.line([at, end], letter, shot.opacity, f"{letter} of {printable(mark.name)}")


def _forces(sheet: Sheet, scene: Scene, shot: Shot) -> None:
    for name, force in scene.forces.items():
        start, pushed = (of[shot.time, shot.robot] for of in (scene.force_points[name], force))
        if pushed.any():
            title = f"force on {printable(name)}: {np.linalg.norm(pushed):.4g} N"
            sheet.arrow(start, start + _force(scene, pushed), "force", shot.opacity, title)


def _names(sheet: Sheet, scene: Scene, shot: Shot) -> None:
    """The frames' names, on the right of each or on its left; one that would cover another is left out."""
    for mark in scene.parts.marks:
        x, y = sheet.pixel(scene.points([mark.origin])[shot.time, shot.robot, 0])
        text = printable(mark.name)
        _ = sheet.words((x + 9.0, y - 5.0), text, "name") or sheet.words((x - 9.0, y - 5.0), text, "name", "end")


def _legend(sheet: Sheet, scene: Scene, layers: tuple[str, ...]) -> None:
    """The robot's name above; below, what each sign means."""
    moving = "" if scene.times == 1 else f", {scene.times} states, {scene.dt * (scene.times - 1):.4g} s"
    many = "" if scene.robots == 1 else f", {scene.robots} robots"
    sheet.items.append(Words((MARGIN / 2, 26.0), printable(scene.name) + many + moving, "title"))
    lower = {
        "bodies": ("body", "body: ellipsoid of its inertia"),
        "links": ("link", "link"),
        "axes": ("axis", "joint axis"),
        "limits": ("limit", "range of a joint, and its q") if scene.parts.ranges else None,
        "com": ("com", "centre of mass"),
        "forces": ("force", f"force ({scene.weight:.4g} N: {FORCE * scene.size:.3g} m)") if scene.forces else None,
    }
    anchored = any(one.anchor is not None for one in scene.contacts)
    mark = "contact: dot; where it is held: ring; its error: line" if anchored else "contact and normal of the ground"
    upper = {
        "contacts": ("contact", mark) if scene.contacts else None,
        "ground": ("ground", "ground") if scene.surface is not None else None,
    }
    for row, signs in enumerate((lower, upper)):
        x, y = MARGIN / 2, HEIGHT - 12.0 - 16.0 * row
        for style, text in [sign for layer, sign in signs.items() if sign is not None and layer in layers]:
            sheet.items.append(Words((x, y), "\u25cf", f"{style} sign"))
            sheet.items.append(Words((x + 13.0, y), text, "tick"))
            x += 13.0 + LETTER_LEGEND * len(text) + 18.0


LETTER_LEGEND = 6.0
