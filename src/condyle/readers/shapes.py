"""Collision shapes of model files: spheres, capsules, boxes and cylinders; what else there is, is named and left out.

A shape changes no motion by itself. So one that cannot be is left out as a mesh is, and never an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.array import moderate
from condyle.model.placement import Placement, matrix_of
from condyle.model.shapes import SHAPE_KINDS, Shape
from condyle.readers.mjcf_model import Compiled
from condyle.readers.urdf import origin_of
from condyle.readers.xml import Element, Report
from condyle.text import printable

MJCF_KINDS = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}
"""Of mjtGeom."""


def urdf_shapes(root: Element, file: str) -> tuple[tuple[Shape, ...], tuple[str, ...]]:
    """The <collision> shapes of a <robot> element, and in words what is left out."""
    shapes, left_out = list[Shape](), list[str]()
    for link in root.all("link"):
        name = link.get("name") or ""
        for collision in link.all("collision"):
            solids = [solid for geometry in collision.all("geometry") for solid in geometry.children]
            for solid in solids:
                report = Report(file)
                place = origin_of(collision, f"link {name!r}", report)
                shape = _shape(solid, name, place, collision.get("name") or "", report)
                if isinstance(shape, Shape):
                    shapes.append(shape)
                else:
                    left_out.append(printable(f"{solid.tag[:40]} of {name!r} (line {solid.line}){shape}"))
    return tuple(shapes), tuple(left_out)


def _shape(node: Element, link: str, place: Placement, name: str, report: Report) -> Shape | str:
    """A shape, or why it is none."""
    if node.tag not in SHAPE_KINDS:
        return ""
    if node.tag == "box":
        size = 0.5 * report.vector(node, link, "size", (0.0, 0.0, 0.0))
    else:
        halves = [] if node.tag == "sphere" else [0.5 * report.number(node, link, "length", None)]
        size = np.array([report.number(node, link, "radius", None), *halves])
    said = "; ".join(finding.message for finding in report.findings if finding.severity == "error")
    return f": {said}" if said else _made(node.tag, size, link, place, name)


def _made(kind: str, size: Sequence[float] | np.ndarray, frame: str, place: Placement, name: str) -> Shape | str:
    """A shape, or what is wrong with its size."""
    numbers = tuple(float(x) for x in size)
    try:
        return Shape(kind, numbers, frame, place, name)
    except UnsupportedError:
        return f": its sizes are {numbers}"


def mjcf_shapes(
    model: Compiled, bodies: Sequence[str], others: Iterable[Element], snap: float
) -> tuple[list[Shape], list[str]]:
    """The geoms of bodies that collide and are such shapes. others: geoms that collide and are none."""
    left_out = [printable(f"geom {node.get('name') or ''!r} (line {node.line})") for node in others]
    shapes = list[Shape]()
    collide = (model.geom_contype != 0) | (model.geom_conaffinity != 0)
    ids: list[int] = np.flatnonzero(collide).tolist()
    for k in ids:
        kind, body = MJCF_KINDS.get(int(model.geom_type[k])), int(model.geom_bodyid[k])
        if kind is None or body == 0:
            continue
        turn, at = model.geom_quat[k], model.geom_pos[k]
        name, size = model.names["geom"][k], model.geom_size[k, : SHAPE_KINDS[kind]]
        if moderate(turn) and moderate(at) and turn.any():
            place = Placement(matrix_of(np.roll(turn / np.linalg.norm(turn), -1)), at).snapped(snap)
            shape = _made(kind, size, bodies[body], place, name)
        else:
            shape = ": its placement is not finite"
        if isinstance(shape, Shape):
            shapes.append(shape)
        else:
            left_out.append(printable(f"{kind} of {bodies[body]!r}{shape}"))
    return shapes, left_out
