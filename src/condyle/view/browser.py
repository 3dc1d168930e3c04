# viser's types leave numpy's open
# pyright: reportUnknownMemberType=false
"""A scene in the browser, by viser (extra `view`): each body is a node that moves, what is fixed on it moves along."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import Array
from condyle.specification.choices import LAYERS
from condyle.text import printable
from condyle.view.browser_contacts import ContactNodes, add_ground
from condyle.view.drawing import AXIS, FORCE, TRIAD
from condyle.view.meshes import Shell
from condyle.view.parts import Point
from condyle.view.scene import Scene
from condyle.view.svg import DARK, LIGHT

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
