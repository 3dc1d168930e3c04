"""URDF: links, joints and mimics of a file become a draft; all that is odd becomes findings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches

import numpy as np

from condyle.errors import Finding, ModelError
from condyle.model.actuator import Actuator
from condyle.model.array import Array, congruence, moderate
from condyle.model.description import FIXED, Description, JointSpec, Link, MimicOf, Numbers, unit_axis
from condyle.model.joints import JOINT_TYPES
from condyle.model.parts import Body, FileNotes, massless
from condyle.model.placement import IDENTITY, Placement
from condyle.model.state import fresh
from condyle.readers.xml import Element, Report, is_number, same, shown
from condyle.text import few

# Transmissions of a URDF file: the armature of rotors as Drake has it, and motors behind gears as ROS has them.


_ROTOR_CURE = "expected 0 or more, and no number beyond 1e30 with the square of the gear ratio"
_ROTOR, _GEAR = "drake:rotor_inertia", "drake:gear_ratio"
_SIMPLE, _REDUCTION, _INTERFACE = "SimpleTransmission", "mechanicalReduction", "hardwareInterface"

Read = tuple[tuple[JointSpec, ...], tuple[Actuator, ...], tuple[str, ...]]


def read_transmissions(root: Element, joints: tuple[JointSpec, ...], report: Report) -> Read:
    """The joints with armature of their rotors, the motors, and in words the transmissions that are none.

    A rotor gives gear squared times its inertia, read as Drake does: a joint without effort has no motor. A simple
    transmission of effort is a motor, and its mechanical reduction the gear.
    """
    by_name = {joint.name: joint for joint in joints}
    armature: dict[str, float] = {}
    motors: list[Actuator] = []
    without: dict[str, list[str]] = {}
    taken: set[str] = set()
    for transmission in root.all("transmission"):
        ends = [joint.get("name") or "" for joint in transmission.all("joint")]
        driven = by_name.get(ends[0]) if len(ends) == 1 else None
        _add_rotors(transmission, driven, armature, report)
        gear = _gear(transmission, driven)
        name = next(
            (word for node in (*transmission.all("actuator"), transmission) if (word := node.get("name"))), "actuator"
        )
        if driven is None or isinstance(gear, str):
            without.setdefault(str(gear), []).append(f"{name!r} (line {transmission.line})")
        else:
            motors.append(Actuator(fresh(name, taken), {driven.name: gear}))
    ignored = tuple(f"transmissions that are no motor: {why} ({few(names, 3)})" for why, names in without.items())
    return tuple(_with_armature(joint, armature) for joint in joints), tuple(motors), ignored


def _gear(transmission: Element, driven: JointSpec | None) -> float | str:
    """The gear of a simple transmission of effort, or why it is none."""
    kind = transmission.get("type") or "".join(node.text for node in transmission.all("type"))
    parts = (*transmission.all("joint"), *transmission.all("actuator"))
    interfaces = [node.text.strip() for part in parts for node in part.all(_INTERFACE)]
    if not kind.strip().endswith(_SIMPLE):
        return f"type {shown(kind.strip())}"
    if interfaces and not any("effort" in interface.lower() for interface in interfaces):
        return f"hardware interface {shown(interfaces[0])}"
    if why := _undriven(driven):
        return why
    if len(transmission.all("actuator")) > 1:
        return f"{len(transmission.all('actuator'))} actuators"
    return _reduction([node.text.strip() for part in (*reversed(parts), transmission) for node in part.all(_REDUCTION)])


def _reduction(texts: Sequence[str]) -> float | str:
    text = texts[0] if texts else "1"
    gear = float(text) if is_number(text) else 0.0
    return gear if gear != 0.0 and moderate(gear) else f"{_REDUCTION} {shown(text)}"


def _add_rotors(transmission: Element, driven: JointSpec | None, armature: dict[str, float], report: Report) -> None:
    for actuator in transmission.all("actuator"):
        for rotor in actuator.all(_ROTOR):
            value, why = _reflected(actuator, rotor, report), _undriven(driven)
            if driven is None or why:
                report.note(rotor, "robot", f"<{_ROTOR}> is ignored: {why}")
            else:
                armature[driven.name] = armature.get(driven.name, 0.0) + value


def _reflected(actuator: Element, rotor: Element, report: Report) -> float:
    """The inertia of a rotor as its joint has it [kg m^2 or kg]."""
    element = f"actuator {actuator.get('name') or ''!r}"
    inertia = report.number(rotor, element, "value", None)
    gears = actuator.all(_GEAR)
    gear = report.number(gears[0], element, "value", None) if gears else 1.0
    if inertia < 0.0 or not moderate(gear * gear * inertia):
        report.error(rotor, element, f"rotor inertia {inertia:.9g} at gear ratio {gear:.9g}", _ROTOR_CURE)
        return 0.0
    return gear * gear * inertia


def _undriven(joint: JointSpec | None) -> str:
    """Why a joint has no motor; "" for one that may have one."""
    if joint is None:
        return "its transmission does not name one joint of this file"
    effort = joint.numbers.effort
    if joint.type == FIXED or JOINT_TYPES[joint.type].nv != 1:
        return f"joint {joint.name!r} is {joint.type}"
    return "" if effort is None or effort[0] > 0.0 else f"joint {joint.name!r} has an effort limit of 0"


def _with_armature(joint: JointSpec, armature: dict[str, float]) -> JointSpec:
    if joint.name not in armature:
        return joint
    return replace(joint, numbers=replace(joint.numbers, armature=np.array((armature[joint.name],))))


XACRO = "xacro:"
_NAMING = ("arg", "property")
"""They only name values: where one is used, its use is found."""
_RAW = ("macro", "include", "if", "unless", "insert_block", "call", "element", "attribute")
"""What the expansion removes in any case: a file that has one was never expanded."""
_NUMBERS = ("origin", "mass", "inertia", "parent", "child", "axis", "limit", "dynamics", "mimic")
_EXPAND = "expand it first: `xacro robot.urdf.xacro > robot.urdf`, or xacrodoc's `xacrodoc robot.urdf.xacro`"


def check_xacro(root: Element, file: str) -> list[Finding]:
    """Findings about xacro elements that change nothing, or nothing that can be known.

    ModelError for a file that was never expanded: it has macros, includes or conditions, an expression in a value that
    is used, or an element that stands for a part of a link or a joint.
    """
    for element in root.children:
        if _word(element) in _RAW:
            raise _raw(f"<{element.tag}>", element, file)
    for element in _used(root):
        expressions = [f"{name}={text!r}" for name, text in element.attributes.items() if "${" in text or "$(" in text]
        if expressions:
            raise _raw(f"<{element.tag}> {expressions[0][:80]}", element, file)
        if _word(element):
            raise _raw(f"<{element.tag}> could stand for an inertia", element, file)
    return sorted(_left_over(root, file), key=lambda finding: finding.line or 0)


def _raw(what: str, node: Element, file: str) -> ModelError:
    return ModelError(
        [Finding("error", f"{what}: this file is raw xacro, not yet URDF", file, node.line, cure=_EXPAND)]
    )


def _word(element: Element) -> str:
    """What stands behind xacro: in the tag; nothing for other elements and for those that only name values."""
    word = element.tag.removeprefix(XACRO) if element.tag.startswith(XACRO) else ""
    return "" if word in _NAMING else word


def _left_over(root: Element, file: str) -> Iterator[Finding]:
    for element in root.children:
        if _word(element):
            message = f"<{element.tag}> was not expanded: what it stands for is not in this robot"
            cure = "expand the file with what defines it, or delete it if it is a sensor or a picture"
            yield Finding("physics", message, file, element.line, cure=cure)
    top = {id(element) for element in root.children}
    for element in root.walk():
        if element.tag.startswith(XACRO) and (id(element) not in top or not _word(element)):
            yield Finding("note", f"<{element.tag}> is left over from xacro and ignored", file, element.line)


def _used(root: Element) -> Iterator[Element]:
    """The elements that a robot is made of, and the xacro elements that stand directly in one of them."""
    yield root
    for child in root.children:
        if child.tag in ("link", "joint"):
            yield child
            yield from _inside(child)


def _inside(owner: Element) -> Iterator[Element]:
    for child in owner.children:
        if child.tag.startswith(XACRO) or child.tag in _NUMBERS:
            yield child
        elif child.tag == "inertial":
            yield child
            yield from _inside(child)


MAX_LINKS = 16_384
_ROBOT = ("link", "joint", "material", "transmission", "gazebo", "sensor", "ros2_control", "mujoco", "plugin", "param")
_LINK = ("inertial", "visual", "collision", "sensor", "gazebo", "contact", "material", "self_filter")
_NEAR = 0.75
"""How much alike a word and a known one are where a slip is meant: loop_joint and joint are two words."""
_FIRST = ("limit", "dynamics")
"""Elements of which the first counts where several differ, as in Pinocchio: no function but an input takes them."""
_LOOP_JOINT = "<loop_joint> closes a loop, which is not read from URDF: it is ignored, the loop is open"
_LOOP_JOINT_CURE = "close it by compile(contacts=(condyle.Contact(...),)), see docs/how-to/loops.md"
_ORIGIN = ("xyz", "rpy")
_JOINT = ("origin", "parent", "child", "axis", "limit", "dynamics", "mimic", "calibration", "safety_controller")


def read(root: Element, file: str, gravity: Array, snap: float) -> tuple[Description, list[Finding]]:
    """What a <robot> element says, and what was found while reading it.

    ModelError at once for raw xacro and for more than 16 384 links.
    """
    left_over = check_xacro(root, file)
    links = root.all("link")
    if len(links) > MAX_LINKS:
        raise ModelError([Finding("error", f"{len(links)} links, expected at most {MAX_LINKS}", file)])
    reader = _Reader(Report(file), snap)
    reader.report.findings += left_over
    for child in root.children:
        if child.tag == "loop_joint":
            reader.report.add("physics", child, "robot", _LOOP_JOINT, _LOOP_JOINT_CURE)
        elif child.tag not in _ROBOT:
            reader.unknown(child, "robot", _ROBOT)
    bodies, joints = tuple(map(reader.link, links)), tuple(map(reader.joint, root.all("joint")))
    joints, actuators, ignored = read_transmissions(root, joints, reader.report)
    whole = (root.get("name") or "robot", gravity, bodies, joints)
    notes = reader.notes()._replace(ignored=ignored)
    return Description(*whole, file=file, actuators=actuators, file_notes=notes), reader.report.findings


def origin_of(parent: Element, element: str, report: Report) -> Placement:
    """The placement that the <origin> of an element says; what is wrong goes to the report."""
    return _Reader(report, 0.0).origin(parent, element)


class _Reader:
    """Reads elements one by one; what is wrong goes to the report, and a harmless value takes its place."""

    def __init__(self, report: Report, snap: float) -> None:
        self.report = report
        self.snap = snap
        self.without_axis: list[str] = []

    def unknown(self, child: Element, owner: str, allowed: tuple[str, ...]) -> None:
        if child.tag.startswith(XACRO):
            return  # `check_xacro` says so
        self.report.note(child, owner, f"<{child.tag}> is unknown and ignored{_meant(child.tag, allowed)}")

    def only(self, parent: Element, element: str, tag: str) -> Element | None:
        """The child with this tag, if any; an error when there are several that differ, but for those of `_FIRST`."""
        found = parent.all(tag)
        if len(found) > 1 and all(same(other, found[0]) for other in found[1:]):
            self.report.note(found[1], element, f"{len(found)} equal <{tag}>, expected one")
        elif len(found) > 1 and tag in _FIRST:
            self.report.note(
                found[1], element, f"{len(found)} <{tag}> that differ: the first counts", "keep one of them"
            )
        elif len(found) > 1:
            self.report.error(found[1], element, f"{len(found)} <{tag}> that differ, expected one", "keep one of them")
        return found[0] if found else None

    def name(self, node: Element) -> str:
        name = node.get("name")
        if not name:
            self.report.error(node, None, f"<{node.tag}> has no name")
        return name or f"({node.tag} on line {node.line})"

    def link(self, node: Element) -> Link:
        name = self.name(node)
        element = f"link {name!r}"
        for child in node.children:
            if child.tag not in _LINK:
                self.unknown(child, element, _LINK)
        inertial = self.only(node, element, "inertial")
        if inertial is None:
            return Link(massless(name), node.line)
        place = self.origin(inertial, element)
        return Link(self.body(inertial, name, element, place), node.line, place)

    def body(self, inertial: Element, name: str, element: str, place: Placement) -> Body:
        for child in inertial.children:
            if child.tag not in ("origin", "mass", "inertia"):
                self.unknown(child, element, ("origin", "mass", "inertia"))
        mass = self.only(inertial, element, "mass")
        inertia = self.only(inertial, element, "inertia")
        if mass is None:  # Pinocchio drops the rest of it too
            wrong = "<inertial> has no <mass>: it is ignored, the link has no inertia"
            self.report.add("physics", inertial, element, wrong, "add it, or remove the <inertial>")
            return massless(name)
        before = len(self.report.findings)
        value = self.report.number(mass, element, "value", None)
        moments = np.zeros((3, 3)) if inertia is None else self.moments(inertia, element)
        if any(finding.severity == "error" for finding in self.report.findings[before:]):
            return massless(name)  # what stands for an unreadable number must not be judged as well
        return Body(name, value, place.translation, congruence(place.rotation, moments))

    def moments(self, node: Element, element: str) -> Array:
        missing = [name for name in ("ixy", "ixz", "iyz") if node.get(name) is None]
        if missing:
            self.report.note(node, element, f"<inertia> has no {' '.join(missing)}: taken as 0")
        xx, xy, xz, yy, yz, zz = (
            self.report.number(node, element, name, 0.0 if name in missing else None)
            for name in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        )
        return np.array(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))

    def origin(self, parent: Element, element: str) -> Placement:
        at = self.only(parent, element, "origin")
        if at is None:
            return IDENTITY
        for name in at.attributes:
            if name == "quat_xyzw":
                self.report.error(at, element, f"<origin> {name}= is not supported", "give xyz and rpy")
            elif name not in _ORIGIN:
                wrong = f"<origin> {name}= is unknown and ignored{_meant(name, _ORIGIN)}"
                self.report.add("physics", at, element, wrong, "give xyz and rpy")
        xyz = self.report.vector(at, element, "xyz", (0.0, 0.0, 0.0))
        return Placement.from_rpy(xyz, self.report.vector(at, element, "rpy", (0.0, 0.0, 0.0)), self.snap)

    def joint(self, node: Element) -> JointSpec:
        name = self.name(node)
        element = f"joint {name!r}"
        for child in node.children:
            if child.tag not in _JOINT:
                self.unknown(child, element, _JOINT)
        kind = self.type(node, element)
        if kind == "planar" and not node.all("axis"):
            self.without_axis.append(repr(name))
        return JointSpec(
            name=name,
            type=kind,
            parent=self.end(node, element, "parent"),
            child=self.end(node, element, "child"),
            placement=self.origin(node, element),
            axis=self.axis(node, element) if kind != FIXED and JOINT_TYPES[kind].axes else None,
            numbers=Numbers() if kind == FIXED else self.numbers(node, element, kind),
            mimic=None if kind == FIXED else self.mimic(node, element),
            line=node.line,
        )

    def type(self, node: Element, element: str) -> str:
        word = node.get("type")
        types = {kind.urdf: name for name, kind in JOINT_TYPES.items() if kind.urdf is not None} | {FIXED: FIXED}
        if word in types:
            return types[word]
        what = "no type" if word is None else f"type {shown(word)} is unknown"
        self.report.error(node, element, f"{what}; URDF has {', '.join(types)}", "build other joints in code")
        return FIXED

    def end(self, node: Element, element: str, tag: str) -> str:
        child = self.only(node, element, tag)
        link = None if child is None else child.get("link")
        if link is None:
            self.report.error(node, element, f"no <{tag} link=...>")
        return link or ""

    def axis(self, node: Element, element: str) -> Array:
        child = self.only(node, element, "axis")
        default = np.array((1.0, 0.0, 0.0))
        if child is None:
            return default
        before = len(self.report.findings)
        value = self.report.vector(child, element, "xyz", (1.0, 0.0, 0.0))
        try:
            return unit_axis(value)
        except ValueError:
            if len(self.report.findings) == before:
                text = shown(child.get("xyz") or "")
                self.report.error(child, element, f"<axis> xyz={text} has no direction", "give a non-zero axis")
            return default

    def numbers(self, node: Element, element: str, kind: str) -> Numbers:
        dynamics = self.only(node, element, "dynamics")
        damping, friction = (0.0, 0.0)
        if dynamics is not None:
            damping = self.report.number(dynamics, element, "damping", 0.0)
            friction = self.report.number(dynamics, element, "friction", 0.0)
            if damping < 0.0 or friction < 0.0:
                self.report.note(dynamics, element, "negative damping or friction")
        lower, upper, effort, velocity = self.limits(node, element, kind)
        parts = (lower, upper, effort, velocity, 0.0, damping, friction)
        return Numbers(*(np.array((part,)) for part in parts))

    def limits(self, node: Element, element: str, kind: str) -> tuple[float, float, float, float]:
        limit = self.only(node, element, "limit")
        bounded = JOINT_TYPES[kind].is_bounded
        if bounded and (limit is None or (limit.get("lower") is None and limit.get("upper") is None)):
            self.report.note(node, element, f"a {kind} joint without limits")
        lower, upper, effort, velocity = -np.inf, np.inf, np.inf, np.inf
        if limit is not None:
            effort = self.report.limit(limit, element, "effort", np.inf)
            velocity = self.report.limit(limit, element, "velocity", np.inf)
            if bounded and (limit.get("lower") is not None or limit.get("upper") is not None):
                lower = self.report.limit(limit, element, "lower", 0.0)
                upper = self.report.limit(limit, element, "upper", 0.0)
        return lower, upper, effort, velocity

    def mimic(self, node: Element, element: str) -> MimicOf | None:
        child = self.only(node, element, "mimic")
        if child is None:
            return None
        master = child.get("joint")
        if master is None:
            self.report.error(child, element, "<mimic> has no joint")
            return None
        multiplier = self.report.number(child, element, "multiplier", 1.0)
        return MimicOf(master, multiplier, self.report.number(child, element, "offset", 0.0))

    def notes(self) -> FileNotes:
        """What `compile` says of the file."""
        count = len(self.without_axis)
        if not count:
            return FileNotes()
        what = "planar joint without <axis> moves" if count == 1 else "planar joints without <axis> move"
        across = "across x, as URDF has it (in Pinocchio and older Drake across z)"
        return FileNotes(otherwise=(f"{count} {what} {across}: {few(self.without_axis, 3)}",))


def _meant(word: str, allowed: tuple[str, ...]) -> str:
    """The known word that was meant, perhaps: for the end of a message."""
    close = get_close_matches(word, allowed, 1, _NEAR) if ":" not in word else []
    return f"; did you mean {close[0]!r}?" if close else ""
