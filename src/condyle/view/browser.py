"""A scene in the browser, by viser (extra `view`): each body is a node that moves, what is fixed on it moves along."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import Array
from condyle.specification.integrators import LAYERS
from condyle.text import printable
from condyle.view.drawing import AXIS, FORCE, RANGE, TRIAD
from condyle.view.ground import ContactMark, said
from condyle.view.picture import DARK, LIGHT
from condyle.view.robot_parts import Mark, Point, Shell
from condyle.view.scene import NORMAL, SMALL, Scene

# Contacts, loop closures and the ground as nodes of viser.


Colour = Callable[[str], tuple[int, int, int]]
Turned = Callable[[Array], Array]


@dataclass
class ContactNodes:
    """What moves with the time: lines to the anchors, words that say the errors, normals.

    nodes: of the layer "contacts"; those of a body move with it. quaternion: of a rotation matrix.
    """

    server: Any
    scene: Scene
    colour: Colour
    quaternion: Turned
    nodes: list[Any] = field(default_factory=list[Any])

    def __post_init__(self) -> None:
        scene = self.scene
        both = [(robot, contact) for robot in range(scene.robots) for contact in scene.contacts]
        self.anchored = [one for one in both if one[1].anchor is not None]
        self.normal = [one for one in both if one[1].has_normal]
        self.lines: Any = None
        self.normals: Any = None
        self.words: list[Any] = []
        self.shown = True
        for k, (robot, contact) in enumerate(both):
            self._frames(f"/robots/{robot}", k, contact)
        if self.anchored:
            thick = 0.006 * scene.size
            self.lines = self.server.scene.add_line_segments(
                "/contacts", self._ends(0), self.colour("contact"), thickness=thick
            )
            self.nodes.append(self.lines)
        for k in range(len(self.anchored)):
            self.words.append(self.server.scene.add_label(f"/errors/{k}", "", font_screen_scale=0.8))
        if self.normal:
            thick = 0.006 * scene.size
            self.normals = self.server.scene.add_arrows(
                "/normals", self._tips(0), self.colour("contact"),
                shaft_radius=thick, head_radius=2.5 * thick, head_length=5.0 * thick,
            )  # fmt: skip
            self.nodes.append(self.normals)

    def _frames(self, root: str, k: int, contact: ContactMark) -> None:
        self._frame(root, f"contact{k}", contact.frame, 0.014, 1.0)
        if contact.anchor is not None:
            self._frame(root, f"anchor{k}", contact.anchor, 0.022, 0.4)

    def _frame(self, root: str, name: str, mark: Mark, radius: float, opacity: float) -> None:
        """A ball and three axes on a body; the world is the last body."""
        body = mark.origin.body % self.scene.origins.shape[2]
        place = {"wxyz": self.quaternion(mark.axes), "position": mark.origin.position}
        length = 1.5 * SMALL * self.scene.size
        self.nodes.append(
            self.server.scene.add_frame(
                f"{root}/{body}/{name}", axes_length=length, axes_radius=0.06 * length, origin_radius=0.0, **place
            )
        )
        ball = self.server.scene.add_icosphere(
            f"{root}/{body}/{name}ball",
            radius=radius * self.scene.size,
            color=self.colour("contact"),
            opacity=opacity if opacity < 1.0 else None,
            cast_shadow=False,
            position=mark.origin.position,
        )
        self.nodes.append(ball)

    def _ends(self, time: int) -> Array:
        """From each contact to its anchor, (n, 2, 3)."""
        ends = [
            (self.scene.pose_at(time, robot, one.frame)[1], self.scene.pose_at(time, robot, one.anchor)[1])
            for robot, one in self.anchored
            if one.anchor is not None
        ]
        return np.array(ends, np.float64)

    def _tips(self, time: int) -> Array:
        """The arrows of all normals, (n, 2, 3)."""
        arrows: list[Array] = []
        for robot, contact in self.normal:
            at, along = self.scene.pose_at(time, robot, contact.frame)[1], self.scene.normal(time, robot, contact)
            assert along is not None
            arrows.append(np.stack([at, at + NORMAL * self.scene.size * along]))
        return np.stack(arrows)

    def move(self, time: int) -> None:
        """Everything as it is at this time."""
        if self.lines is not None:
            ends = self._ends(time)
            self.lines.points = np.asarray(ends, np.float32)
            for (robot, contact), label, (start, end) in zip(self.anchored, self.words, ends, strict=True):
                opening = self.scene.opening(time, robot, contact)
                words = "" if opening is None else said(contact, opening)
                label.position = 0.5 * (start + end)
                label.text = f"{printable(contact.name)}: {words}" if words else ""
                label.visible = self.shown and bool(words)
        if self.normals is not None:
            self.normals.points = np.asarray(self._tips(time), np.float32)

    def show(self, visible: bool, time: int) -> None:
        """Show or hide the words too: those of closed contacts stay hidden."""
        self.shown = visible
        self.move(time)


def add_ground(server: Any, scene: Scene, colour: Colour) -> list[Any]:
    """The net of the ground under each robot as triangles that one sees through, and its lines."""
    nodes: list[Any] = []
    for robot, net in enumerate(scene.nets()):
        n, m = net.shape[:2]
        corners = [i * m + j for i in range(n - 1) for j in range(m - 1)]
        faces = np.array([(k, k + m + more, k + m + 1 if not more else k + 1) for k in corners for more in (0, 1)])
        nodes.append(
            server.scene.add_mesh_simple(
                f"/surface/{robot}",
                np.reshape(net, (-1, 3)),
                faces,
                color=colour("ground"),
                opacity=0.35,
                side="double",
            )
        )
        along = [np.reshape(np.stack([a[:-1], a[1:]], axis=2), (-1, 2, 3)) for a in (net, np.swapaxes(net, 0, 1))]
        lines = np.concatenate(along)
        nodes.append(
            server.scene.add_line_segments(f"/net/{robot}", lines, colour("ground"), thickness=0.003 * scene.size)
        )
    return nodes


MISSING = "the viewer in the browser is viser: pip install 'condyle[view]'; a file needs nothing: file='arm.svg'"
MESHES = "meshes"
"""The layer that only pages have."""
HOST = "127.0.0.1"
"""This machine only: viser's own default answers to the whole network."""


def viser() -> ModuleType:
    """The package, imported at first use. UnsupportedError with the line of pip where it is missing."""
    try:
        import viser as package  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise UnsupportedError(MISSING) from error
    return package


def quaternion(turn: Array) -> Array:
    """w, x, y, z of a rotation matrix (3, 3): the eigenvector of Bar-Itzhack's symmetric matrix (2000)."""
    r = turn
    k = np.array(
        (
            (r[0, 0] + r[1, 1] + r[2, 2], r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]),
            (r[2, 1] - r[1, 2], r[0, 0] - r[1, 1] - r[2, 2], r[1, 0] + r[0, 1], r[0, 2] + r[2, 0]),
            (r[0, 2] - r[2, 0], r[1, 0] + r[0, 1], r[1, 1] - r[0, 0] - r[2, 2], r[2, 1] + r[1, 2]),
            (r[1, 0] - r[0, 1], r[0, 2] + r[2, 0], r[2, 1] + r[1, 2], r[2, 2] - r[0, 0] - r[1, 1]),
        )
    )
    return np.linalg.eigh(k)[1][:, -1]


@dataclass
class Stage:
    """The nodes of a scene on a server. Names of the model are shown as text and never part of a node's path."""

    server: Any
    scene: Scene
    dark: bool = False
    shells: tuple[Shell, ...] = ()

    def __post_init__(self) -> None:
        self.layers: dict[str, list[Any]] = {layer: [] for layer in (*LAYERS, MESHES)}
        self.bodies: list[list[Any]] = []
        self.coms: list[Any] = []
        self.links: Any = None
        self.arrows: list[Any] = []
        self.shown: dict[str, bool] = dict.fromkeys((*LAYERS, MESHES), True)
        size = self.scene.size
        self.server.scene.set_up_direction("+z")
        wide = 4.0 * size + float(np.ptp(self.scene.origins[0, :, -1, :2])) * 2.0
        self.server.scene.add_grid("/ground", wide, wide, position=(0.0, 0.0, self.scene.floor - 1e-3 * size))
        seen = [*(mark.origin for mark in self.scene.parts.marks), Point(-1, np.zeros(3))]
        spread = np.concatenate([np.reshape(self._ends(0), (-1, 3)), *self.scene.points_at(0, seen)])
        middle = 0.5 * (spread.min(axis=0) + spread.max(axis=0))
        reach = size * (0.6 + 0.6 * math.sqrt(self.scene.robots))
        self.server.initial_camera.look_at = tuple(middle.tolist())
        self.server.initial_camera.position = tuple((middle + reach * np.array((0.8, -1.0, 0.6))).tolist())
        for robot in range(self.scene.robots):
            self._robot(robot)
        ends = self._ends(0)
        if len(ends):
            self.links = self.server.scene.add_line_segments(
                "/links", ends, self.colour("link"), thickness=0.012 * size
            )
            self.layers["links"].append(self.links)
        for k, ends in enumerate(self._forces(0)):
            self.arrows.append(self._arrows(f"/forces/{k}", ends[None], "force", 0.008))
        self.layers["forces"] += self.arrows
        self.contacts = ContactNodes(self.server, self.scene, self.colour, quaternion)
        self.layers["contacts"] += self.contacts.nodes
        self.layers["ground"] += add_ground(self.server, self.scene, self.colour)
        self.contacts.move(0)
        self._push(0)

    def colour(self, style: str) -> tuple[int, int, int]:
        """Of a style, as three numbers of 0 to 255."""
        code = (DARK if self.dark else LIGHT)[style]
        return int(code[1:3], 16), int(code[3:5], 16), int(code[5:7], 16)

    def _robot(self, robot: int) -> None:
        """Nodes of the bodies, the world last, and what is fixed on each."""
        scene, root = self.scene, f"/robots/{robot}"
        nodes: list[Any] = []
        for body in range(scene.origins.shape[2]):
            node = self.server.scene.add_frame(f"{root}/{body}", show_axes=False)
            node.wxyz, node.position = quaternion(scene.rotations[0, robot, body]), scene.origins[0, robot, body]
            nodes.append(node)
        self.bodies.append(nodes)
        at = [f"{root}/{body}" for body in range(len(nodes))]
        for k, e in enumerate(scene.parts.ellipsoids):
            radii = np.maximum(e.radii, 1e-3 * scene.size).tolist()
            ball = self.server.scene.add_icosphere(
                f"{at[e.centre.body]}/body{k}",
                scale=tuple(radii),
                color=self.colour("body"),
                opacity=0.45,
                wxyz=quaternion(e.axes),
                position=e.centre.position,
                cast_shadow=False,
            )
            self.layers["bodies"].append(ball)
        for k, shell in enumerate(self.shells):
            mesh = self.server.scene.add_mesh_simple(
                f"{at[shell.body]}/mesh{k}", shell.vertices, shell.faces, color=self.colour("grid"), side="double"
            )
            self.layers[MESHES].append(mesh)
        for k, axis in enumerate(scene.parts.axes):
            along = axis.direction * AXIS * scene.size
            ends = np.stack([axis.point.position - 0.5 * along, axis.point.position + along])[None]
            self.layers["axes"].append(self._arrows(f"{at[axis.point.body]}/axis{k}", ends, "axis", 0.006))
        radius = RANGE * scene.size
        for k, one in enumerate(scene.parts.ranges):
            for what, points in (("range", one.outline(radius)), ("pointer", one.pointing(radius))):
                corners = np.array([point.position for point in points])
                ends, name = np.stack([corners[:-1], corners[1:]], axis=1), f"{at[points[0].body]}/{what}{k}"
                thick = 0.005 * scene.size
                line = self.server.scene.add_line_segments(name, ends, self.colour("limit"), thickness=thick)
                self.layers["limits"].append(line)
        for k, mark in enumerate(scene.parts.marks):
            place = {"wxyz": quaternion(mark.axes), "position": mark.origin.position}
            length = TRIAD * scene.size
            frame = self.server.scene.add_frame(
                f"{at[mark.origin.body]}/frame{k}", axes_length=length, axes_radius=0.05 * length, **place
            )
            label = self.server.scene.add_label(
                f"{at[mark.origin.body]}/name{k}", printable(mark.name), font_screen_scale=0.8, **place
            )
            self.layers["frames"].append(frame)
            self.layers["names"].append(label)
        com = self.server.scene.add_icosphere(f"{root}/com", radius=0.02 * scene.size, color=self.colour("com"))
        com.position = scene.com[0, robot]
        self.coms.append(com)
        self.layers["com"].append(com)

    def _arrows(self, name: str, ends: Array, style: str, radius: float) -> Any:
        thick = radius * self.scene.size
        return self.server.scene.add_arrows(
            name, ends, self.colour(style), shaft_radius=thick, head_radius=2.5 * thick, head_length=6.0 * thick
        )

    def _ends(self, time: int) -> Array:
        """Of all links, (n, 2, 3)."""
        points: Sequence[Point] = [end for link in self.scene.parts.links for end in (link.start, link.end)]
        now = self.scene.points_at(time, points)
        return np.reshape(now, (-1, 2, 3))

    def _forces(self, time: int) -> Array:
        """Of all arrows, (n, 2, 3)."""
        if not self.scene.forces:
            return np.zeros((0, 2, 3))
        starts = np.concatenate([at[time] for at in self.scene.force_points.values()])
        pushed = np.concatenate([force[time] for force in self.scene.forces.values()])
        scale = FORCE * self.scene.size / self.scene.weight
        return np.stack([starts, starts + pushed * scale], axis=1)

    def move(self, time: int) -> None:
        """Every robot as it is at this time."""
        scene = self.scene
        with self.server.atomic():
            for robot, nodes in enumerate(self.bodies):
                for body, node in enumerate(nodes[:-1]):
                    node.wxyz = quaternion(scene.rotations[time, robot, body])
                    node.position = scene.origins[time, robot, body]
                self.coms[robot].position = scene.com[time, robot]
            if self.links is not None:
                self.links.points = np.asarray(self._ends(time), np.float32)
            self.contacts.scene = scene
            self.contacts.move(time)
            self._push(time)

    def show(self, layer: str, visible: bool) -> None:
        self.shown[layer] = visible
        for node in self.layers[layer]:
            node.visible = visible
        if layer == "forces":
            self._push(self.time)
        if layer == "contacts":
            self.contacts.show(visible, self.time)

    def _push(self, time: int) -> None:
        """The arrows of forces; one without length would still have a head, and is hidden."""
        self.time = time
        for arrow, ends in zip(self.arrows, self._forces(time), strict=True):
            arrow.points = np.asarray(ends[None], np.float32)
            arrow.visible = self.shown["forces"] and bool(np.linalg.norm(ends[1] - ends[0]) > 1e-6 * self.scene.size)
