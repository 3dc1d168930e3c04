"""From a description to a tree: depth-first order, fixed joints merged, mimic chains resolved."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from condyle.errors import ModelError
from condyle.model.array import Array
from condyle.model.description import FIXED, Description, JointSpec, unit_axis
from condyle.model.joints import JOINT_TYPES
from condyle.model.parts import Body, Frame, Joint, Mimic, RobotData, combine
from condyle.model.placement import IDENTITY, Placement

Z = np.array((0.0, 0.0, 1.0))


@dataclass(slots=True)
class _Walk:
    """What the walk has gathered: moving joints with their parents, the parts of each body (-1: the world), frames."""

    specs: list[tuple[JointSpec, int, Placement]]
    parts: dict[int, list[tuple[Placement, Body]]]
    frames: dict[str, Frame]
    moved: list[float] = field(default_factory=list[float])

    def snapped(self, place: Placement, snap: float) -> Placement:
        """A placement that was composed, its own angles snapped; what was snapped before is counted by whoever did."""
        found = place.snapped(snap)
        self.moved += found.moved
        return replace(found, moved=())


def assemble(description: Description) -> RobotData:
    """The tree of a description whose graph is sound: depth first, siblings in document order.

    Fixed joints are merged: masses, centres and inertias are added where the links stand, and every link stays a
    frame. What is fixed to the world is in `base`.
    """
    walk = _walk(description)
    masters = _masters([spec for spec, _, _ in walk.specs])
    joints: list[Joint] = []
    nq = nv = 0
    for spec, parent, placement in walk.specs:
        joint = joint_of(spec, parent, placement, nq, nv)
        joints.append(joint)
        nq, nv = nq + joint.nq, nv + joint.nv
    joints = [_follow(joint, joints, masters) for joint in joints]
    bodies = tuple(combine(spec.child, walk.parts[i]) for i, (spec, _, _) in enumerate(walk.specs))
    fixed = walk.parts[-1]
    base = combine(fixed[0][1].name, fixed) if fixed else None
    whole = (description.name, description.gravity, tuple(joints), bodies, walk.frames, base)
    snapped = description.snapped.more(walk.moved)
    return RobotData(*whole, description.snap, snapped, description.contacts, description.file_notes)


def _walk(description: Description) -> _Walk:
    children: dict[str | None, list[JointSpec]] = {}
    for spec in description.joints:
        children.setdefault(spec.parent, []).append(spec)
    bodies = {link.name: link.body for link in description.links}
    walk = _Walk([], {-1: []}, {})
    stack = [(spec, -1, IDENTITY) for spec in reversed(children.get(None, []))]
    while stack:
        spec, carrier, place = stack.pop()
        place = place.compose(spec.placement)
        if spec.type == FIXED:
            place = place.compose(spec.after)
        else:
            walk.specs.append((spec, carrier, walk.snapped(place, description.snap)))
            carrier, place = len(walk.specs) - 1, IDENTITY
            walk.parts[carrier] = []
        walk.parts[carrier].append((place, bodies[spec.child]))
        walk.frames[spec.child] = Frame(carrier, walk.snapped(place, description.snap))
        stack.extend((child, carrier, place) for child in reversed(children.get(spec.child, [])))
    return walk


def joint_of(spec: JointSpec, parent: int, placement: Placement, nq: int, nv: int) -> Joint:
    """The moving joint of a specification, its mimic not yet resolved; q and v begin at nq and nv."""
    kind = JOINT_TYPES[spec.type]
    own = 0 if spec.mimic is not None else 1
    numbers = spec.numbers
    return Joint(
        name=spec.name,
        type=spec.type,
        nq=own * kind.nq,
        nv=own * kind.nv,
        q_index=nq,
        v_index=nv,
        parent=parent,
        axis=Z if kind.axes == 0 or spec.axis is None else unit_axis(spec.axis),
        second_axis=None if kind.axes < 2 or spec.second_axis is None else unit_axis(spec.second_axis),
        pitch=spec.pitch if kind.has_pitch else 0.0,
        placement=placement,
        after=spec.after,
        lower=_spread(numbers.lower, kind.nq, -np.inf),
        upper=_spread(numbers.upper, kind.nq, np.inf),
        effort=_spread(numbers.effort, kind.nv, np.inf),
        velocity=_spread(numbers.velocity, kind.nv, np.inf),
        armature=_spread(numbers.armature, kind.nv, 0.0),
        damping=_spread(numbers.damping, kind.nv, 0.0),
        friction=_spread(numbers.friction, kind.nv, 0.0),
        mimic=None,
    )


def _spread(values: Array | None, n: int, default: float) -> Array:
    return np.full(n, default) if values is None else np.array(np.broadcast_to(values, (n,)))


def _follow(joint: Joint, joints: list[Joint], masters: dict[str, Mimic]) -> Joint:
    mimic = masters.get(joint.name)
    if mimic is None:
        return joint
    master = joints[mimic.joint]
    return replace(joint, mimic=mimic, q_index=master.q_index, v_index=master.v_index)


def _masters(specs: list[JointSpec]) -> dict[str, Mimic]:
    """For each mimic joint the joint at the root of its chain, with the chain's multiplier and offset."""
    index = {spec.name: i for i, spec in enumerate(specs)}
    resolved: dict[str, Mimic] = {}
    for spec in specs:
        multiplier, offset, seen, at = 1.0, 0.0, {spec.name}, spec
        while at.mimic is not None:
            multiplier, offset = multiplier * at.mimic.multiplier, multiplier * at.mimic.offset + offset
            if at.mimic.joint not in index or at.mimic.joint in seen:
                raise ModelError(f"joint {spec.name!r} mimics {at.mimic.joint!r}, which is no moving joint of its own")
            at = specs[index[at.mimic.joint]]
            seen.add(at.name)
        if spec.mimic is not None:
            resolved[spec.name] = Mimic(index[at.name], multiplier, offset)
    return resolved
