"""MJCF by way of MuJoCo's own compiler (an optional dependency): its open trees become a draft."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np

from condyle.errors import Finding, ModelError, UnsupportedError
from condyle.model.array import LARGEST, Array, congruence, diagonal, frozen, moderate
from condyle.model.description import FIXED, Description, JointSpec, Link, MimicOf, Numbers
from condyle.model.file_notes import FileNotes
from condyle.model.finish import Options, finish
from condyle.model.joints import JOINT_TYPES, JointType
from condyle.model.parts import Body, massless
from condyle.model.placement import IDENTITY, Placement, about, matrix_of
from condyle.model.pose import pose
from condyle.model.robot import Robot
from condyle.model.topology import joint_of
from condyle.model.unnamed import fresh, names_of
from condyle.readers.folders import Folders
from condyle.readers.mjcf_assets import take_files
from condyle.readers.mjcf_checks import check_tree
from condyle.readers.mjcf_compile import Limits, compile_tree, library
from condyle.readers.mjcf_compiled import Compiled, DamagedError, read_compiled
from condyle.readers.mjcf_loops import closures, opened
from condyle.readers.mjcf_prune import prune_geoms, prune_sections, take_unmodelled
from condyle.readers.mjcf_schema import schema_of
from condyle.readers.mjcf_tree import read_tree
from condyle.readers.mjcf_unmodelled import check_modelled, followers, held, reflected, unapplied_forces, unmoved
from condyle.readers.xml import Element

_WORDS = ("free", "ball", "slide", "hinge")  # mjtJoint
_UNBOUNDED = ("jnt_range", "jnt_actfrcrange", "actuator_gear")


def read(
    top: Element, path: Path, name: str, gravity: Array | None, options: Options, folders: Folders, limits: Limits
) -> Robot:
    """The robot `name` of an MJCF file: hinge, slide, ball and free joints, any number on a body.

    top: the root element of the file. q counts from the file's zero as in MuJoCo (`ref` kept), quaternions are
    (x, y, z, w) and velocities local, unlike there. Named sites are frames, linear joint equalities mimic joints, those
    with a constant fixed joints, `connect` and `weld` closures (`Robot.contacts`, their gains zero); contacts, cameras
    and actuators (but for their armature and damping) are ignored, and equalities that are not active.
    Errors: UnsupportedError for parts that run code or make bodies, for other equality constraints, tendons that act,
    plugins and flexes (unless options.unmodelled is "ignore"), or where mujoco is not installed; ModelError for the
    rest.
    """
    found, ignore = library(), options.unmodelled == "ignore"
    root = read_tree(top, path, folders)
    prune_sections(root)
    taken = take_unmodelled(root)
    check_tree(root, str(path))
    prune_geoms(root, options.floating_base)
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
        down = np.zeros(3) if model.weightless else model.gravity
    reader = _Reader(model, path, options)
    findings += opened(model, reader.contacts, reader.bodies, str(path))
    return finish(reader.draft(name, frozen(down, 3)), options, findings)


def _check_finite(model: Compiled, file: str) -> None:
    """ModelError if a number overflowed on the way, or is so large that dynamics would."""
    names = [field.name for field in fields(Compiled) if field.name not in _UNBOUNDED]
    arrays: list[Array] = [getattr(model, name) for name in names if name != "names"]
    arrays += [reflected(model, model.actuator_armature), reflected(model, model.actuator_damping)]
    if not all(moderate(array) for array in arrays):
        message = f"a mass, an inertia, a position or a coefficient is not finite, or beyond {LARGEST:.0e}"
        raise ModelError([Finding("error", message, file)])
    if not all(model.jnt_axis[j].any() for j in range(model.njnt) if _kind(model, j).axes):
        raise ModelError([Finding("error", "a joint's axis is zero once it is normalised", file)])


class _Reader:
    """Compiled bodies and joints, one by one, into links and joint specifications."""

    def __init__(self, model: Compiled, path: Path, options: Options) -> None:
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
        notes = FileNotes(unapplied_forces(self.model, self.joints), (*unmoved(self.model, self.bodies), *self.renamed))
        whole = (name, gravity, tuple(links), tuple(specs))
        return Description(*whole, file=str(self.path), contacts=tuple(self.contacts), file_notes=notes)

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
        return JointSpec(spec.name, FIXED, parent, child, where.snapped(self.options.snap))

    def mimic(self, j: int) -> MimicOf | None:
        if j not in self.followers:
            return None
        master, multiplier, offset = self.followers[j]
        return MimicOf(self.joints[master], multiplier, offset)

    def numbers(self, j: int, kind: JointType) -> Numbers:
        model = self.model
        dof = int(model.jnt_dofadr[j])
        dofs = slice(dof, dof + kind.nv)
        limited = kind.axes > 0 and bool(model.jnt_limited[j])
        effort = kind.axes > 0 and bool(model.jnt_actfrclimited[j])
        return Numbers(
            lower=model.jnt_range[j, :1] if limited else None,
            upper=model.jnt_range[j, 1:] if limited else None,
            effort=np.array((np.max(np.abs(model.jnt_actfrcrange[j])),)) if effort else None,
            armature=model.dof_armature[dofs] + self.armature[j],
            damping=model.dof_damping[dofs] + self.damping[j],
            friction=model.dof_frictionloss[dofs],
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
