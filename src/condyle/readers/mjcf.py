"""MJCF by way of MuJoCo's own compiler (an optional dependency): its open trees become a draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

import numpy as np

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.model.array import LARGEST, Array, congruence, diagonal, frozen, moderate
from condyle.model.change import joint_of, pose
from condyle.model.description import FIXED, Description, JointSpec, Link, MimicOf, Numbers
from condyle.model.finish import Options, finish
from condyle.model.joints import JOINT_TYPES, JointType
from condyle.model.parts import Body, FileNotes, massless
from condyle.model.placement import IDENTITY, Placement, about, matrix_of
from condyle.model.robot import Robot
from condyle.model.state import fresh, names_of
from condyle.readers.folders import Folders
from condyle.readers.mjcf_actuators import ON_TENDON, gear_of, read_actuators, reflected
from condyle.readers.mjcf_compiler import Limits, compile_tree, library
from condyle.readers.mjcf_model import (
    Compiled,
    DamagedError,
    Ints,
    closing,
    closures,
    opened,
    read_compiled,
    take_files,
)
from condyle.readers.mjcf_tree import (
    check_tree,
    place,
    prune_geoms,
    prune_sections,
    read_tree,
    schema_of,
    take_unmodelled,
)
from condyle.readers.shapes import mjcf_shapes
from condyle.readers.xml import Element
from condyle.text import few

# What acts on the bodies in MuJoCo and not here: refused, ignored with a note, or said when the robot is compiled;
# joint equalities that are mimics or hold a joint.


_EQ_JOINT = 2  # mjtEq
_SCALAR = (2, 3)  # mjtJoint: slide, hinge
_SECTIONS = {"tendon": "tendon", "eq": "equality", "actuator": "actuator"}


def check_modelled(
    model: Compiled, root: Element, taken: Mapping[str, Sequence[Element]], ignore: bool
) -> list[Finding]:
    """Notes on what acts in MuJoCo only; UnsupportedError for what changes the motion of the tree, unless `ignore`.

    taken: what was left out of the file already, by what a person calls it.
    """
    acting = _acting(model)
    label = _Labels(model, root)
    found = [_said(what, [_label(node, root.file) for node in nodes]) for what, nodes in taken.items()]
    modelled = {*_ties(model).values(), *closing(model)}
    loose = [i for i in np.flatnonzero(model.eq_active0).tolist() if i not in modelled]
    found += label.said("equality constraints", "eq", loose)
    found += label.said("tendons with a spring, damping, friction, a limit or armature", "tendon", acting)
    if found and not ignore:
        raise UnsupportedError(
            f"{root.file}: {'; '.join(found)}: not supported; to load the tree without them say unmodelled='ignore', "
            "or take them out of the file"
        )
    return [Finding("note", f"{what}: ignored", root.file) for what in found]


def followers(model: Compiled) -> dict[int, tuple[int, float, float]]:
    """Joints that an active joint equality ties to another by a line: master, multiplier, offset, as mimics have them.

    MuJoCo: q_1 - ref_1 = c_0 + c_1 (q_2 - ref_2) + ...; of several equalities of one joint the first counts.
    """
    found: dict[int, tuple[int, float, float]] = {}
    for joint, i in _ties(model).items():
        if not _is_constant(model, i):
            master = int(model.eq_obj2id[i])
            shift, slope = (float(c) for c in model.eq_data[i, :2])
            refs = model.qpos0[model.jnt_qposadr[[joint, master]]]
            found[joint] = (master, slope, float(refs[0] + shift - slope * refs[1]))
    return found


def held(model: Compiled) -> dict[int, float]:
    """Joints that an active joint equality holds at a value of q [rad or m], and those that follow them.

    MuJoCo: q_1 - ref_1 = c_0, without a second joint or where its coefficients are 0.
    """
    values = {
        joint: float(model.qpos0[model.jnt_qposadr[joint]] + model.eq_data[i, 0])
        for joint, i in _ties(model).items()
        if _is_constant(model, i)
    }
    tied, todo = followers(model), list(values)
    while todo:
        at = todo.pop()
        for joint, (master, slope, offset) in tied.items():
            if master == at and joint not in values:
                values[joint] = slope * values[at] + offset
                todo.append(joint)
    return values


def _ties(model: Compiled) -> dict[int, int]:
    """For each joint the first active joint equality that ties it to a line of another, or to a number."""
    straight = (model.eq_type == _EQ_JOINT) & (model.eq_active0 != 0)
    alone = model.eq_obj2id < 0
    straight &= alone | ~(model.eq_data[:, 2:5] != 0.0).any(axis=1)
    within = (model.eq_obj1id >= 0) & (model.eq_obj1id < model.njnt) & (model.eq_obj2id < model.njnt)
    ties: dict[int, int] = {}
    for i in np.flatnonzero(straight & within).tolist():
        joint = int(model.eq_obj1id[i])
        if int(model.jnt_type[joint]) in _SCALAR:
            ties.setdefault(joint, i)
    return ties


def _is_constant(model: Compiled, i: int) -> bool:
    """Whether joint equality i, one of `_ties`, has no other joint in it."""
    return int(model.eq_obj2id[i]) < 0 or float(model.eq_data[i, 1]) == 0.0


def _acting(model: Compiled) -> list[int]:
    """Tendons that pull, or weigh, by themselves or by what an actuator adds to them."""
    own = (model.tendon_stiffness, model.tendon_stiffnesspoly, model.tendon_damping, model.tendon_dampingpoly)
    found = set(_any(*own, model.tendon_armature, model.tendon_frictionloss, model.tendon_limited))
    for i in _any(model.actuator_armature, model.actuator_damping, model.actuator_dampingpoly):
        if int(model.actuator_trntype[i]) == ON_TENDON and gear_of(model, i) != 0.0:
            found.add(int(model.actuator_trnid[i, 0]))
    return sorted(i for i in found if 0 <= i < len(model.names["tendon"]))


def _any(*arrays: Array | Ints) -> list[int]:
    """The rows in which one of the arrays is not zero."""
    found = [(array != 0.0).any(axis=tuple(range(1, array.ndim))) for array in arrays]
    return np.flatnonzero(np.any(found, axis=0)).tolist()


class _Labels:
    """Names and lines of compiled things, for messages."""

    def __init__(self, model: Compiled, root: Element) -> None:
        self.model, self.root = model, root

    def said(self, what: str, kind: str, which: Sequence[int]) -> list[str]:
        return [_said(what, [self.label(kind, i) for i in which])] if which else []

    def label(self, kind: str, i: int) -> str:
        """By its name, or by its place if each element of the section became one thing."""
        name = self.model.names[kind][i]
        nodes = self.nodes(kind)
        named = [node for node in nodes if name and node.get("name") == name]
        if named:
            return _label(named[0], self.root.file)
        if len(nodes) == len(self.model.names[kind]):
            return _label(nodes[i], self.root.file)
        return repr(name) if name else f"number {i}"

    def nodes(self, kind: str) -> list[Element]:
        return [node for section in self.root.children if section.tag == _SECTIONS[kind] for node in section.children]


def _label(node: Element, file: str) -> str:
    name = node.get("name") or node.get("plugin")
    return f"{name!r} ({place(node, file)})" if name else f"<{node.tag}> ({place(node, file)})"


def _said(what: str, labels: list[str]) -> str:
    return f"{what} ({len(labels)}): {few(labels, 3)}"


def unapplied_forces(model: Compiled, joints: Sequence[str]) -> tuple[str, ...]:
    """What is never refused, in words: forces that are little, or meant to be added by the user."""
    springs = _any(model.jnt_stiffness, model.jnt_stiffnesspoly)
    turning = [repr(joints[j]) for j in springs if int(model.jnt_type[j]) not in _SCALAR]
    curved = [repr(joints[j]) for j in _any(model.jnt_stiffnesspoly, model.jnt_springyield) if j in springs]
    low, high = model.jnt_actfrcrange[:, 0], model.jnt_actfrcrange[:, 1]
    pulled = np.flatnonzero((model.jnt_actfrclimited != 0) & (low != -high)).tolist()
    uneven = [repr(joints[j]) for j in pulled if int(model.jnt_type[j]) in _SCALAR]
    present = {
        f"springs of ball and free joints ({few(turning, 3)})": bool(turning),
        f"nonlinear springs ({few(curved, 3)})": bool(curved),
        f"uneven force ranges of joints, whose larger side is the effort ({few(uneven, 3)})": bool(uneven),
        "force ranges of tendons": bool(model.tendon_actfrclimited.any()),
        "gravity compensation (gravcomp)": bool(model.body_gravcomp.any()),
        "fluid forces (density, viscosity)": model.density != 0.0 or model.viscosity != 0.0,
        "nonlinear damping": bool(model.dof_dampingpoly.any()) or bool(model.actuator_dampingpoly.any()),
    }
    return tuple(name for name, here in present.items() if here)


def unmoved(model: Compiled, bodies: Sequence[str]) -> tuple[str, ...]:
    """What is said of mocap bodies, which a user moves in MuJoCo."""
    names = [repr(bodies[i]) for i in np.flatnonzero(model.body_mocapid >= 0).tolist()]
    if not names:
        return ()
    what, them = ("mocap body is", "it") if len(names) == 1 else ("mocap bodies are", "them")
    return (f"{len(names)} {what} fixed, as is what is welded to {them}: {few(names, 3)}",)


_WORDS = ("free", "ball", "slide", "hinge")  # mjtJoint
_UNBOUNDED = ("jnt_range", "jnt_actfrcrange", "actuator_gear", "actuator_ctrlrange", "actuator_forcerange")


def read(
    top: Element, path: Path, name: str, gravity: Array | None, options: Options, folders: Folders, limits: Limits
) -> Robot:
    """The robot `name` of an MJCF file: hinge, slide, ball and free joints, any number on a body.

    top: the root element of the file. q counts from the file's zero as in MuJoCo (`ref` kept), quaternions are
    (x, y, z, w) and velocities local, unlike there. Named sites are frames, linear joint equalities mimic joints, those
    with a constant fixed joints, `connect` and `weld` closures (`Robot.contacts`, their gains zero), geoms that collide
    `Robot.shapes`; contacts and cameras are ignored, and equalities that are not active. What is no `Actuator` is named
    by `FileNotes`.
    Errors: UnsupportedError for parts that run code or make bodies, for other equality constraints, tendons that act,
    plugins and flexes (unless options.unmodelled is "ignore"), or where mujoco is not installed; ModelError for the
    rest.
    """
    found, ignore = library(), options.unmodelled == "ignore"
    root = read_tree(top, path, folders)
    prune_sections(root)
    taken = take_unmodelled(root)
    check_tree(root, str(path))
    others = prune_geoms(root, options.floating_base)
    data, findings = compile_tree(found, root, take_files(root, folders, limits.memory // 8), limits)
    try:
        model = read_compiled(data, schema_of(found.parent / "include" / "mujoco"))
    except DamagedError as error:
        raise ModelError(
            [Finding("error", f"MuJoCo's compiler gave no model that can be read: {error}", str(path))]
        ) from None
    _check_finite(model, str(path))
    findings += check_modelled(model, root, taken, ignore)
    down = gravity
    if down is None:
        down = np.zeros(3) if model.is_off("GRAVITY") else model.gravity
    reader = _Reader(model, path, options, partial(_Labels(model, root).label, "actuator"))
    findings += opened(model, reader.contacts, reader.bodies, str(path))
    draft = reader.draft(name, frozen(down, 3))
    draft = mjcf_shapes(model, reader.bodies, others, options.snap).put_into(draft)
    negative = [spec.name for spec in draft.joints if _is_negative(spec.numbers.damping, spec.numbers.friction)]
    findings += [Finding("note", "negative damping or friction", str(path), None, f"joint {j!r}") for j in negative]
    return finish(draft, options, findings)


def _is_negative(*arrays: Array | None) -> bool:
    return any(array is not None and bool((array < 0.0).any()) for array in arrays)


def _check_finite(model: Compiled, file: str) -> None:
    """ModelError if a number overflowed on the way, or is so large that dynamics would."""
    names = [field.name for field in fields(Compiled) if field.name not in _UNBOUNDED]
    arrays: list[Array] = [getattr(model, name) for name in names if name not in ("names", "disabled")]
    arrays += [reflected(model, model.actuator_armature), reflected(model, model.actuator_damping)]
    if not all(moderate(array) for array in arrays):
        message = f"a mass, an inertia, a position or a coefficient is not finite, or beyond {LARGEST:.0e}"
        raise ModelError([Finding("error", message, file)])
    if not all(model.jnt_axis[j].any() for j in range(model.njnt) if _kind(model, j).axes):
        raise ModelError([Finding("error", "a joint's axis is zero once it is normalised", file)])


class _Reader:
    """Compiled bodies and joints, one by one, into links and joint specifications."""

    def __init__(self, model: Compiled, path: Path, options: Options, label: Callable[[int], str]) -> None:
        self.model = model
        self.path = path
        self.options = options
        self.bodies = names_of(model.names["body"], "body")
        self.joints = names_of(model.names["jnt"], "joint")
        kept = [i for i, body in enumerate(model.site_bodyid) if body or not options.floating_base]  # else no world
        self.sites = [(i, name) for i in kept if (name := model.names["site"][i])]
        self.armature = reflected(model, model.actuator_armature)
        self.damping = reflected(model, model.actuator_damping)
        self.followers = followers(model)
        self.held = {} if options.mimic == "independent" else held(model)
        self.renamed: list[str] = []
        self.contacts = closures(model, self.bodies, options.snap)
        self.taken = {"joint": set(self.joints), "link": set(self.bodies)}
        self.actuators, self.undriven = read_actuators(model, self.joints, label, str(path))
        self.links: list[Link] = [Link(massless(self.bodies[0]))]
        self.specs: list[JointSpec] = []

    def draft(self, name: str, gravity: Array) -> Description:
        for body in range(1, self.model.nbody):
            self.body(body)
        for site, given in self.sites:
            self.site(site, given)
        links, specs = self.links, self.specs
        if self.options.floating_base:
            links, specs = self.floating()
        ignored = (*self.undriven, *unapplied_forces(self.model, self.joints))
        notes = FileNotes(ignored, (*unmoved(self.model, self.bodies), *self.renamed))
        whole = (name, gravity, tuple(links), tuple(specs))
        loops, drives = tuple(self.contacts), self.actuators
        return Description(*whole, file=str(self.path), contacts=loops, actuators=drives, file_notes=notes)

    def floating(self) -> tuple[list[Link], list[JointSpec]]:
        """Links and joints without the world: its only child becomes the root."""
        world = self.bodies[0]
        top = [spec for spec in self.specs if spec.parent == world]
        if any(spec.type == "free" for spec in self.specs):
            raise UnsupportedError(f"{self.path}: has a free joint of its own: load it without floating_base")
        if len(top) != 1 or top[0].type != FIXED:
            raise UnsupportedError(f"{self.path}: floating_base needs one body without joints under the world")
        return self.links[1:], [spec for spec in self.specs if spec is not top[0]]

    def body(self, i: int) -> None:
        model, name, snap = self.model, self.bodies[i], self.options.snap
        parent = self.bodies[int(model.body_parentid[i])]
        here = _placement(model.body_pos[i], model.body_quat[i]).snapped(snap)
        first = int(model.body_jntadr[i])
        ids = range(first, first + int(model.body_jntnum[i]))
        if not ids:
            self.specs.append(JointSpec(fresh(f"{name}_fixed", self.taken["joint"]), FIXED, parent, name, here))
        for j in ids:
            last = j == ids[-1]
            child = name if last else fresh(f"{name}/{self.joints[j]}", self.taken["link"])
            if not last:
                self.links.append(Link(massless(child)))
            self.specs.append(self.joint(j, parent, child, here))
            parent, here = child, IDENTITY
        turn = matrix_of(_xyzw(model.body_iquat[i]))
        inertia = congruence(turn, diagonal(model.body_inertia[i]))
        self.links.append(Link(Body(name, float(model.body_mass[i]), model.body_ipos[i], inertia)))

    def site(self, i: int, site_name: str) -> None:
        """A massless link of its own, fixed to the site's body."""
        model, name = self.model, fresh(site_name, self.taken["link"])
        if name != site_name:
            self.renamed.append(f"site {site_name!r} is frame {name!r}, because a body has its name")
        here = _placement(model.site_pos[i], model.site_quat[i]).snapped(self.options.snap)
        parent = self.bodies[int(model.site_bodyid[i])]
        self.links.append(Link(massless(name)))
        self.specs.append(JointSpec(fresh(f"{name}_fixed", self.taken["joint"]), FIXED, parent, name, here))

    def joint(self, j: int, parent: str, child: str, here: Placement) -> JointSpec:
        """Joint j; `here`: the body's frame at the file's pose, in the parent."""
        model = self.model
        kind = _kind(model, j)
        axis, zero = model.jnt_axis[j], float(model.qpos0[model.jnt_qposadr[j]])
        after = IDENTITY
        if kind.is_free:
            here = IDENTITY  # its q is the pose in the world
        elif kind.mjcf == "slide":
            here = here.compose(_shift(-zero * axis))
        else:
            here = here.compose(_shift(model.jnt_pos[j]))
            after = _shift(-model.jnt_pos[j])
            if kind.axes and zero != 0.0:
                here = here.compose(Placement(about(axis, -zero), np.zeros(3)))
        spec = JointSpec(
            self.joints[j],
            kind.name,
            parent,
            child,
            here,
            after,
            axis=axis if kind.axes else None,
            numbers=self.numbers(j, kind),
            mimic=self.mimic(j),
        )
        if j not in self.held:
            return spec
        where = pose(joint_of(spec, -1, here, 0, 0), np.array((self.held[j],)))
        return JointSpec(spec.name, FIXED, parent, child, where.snapped(self.options.snap), held=self.held[j])

    def mimic(self, j: int) -> MimicOf | None:
        if j not in self.followers:
            return None
        master, multiplier, offset = self.followers[j]
        return MimicOf(self.joints[master], multiplier, offset)

    def numbers(self, j: int, kind: JointType) -> Numbers:
        model = self.model
        dof, q = int(model.jnt_dofadr[j]), int(model.jnt_qposadr[j])
        dofs = slice(dof, dof + kind.nv)
        limited = kind.axes > 0 and bool(model.jnt_limited[j])
        effort = kind.axes > 0 and bool(model.jnt_actfrclimited[j])
        return Numbers(
            lower=model.jnt_range[j, :1] if limited else None,
            upper=model.jnt_range[j, 1:] if limited else None,
            effort=np.array((np.max(np.abs(model.jnt_actfrcrange[j])),)) if effort else None,
            armature=model.dof_armature[dofs] + self.armature[j],
            damping=None if model.is_off("DAMPER") else model.dof_damping[dofs] + self.damping[j],
            friction=model.dof_frictionloss[dofs],
            stiffness=model.jnt_stiffness[j : j + 1] if kind.is_flat and not model.is_off("SPRING") else None,
            spring_reference=model.qpos_spring[q : q + 1] if kind.is_flat else None,
        )


def _kind(model: Compiled, j: int) -> JointType:
    """The type of a compiled joint."""
    word = _WORDS[int(model.jnt_type[j])]
    return next(kind for kind in JOINT_TYPES.values() if kind.mjcf == word)


def _xyzw(quaternion: Array) -> Array:
    return np.roll(quaternion, -1)


def _placement(position: Array, quaternion: Array) -> Placement:
    return Placement(matrix_of(_xyzw(quaternion)), position)


def _shift(offset: Array) -> Placement:
    return IDENTITY if not offset.any() else Placement.from_rpy(offset)
