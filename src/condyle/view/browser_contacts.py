# viser's types leave numpy's open
# pyright: reportUnknownMemberType=false
"""Contacts, loop closures and the ground as nodes of viser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from condyle.model.array import Array
from condyle.text import printable
from condyle.view.contacts import ContactMark, said
from condyle.view.parts import Mark
from condyle.view.scene import Scene
from condyle.view.signs import NORMAL, SMALL

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
