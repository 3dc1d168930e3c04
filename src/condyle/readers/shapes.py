"""Collision shapes of model files: spheres, capsules, boxes and cylinders; what else there is, is named and left out.

A shape changes no motion by itself. So one that cannot be is left out as a mesh is, and never an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from condyle.errors import UnsupportedError
from condyle.model.description import Description
from condyle.model.parts import FileNotes
from condyle.model.placement import Placement, matrix_of
from condyle.model.shapes import SHAPE_KINDS, Shape
from condyle.readers.mjcf_model import Compiled
from condyle.readers.urdf import origin_of
from condyle.readers.xml import Element, Report
from condyle.text import printable

MJCF_KINDS = {2: "sphere", 3: "capsule", 5: "cylinder", 6: "box"}
"""Of mjtGeom."""


class Shapes:
    """Shapes that were read, and in words what is left out."""

    def __init__(self) -> None:
        self.shapes, self.left_out = list[Shape](), list[str]()

    def add(self, kind: str, size: Sequence[float], frame: str, place: Placement, name: str, where: str) -> None:
        try:
            self.shapes.append(Shape(kind, tuple(size), frame, place, name))
        except UnsupportedError:
            self.leave(f"{where}: its sizes are {tuple(size)}")

    def leave(self, what: str) -> None:
        self.left_out.append(printable(what))

    def put_into(self, draft: Description) -> Description:
        notes = (draft.file_notes or FileNotes())._replace(shapes=tuple(self.left_out))
        return replace(draft, shapes=tuple(self.shapes), file_notes=notes)


def urdf_shapes(root: Element, file: str) -> Shapes:
    """The <collision> shapes of a <robot> element."""
    shapes = Shapes()
    for link in root.all("link"):
        name = link.get("name") or ""
        for collision in link.all("collision"):
            for solid in (solid for geometry in collision.all("geometry") for solid in geometry.children):
                report, where = Report(file), f"{solid.tag[:40]} of {name!r} (line {solid.line})"
                place, size = origin_of(collision, name, report), _size(solid, name, report)
                if wrong := [finding.message for finding in report.findings if finding.severity == "error"]:
                    shapes.leave(f"{where}: {'; '.join(wrong)}")
                elif size is None:
                    shapes.leave(where)
                else:
                    shapes.add(solid.tag, size, name, place, collision.get("name") or "", where)
    return shapes


def _size(node: Element, link: str, report: Report) -> list[float] | None:
    """None of what is no shape; what is wrong with it goes to the report."""
    if node.tag == "box":
        return (0.5 * report.vector(node, link, "size", (0.0, 0.0, 0.0))).tolist()
    if node.tag not in SHAPE_KINDS:
        return None
    halves = [] if node.tag == "sphere" else [0.5 * report.number(node, link, "length", None)]
    return [report.number(node, link, "radius", None), *halves]


def mjcf_shapes(model: Compiled, bodies: Sequence[str], others: Iterable[Element], snap: float) -> Shapes:
    """The geoms of bodies that collide and are such shapes. others: geoms that collide and are none."""
    shapes = Shapes()
    for node in others:
        shapes.leave(f"geom {node.get('name') or ''!r} (line {node.line})")
    collide: list[int] = np.flatnonzero((model.geom_contype != 0) | (model.geom_conaffinity != 0)).tolist()
    for k in collide:
        kind, body = MJCF_KINDS.get(int(model.geom_type[k])), bodies[int(model.geom_bodyid[k])]
        if kind is not None and body != bodies[0]:
            place = Placement(matrix_of(np.roll(model.geom_quat[k], -1)), model.geom_pos[k]).snapped(snap)
            size: list[float] = model.geom_size[k, : SHAPE_KINDS[kind]].tolist()
            shapes.add(kind, size, body, place, model.names["geom"][k], f"{kind} of {body!r}")
    return shapes
