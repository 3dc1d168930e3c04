"""What cannot change a mass, a joint or a frame is left out before MuJoCo reads a model: neither opened nor run.

A geom is kept if its mass may count, or a tendon runs around it; a mesh or height field if such a geom is made of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from condyle.readers.xml import Element

_SECTIONS = ("size", "visual", "statistic", "custom", "sensor", "keyframe", "contact")
_ASSETS = ("texture", "material", "skin", "model")
_UNDER_BODIES = ("camera", "light")
_IN_DEFAULTS = ("texture", "material", "camera", "light", "pair")
_LINKS = ("material", "texture")
"""Attributes that name what is left out."""
_PLACES = ("worldbody", "body", "frame", "replicate")


def prune_sections(root: Element) -> None:
    """Take out the sections that only a simulation or a picture needs."""
    root.attributes = {}  # a model's name is for people
    root.children = [child for child in root.children if child.tag not in _SECTIONS]
    for node in root.walk():
        if node.tag == "compiler":
            node.children = []  # <lengthrange> simulates
        out = {"asset": _ASSETS, "default": _IN_DEFAULTS}.get(node.tag, _UNDER_BODIES if node.tag in _PLACES else ())
        node.children = [child for child in node.children if child.tag not in out]
        for name in _LINKS:
            node.attributes.pop(name, None)
        if node.tag == "site" and node.attributes.pop("mesh", None) is not None:
            node.attributes.pop("type", None)  # the picture of a site does not move it


def take_unmodelled(root: Element) -> dict[str, list[Element]]:
    """Take out flexes, and what plugins do for sensors and actuators; all that was taken, by what a person calls it."""
    taken: dict[str, list[Element]] = {"flexes": [], "plugins": []}
    for section in list(root.children):
        if section.tag in ("deformable", "extension"):
            root.children.remove(section)
            taken["flexes" if section.tag == "deformable" else "plugins"] += section.children or [section]
        drop = {"actuator": ("plugin",), "equality": ("flex", "flexstrain", "flexvert")}.get(section.tag, ())
        taken["plugins"] += [child for child in section.children if child.tag == "plugin" and child.tag in drop]
        section.children = [child for child in section.children if child.tag not in drop]
    return {what: nodes for what, nodes in taken.items() if nodes}


def prune_geoms(root: Element, static: bool) -> None:
    """Take out geoms whose mass counts nowhere, and meshes and height fields that no kept geom needs.

    static: the masses of bodies that cannot move count as well (they will be made movable).
    """
    pruner = _Geoms.from_root(root, static)
    for section in root.children:
        if section.tag == "worldbody":
            pruner.place(section, False, True, None)
    for section in root.children:
        if section.tag == "asset":
            section.children = [child for child in section.children if pruner.needs(child)]


@dataclass(slots=True)
class _Geoms:
    """Which geoms count, by the simple rules that `place` and `counts` have."""

    classes: dict[str | None, dict[str, str]]
    wrapped: tuple[str, ...]
    everywhere: bool
    static: bool
    needed: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])

    @staticmethod
    def from_root(root: Element, static: bool) -> _Geoms:
        compilers = [node for node in root.children if node.tag == "compiler"]
        everywhere = any(node.get("inertiafromgeom") == "true" for node in compilers)
        total = any("settotalmass" in node.attributes for node in compilers)  # then each mass moves all others
        tendons = [node for section in root.children if section.tag == "tendon" for node in section.walk()]
        wrapped = tuple(node.get("geom") or "" for node in tendons if node.tag == "geom")
        return _Geoms(_classes(root), wrapped, everywhere, static or total)

    def place(self, node: Element, moves: bool, explicit: bool, name: str | None) -> None:
        """explicit: the body has its inertia written out, or is the world; name: of the class for geoms inside."""
        kept: list[Element] = []
        for child in node.children:
            if child.tag == "body":
                fixed = not (moves or _has(child, ("joint", "freejoint")))
                written = not self.everywhere and any(grandchild.tag == "inertial" for grandchild in child.children)
                free = fixed and not self.static
                self.place(child, not fixed, written or free, child.get("childclass") or name)
            elif child.tag in _PLACES:
                self.place(child, moves, explicit, child.get("childclass") or name)
            elif child.tag == "geom" and not self.keep(child, explicit, name):
                continue
            kept.append(child)
        node.children = kept

    def keep(self, geom: Element, explicit: bool, name: str | None) -> bool:
        given = self.classes.get(geom.get("class") or name, {}) | geom.attributes
        own = geom.get("name")
        wrapped = own is not None and any(word.startswith(own) for word in self.wrapped)  # copies have longer names
        if not wrapped and (explicit or _weightless(given)):
            return False
        self.needed |= {(kind, given[kind]) for kind in ("mesh", "hfield") if kind in given}
        return True

    def needs(self, asset: Element) -> bool:
        return asset.tag not in ("mesh", "hfield") or (asset.tag, asset_name(asset)) in self.needed


def asset_name(node: Element) -> str:
    """A mesh or height field without a name has its file's, without folder and ending."""
    name = node.get("name")
    stem = (node.get("file") or "").replace("\\", "/").rpartition("/")[2]
    return name or stem.rpartition(".")[0] or stem


def _weightless(attributes: dict[str, str]) -> bool:
    try:
        return float(attributes.get("mass") or attributes.get("density") or "1") == 0.0
    except ValueError:
        return False  # MuJoCo will say what is wrong


def _has(body: Element, tags: tuple[str, ...]) -> bool:
    """Whether a body has such an element of its own, in a frame too."""
    return any(child.tag in tags or (child.tag != "body" and _has(child, tags)) for child in body.children)


def _classes(root: Element) -> dict[str | None, dict[str, str]]:
    """What each class of defaults says of geoms, what it inherits included; None is the class of all."""
    found: dict[str | None, dict[str, str]] = {None: {}}
    tops = [node for node in root.children if node.tag == "default"]
    for node in tops:  # of all tops first: they are one class
        found[None] |= _geom_attributes(node)
    todo = [(node, found[None]) for node in reversed(tops)]
    found["main"] = found[None]
    while todo:
        node, inherited = todo.pop()
        for child in node.children:
            if child.tag == "default":
                given = inherited | _geom_attributes(child)
                found[child.get("class")] = given
                todo.append((child, given))
    found[None] = found["main"]
    return found


def _geom_attributes(node: Element) -> dict[str, str]:
    own: dict[str, str] = {}
    for child in node.children:
        if child.tag == "geom":
            own |= child.attributes
    return own
