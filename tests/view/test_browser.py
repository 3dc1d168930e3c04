"""Nodes of a page by a double of viser's server: where they stand, how large they are, and what moves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact
from condyle.ground import Plane
from condyle.model.placement import Placement
from condyle.specification.integrators import LAYERS
from condyle.view.browser import MESHES, Stage, quaternion
from condyle.view.robot_parts import Shell
from condyle.view.scene import Scene
from tests.view.scenes import scene

POSITIONAL = {
    "add_grid": ("width", "height"),
    "add_label": ("text",),
    "add_line_segments": ("points", "colors"),
    "add_arrows": ("points", "colors"),
    "add_mesh_simple": ("vertices", "faces"),
}


class Nodes:
    """What a server shows: nodes by their paths, each with the arguments that it was added with."""

    def __init__(self) -> None:
        self.by_path: dict[str, Any] = {}
        self.up = ""

    def set_up_direction(self, up: str) -> None:
        self.up = up

    def __getattr__(self, kind: str) -> Any:
        def add(path: str, *arguments: Any, **options: Any) -> Any:
            named = dict(zip(POSITIONAL.get(kind, ()), arguments, strict=True))
            assert path not in self.by_path
            self.by_path[path] = SimpleNamespace(kind=kind, path=path, **named, **options)
            return self.by_path[path]

        return add


class Server:
    """Counts the moves that a browser sees as one."""

    def __init__(self) -> None:
        self.scene, self.initial_camera, self.moves = Nodes(), SimpleNamespace(), 0

    @contextmanager
    def atomic(self) -> Iterator[None]:
        self.moves += 1
        yield


def arm() -> condyle.Robot:
    """Two rods of 1 m and 2 m; the second one slides to its limits."""
    build = condyle.Builder("arm").body("base")
    build.body("upper", mass=1.0, com=(0.5, 0, 0), inertia=np.diag([1e-3, 0.1, 0.1]))
    build.body("lower", mass=2.0, com=(1.0, 0, 0.1), inertia=np.diag([0.2, 0.4, 0.3]))
    build.joint("a", parent="base", child="upper", type="revolute", axis=(0, 1, 0), lower=-1.0, upper=2.0)
    build.joint(
        "b", parent="upper", child="lower", type="prismatic", axis=(1, 0, 0), xyz=(1, 0, 0), lower=-0.5, upper=0.5
    )
    return build.build()


@pytest.fixture(scope="module")
def arms() -> Scene:
    """Two robots at two times; forces only at the second one; a held contact and one on the ground."""
    robot = arm()
    q = np.array([[(0.2, 0.1), (0.5, 0.3)], [(-0.3, 0.0), (0.1, 0.2)]])
    force = np.zeros((2, 2, 3))
    force[:, 1] = (1.0, 2.0, 3.0), (0.0, -4.0, 0.0)
    contacts = [
        Contact("upper", anchor=Placement.from_rpy((0.3, 0.0, 0.2), (0.1, 0.2, 0.3))),
        Contact("lower", placement=Placement.from_rpy((0.4, 0.0, 0.1), (0.3, 0.0, 0.0))),
    ]
    return scene(
        robot, trajectory=q, forces={"lower": force}, contacts=contacts, ground=Plane(offset=-0.5), spacing=1.5
    )


def same(found: Any, expected: Any) -> bool:
    if expected is None or isinstance(expected, (str, bool)):
        return found == expected
    return np.shape(found) == np.shape(expected) and np.allclose(found, expected, rtol=1e-6, atol=1e-9)


def check(nodes: Nodes, path: str, kind: str, **expected: Any) -> None:
    node = nodes.by_path.pop(path)
    assert node.kind == f"add_{kind}", path
    for name, value in expected.items():
        assert same(getattr(node, name), value), (path, name, getattr(node, name), value)
    rest = set(vars(node)) - set(expected) - {"kind", "path"}
    assert rest <= {"position", "wxyz", "visible", "points", "text"}, (path, rest)


BODY, LINK, AXIS, LIMIT = (127, 168, 189), (57, 67, 76), (122, 81, 149), (47, 125, 79)
GRID, COM, FORCE, CONTACT, GROUND = (217, 221, 225), (179, 38, 30), (200, 112, 42), (176, 31, 122), (138, 122, 85)


def test_every_node_stands_on_its_body_and_is_a_share_of_the_robot(arms: Scene) -> None:
    server, shell = Server(), Shell(1, np.eye(3), np.array([(0, 1, 2)]))
    Stage(server, arms, False, (shell,))
    nodes, size = server.scene, arms.size
    assert nodes.up == "+z" and server.moves == 0
    check(
        nodes, "/ground", "grid", width=4 * size + 3.0, height=4 * size + 3.0, position=(0, 0, arms.floor - size / 1000)
    )
    ends = arms.points([end for link in arms.parts.links for end in (link.start, link.end)])[0]
    check(nodes, "/links", "line_segments", points=ends.reshape(-1, 2, 3), colors=LINK, thickness=0.012 * size)
    spread = [arms.points([mark.origin for mark in arms.parts.marks])[0], ends, arms.origins[0, :, -1:]]
    every = np.concatenate([points.reshape(-1, 3) for points in spread])
    middle = (every.min(axis=0) + every.max(axis=0)) / 2
    away = (0.6 + 0.6 * math.sqrt(2)) * size * np.array((0.8, -1.0, 0.6))
    assert same(server.initial_camera.look_at, middle) and same(server.initial_camera.position, middle + away)
    for robot in range(2):
        root = f"/robots/{robot}"
        check_bodies(nodes, arms, robot, root)
        check_marks(nodes, arms, root)
        check_contacts(nodes, arms, robot, root)
        check_ground(nodes, arms, robot)
        check(nodes, f"{root}/com", "icosphere", radius=0.02 * size, color=COM, position=arms.com[0, robot])
        arrow = {"colors": FORCE, "visible": False, **thick(0.008 * size, 2.5, 6.0)}
        check(nodes, f"/forces/{robot}", "arrows", **arrow)
    held, free = arms.contacts
    lines = [opened(arms, 0, robot) for robot in range(2)]
    check(nodes, "/contacts", "line_segments", points=lines, colors=CONTACT, thickness=0.006 * size)
    for robot in range(2):
        words = {"font_screen_scale": 0.8, "position": np.mean(lines[robot], axis=0), "visible": True}
        far = f"{np.linalg.norm(np.subtract(*lines[robot])):.3g} m"
        label = nodes.by_path[f"/errors/{robot}"]
        assert label.text.startswith(f"{held.name}: {far}")
        check(nodes, f"/errors/{robot}", "label", **words)
    both = [(robot, contact) for robot in range(2) for contact in (held, free)]
    tips = [at + k * 0.09 * size * np.array((0, 0, 1.0)) for at in feet(arms, both, 0) for k in (0, 1)]
    arrows = {"points": np.reshape(tips, (4, 2, 3)), "colors": CONTACT, **thick(0.006 * size, 2.5, 5.0)}
    check(nodes, "/normals", "arrows", **arrows)
    assert not nodes.by_path


def check_bodies(nodes: Nodes, arms: Scene, robot: int, root: str) -> None:
    for body in range(3):
        turn, origin = arms.rotations[0, robot, body], arms.origins[0, robot, body]
        check(nodes, f"{root}/{body}", "frame", show_axes=False, wxyz=quaternion(turn), position=origin)
    for k, e in enumerate(arms.parts.ellipsoids):
        place = {"position": e.centre.position, "wxyz": quaternion(e.axes)}
        path = f"{root}/{e.centre.body}/body{k}"
        check(nodes, path, "icosphere", scale=e.radii, color=BODY, opacity=0.45, cast_shadow=False, **place)
    mesh = {"vertices": np.eye(3), "faces": [(0, 1, 2)], "color": GRID, "side": "double"}
    check(nodes, f"{root}/1/mesh0", "mesh_simple", **mesh)


def check_marks(nodes: Nodes, arms: Scene, root: str) -> None:
    size = arms.size
    for k, axis in enumerate(arms.parts.axes):
        along = 0.11 * size * axis.direction
        points = [(axis.point.position - along / 2, axis.point.position + along)]
        body = 2 if axis.point.body == -1 else axis.point.body
        check(nodes, f"{root}/{body}/axis{k}", "arrows", points=points, colors=AXIS, **thick(0.006 * size, 2.5, 6.0))
    for k, one in enumerate(arms.parts.ranges):
        for word, outline in (("range", one.outline(0.07 * size)), ("pointer", one.pointing(0.07 * size))):
            corners = [point.position for point in outline]
            body = outline[0].body % 3
            points = list(pairwise(corners))
            line = {"points": points, "colors": LIMIT, "thickness": 0.005 * size}
            check(nodes, f"{root}/{body}/{word}{k}", "line_segments", **line)
    for k, mark in enumerate(arms.parts.marks):
        place = {"position": mark.origin.position, "wxyz": quaternion(mark.axes)}
        path = f"{root}/{mark.origin.body % 3}"
        check(nodes, f"{path}/frame{k}", "frame", axes_length=0.06 * size, axes_radius=0.003 * size, **place)
        check(nodes, f"{path}/name{k}", "label", text=mark.name, font_screen_scale=0.8, **place)


def check_contacts(nodes: Nodes, arms: Scene, robot: int, root: str) -> None:
    size = arms.size
    for k, contact in enumerate(arms.contacts):
        marks = [("contact", contact.frame, 0.014, None), ("anchor", contact.anchor, 0.022, 0.4)]
        for word, mark, radius, opacity in marks:
            if mark is None:
                continue
            path, length = f"{root}/{mark.origin.body % 3}/{word}{2 * robot + k}", 1.5 * 0.035 * size
            lengths = {"axes_length": length, "axes_radius": 0.06 * length, "origin_radius": 0.0}
            place = {"position": mark.origin.position, "wxyz": quaternion(mark.axes)}
            check(nodes, path, "frame", **lengths, **place)
            ball = {"radius": radius * size, "color": CONTACT, "opacity": opacity, "cast_shadow": False}
            check(nodes, f"{path}ball", "icosphere", position=mark.origin.position, **ball)


def check_ground(nodes: Nodes, arms: Scene, robot: int) -> None:
    size = arms.size
    net = arms.nets()[robot]
    faces = [(k, k + 9 + m, k + (1, 10)[not m]) for k in range(71) if k % 9 < 8 for m in (0, 1)]
    surface = {"vertices": net.reshape(-1, 3), "color": GROUND, "opacity": 0.35, "side": "double"}
    check(nodes, f"/surface/{robot}", "mesh_simple", faces=faces, **surface)
    rows = [(net[i, j], net[i + 1, j]) for i in range(8) for j in range(9)]
    rows += [(net[i, j], net[i, j + 1]) for j in range(8) for i in range(9)]
    check(nodes, f"/net/{robot}", "line_segments", points=rows, colors=GROUND, thickness=0.003 * size)


def thick(shaft: float, head: float, length: float) -> dict[str, float]:
    return {"shaft_radius": shaft, "head_radius": head * shaft, "head_length": length * shaft}


def opened(arms: Scene, time: int, robot: int) -> Any:
    held = arms.contacts[0]
    assert held.anchor is not None
    return [arms.pose_at(time, robot, mark)[1] for mark in (held.frame, held.anchor)]


def feet(arms: Scene, both: Any, time: int) -> list[Any]:
    return [arms.pose_at(time, robot, contact.frame)[1] for robot, contact in both]


def test_at_another_time_all_that_moves_has_moved(arms: Scene) -> None:
    server = Server()
    stage = Stage(server, arms)
    before = dict(server.scene.by_path)
    stage.move(1)
    nodes = server.scene.by_path
    assert server.moves == 1 and list(nodes) == list(before), "nodes are kept"
    for robot in range(2):
        for body in range(3):
            node = nodes[f"/robots/{robot}/{body}"]
            assert same(node.position, arms.origins[1, robot, body])
            assert same(node.wxyz, quaternion(arms.rotations[1, robot, body]))
        assert same(nodes[f"/robots/{robot}/com"].position, arms.com[1, robot])
        arrow, start = nodes[f"/forces/{robot}"], arms.force_points["lower"][1, robot]
        end = start + arms.forces["lower"][1, robot] * 0.5 * arms.size / (3.0 * 9.81)
        assert same(arrow.points, [(start, end)]) and arrow.visible
        assert same(nodes[f"/errors/{robot}"].position, np.mean(opened(arms, 1, robot), axis=0))
    ends = arms.points([end for link in arms.parts.links for end in (link.start, link.end)])[1]
    assert same(nodes["/links"].points, ends.reshape(-1, 2, 3)) and nodes["/links"].points.dtype == np.float32
    assert same(nodes["/contacts"].points, [opened(arms, 1, robot) for robot in range(2)])
    both = [(robot, contact) for robot in range(2) for contact in arms.contacts]
    assert same(nodes["/normals"].points[:, 0], feet(arms, both, 1))
    stage.move(0)
    assert not any(arrow.visible for arrow in stage.arrows), "an arrow without length has no head"


def test_layers_hold_their_nodes_and_hide_them(arms: Scene) -> None:
    server = Server()
    stage = Stage(server, arms, shells=(Shell(0, np.eye(3), np.array([(0, 1, 2)])),))
    words = {
        "bodies": "body", "links": "links", "axes": "axis", "limits": "range pointer", "frames": "frame",
        "names": "name", "com": "com", "contacts": "contact anchor contacts normals", "ground": "surface net",
        "forces": "forces", MESHES: "mesh",
    }  # fmt: skip
    assert set(stage.layers) == {*LAYERS, MESHES} and all(stage.shown.values())
    for layer, starts in words.items():
        part = 2 if layer in ("ground", "forces") else 1
        heads = {node.path.split("/")[-part].rstrip("0123456789").removesuffix("ball") for node in stage.layers[layer]}
        heads = {"".join(c for c in head if not c.isdigit()) for head in heads}
        assert heads == set(starts.split()), layer
    stage.move(1)
    for layer in words:
        stage.show(layer, False)
        assert not any(node.visible for node in stage.layers[layer]) and not stage.shown[layer]
    assert not any(label.visible for label in stage.contacts.words) and not any(arrow.visible for arrow in stage.arrows)
    stage.move(1)
    assert not any(label.visible for label in stage.contacts.words) and not any(arrow.visible for arrow in stage.arrows)
    for layer in words:
        stage.show(layer, True)
        assert all(node.visible for node in stage.layers[layer])
    assert all(label.visible for label in stage.contacts.words)
    stage.move(0)
    stage.show("forces", True)
    assert not any(arrow.visible for arrow in stage.arrows), "at the time that is shown"


def test_a_dark_page_has_colours_of_dark_pictures(arms: Scene) -> None:
    stage = Stage(Server(), arms, dark=True)
    assert stage.colour("body") == (0x3F, 0x7F, 0x9B)
    assert stage.links.colors == (0xC9, 0xD1, 0xD8)


def test_a_robot_that_touches_nothing_has_no_nodes_of_contacts() -> None:
    robot = condyle.Builder("one").body("alone", mass=1.0, inertia=np.eye(3)).build()
    server = Server()
    stage = Stage(server, scene(robot))
    assert stage.contacts.nodes == []
    assert (stage.contacts.lines, stage.contacts.normals, stage.links) == (None, None, None)
    stage.move(0)
    stage.show("contacts", False)
    heads = {path.split("/")[1] for path in server.scene.by_path}
    assert not heads & {"links", "contacts", "normals", "forces"}
