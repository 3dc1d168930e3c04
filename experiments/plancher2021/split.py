"""The paper's split partitioning of a GPU: dc/du alone on the GPU, v, a and f of every body from the processor.

`LINKS` is the processor's part: inverse dynamics without its last line. `SPLIT` is the GPU's: the sweep of `did`
(`condyle.algorithms.rnea_derivatives`) with the motions and forces given, transforms computed on the GPU as in the
paper. What a link's six numbers are: velocity of its origin and angular velocity; classical acceleration of its origin
less gravity and angular acceleration; force and torque through its joint. All are in the frame of the URDF's link.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from condyle.algorithms.crba import composites
from condyle.algorithms.joint import Joint, Wrench
from condyle.algorithms.rnea import Motion, carried, spin, total_forces
from condyle.algorithms.rnea_derivatives import (
    ENTRIES,
    Before,
    State,
    columns,
    in_the_world,
    meet,
    momentum_to_parent,
    motion_of,
    own_momentum,
    rise,
    start,
    state,
)
from condyle.algorithms.sweeps import Matrix
from condyle.algorithms.unrolled import Unrolled
from condyle.errors import UnsupportedError
from condyle.functions.quantities import DTAU_DQ, DTAU_DV, A, Q, V
from condyle.model.tree import Link
from condyle.scalar import Scalar
from condyle.spatial import vector as vec
from condyle.spatial.rotation import Transform
from condyle.spatial.twist import Pair
from condyle.specification import Accuracy, Function, Numerics, Port, Route, Size, Ways

SIZE = ("n_bodies", "6")
VELOCITIES = Port("link_v", SIZE, "m/s, rad/s", "body", "velocity [linear; angular] of each link")
ACCELERATIONS = Port("link_a", SIZE, "m/s^2, rad/s^2", "body", "acceleration [linear; angular] of each link")
FORCES = Port("link_f", SIZE, "N, N m", "body", "[force; torque] through each link's joint")
GIVEN = (VELOCITIES, ACCELERATIONS, FORCES)

Move = Callable[[Transform, Pair], Pair]


def links(tree: Unrolled) -> tuple[Sequence[Scalar], ...]:
    """v, a, f of every link."""
    states = tree.forward(state, in_the_world(tree.gravity), tree.input("v"), tree.input("a"))
    motions = tree.each(motion_of, states)
    forces = total_forces(tree, motions)
    return (
        _flat(tree, [(one.u, one.motion.w) for one in states], Transform.motion_to_child),
        _flat(tree, [accelerated(m, at.body_frame) for m, at in zip(motions, _links(tree), strict=True)], _turned),
        _flat(tree, list(forces), lambda frame, f: frame.inverse().force_to_parent(f)),
    )


def accelerated(motion: Motion, frame: Transform) -> Pair:
    """Of a frame's origin, in the link's axes."""
    return vec.add(motion.a, vec.times(motion.U, frame.translation)), motion.dw


def derivatives(tree: Unrolled) -> tuple[Matrix, Matrix]:
    """(d tau / d q, d tau / d v) from q and what `links` answers."""
    velocities = _given(tree, VELOCITIES, Transform.motion_to_parent)
    turned = _given(tree, ACCELERATIONS, lambda frame, x: (frame.rotation.back(x[0]), frame.rotation.back(x[1])))
    forces = [Wrench(*f) for f in _given(tree, FORCES, Transform.force_to_parent)]
    motions: list[Motion] = []
    for (_, w), (a, dw), link in zip(velocities, turned, _links(tree), strict=True):
        U = spin(w, dw)
        motions.append(Motion(w, dw, U, vec.sub(a, vec.times(U, link.body_frame.translation))))
    linear = [u for u, _ in velocities]
    states = tree.forward(given_state, in_the_world(tree.gravity), motions, linear)
    momenta = tree.backward(momentum_to_parent, tree.each(own_momentum, states))
    given = (tree.each(columns, states), composites(tree), momenta, forces)
    by_q, by_v = tree.pairs(start, meet, rise, ENTRIES, *given)
    return by_q, by_v


def given_state(joint: Joint, parent: State, motion: Motion, u: vec.Vector) -> State:
    """Forward step: the link's motion is given, its parent's is brought to its joint."""
    w, dw, a = carried(joint, parent.motion)
    at_joint = joint.rotation.into(vec.add(parent.u, vec.cross(parent.motion.w, joint.origin)))
    return State(motion, u, Before(w, at_joint, dw, a))


def _links(tree: Unrolled) -> Sequence[Link]:
    """The links; UnsupportedError where one is no body of its own, or armature of a free joint answers v."""
    if tree.free_rotors or any(link.body < 0 for link in tree.tree.links):
        raise UnsupportedError("split: robots with universal joints, or with armature on a free joint, are not split")
    return tree.tree.links


def _turned(frame: Transform, x: Pair) -> Pair:
    return frame.rotation.into(x[0]), frame.rotation.into(x[1])


def _flat(tree: Unrolled, values: Sequence[Pair], move: Move) -> list[Scalar]:
    """Six numbers a body in the order of the robot's bodies, each moved from its link to its body's frame."""
    found = {link.body: move(link.body_frame, value) for link, value in zip(_links(tree), values, strict=True)}
    return [x for body in sorted(found) for part in found[body] for x in part]


def _given(tree: Unrolled, port: Port, move: Move) -> list[Pair]:
    """What is given of each link, moved from its body's frame to the link's."""
    values = tree.inputs[port.name]
    at = [(link.body_frame, 6 * link.body) for link in _links(tree)]
    return [move(frame, (vec.three(values, k), vec.three(values, k + 3))) for frame, k in at]


LINKS = Function(
    "links",
    "link_motions_and_forces",
    "v, a, f of every link, by the two sweeps of inverse dynamics",
    (Q, V, A),
    GIVEN,
    Ways(lambda: {"rnea": Route(links)}),
    Numerics(Size(200), Accuracy(1e-12, 2e-5)),
    "Plancher 2021, Algorithm 1",
)
SPLIT = Function(
    "did_split",
    "inverse_dynamics_derivatives_of_links",
    "d tau / d q, d tau / d v of inverse dynamics, given v, a, f of every link",
    (Q, *GIVEN),
    (DTAU_DQ, DTAU_DV),
    Ways(lambda: {"closed_form": Route(derivatives)}),
    Numerics(Size(200, 180), Accuracy(1e-11, 5e-5)),
    "Plancher 2021, section IV-B, Algorithm 3, line 2",
)
