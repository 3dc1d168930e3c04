"""What acts at the joints beside tau: damping, dry friction, springs, stops at limits, and actuators.

    joint force = - d v - k (q - r) - f v / sqrt(v^2 + w^2) - s_k ramp(e),  e = s - clip(s, lower, upper),
                  s = q + s_t v

of each degree of freedom. A stop is a spring that acts s_t seconds ahead: it is a damper s_k s_t too, never pulls, and
is zero within the limits. ramp(e) has the sign of e, is e^2 / (4 s_w) up to |e| = 2 s_w and |e| - s_w beyond.

An actuator pushes by

    clip(gain clip(u, control) + b0 + b1 length + b2 rate, force range),  length = sum gear q,  rate = sum gear v

of a damper by clip(- gain clip(u, control) rate, force range), on each of its joints times the gear. The sum of all at
a joint is clipped at its effort.

With F the sum of both, and h the length of a step, a step that takes at its end what depends on v has

    (M + h D) a + c = tau + F(q, v, u),

D = - dF/dv, but f / sqrt(v^2 + w^2) for dry friction, with which it never turns a motion round, and 0 for an actuator
that is clipped and in rows and columns of joints whose effort clips. So M^-1 becomes (M + h D)^-1, and dF - h dD a is
added to the derivatives of tau. As h goes to 0 this is forward dynamics. With `POSITIONS`, springs and actuators have
q + h v in place of q: so D has h k too, and their forces are those of the positions at the end of the step.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import reduce
from math import inf, isfinite
from typing import NamedTuple, TypeVar, cast

from condyle.algorithms.joint import Dof
from condyle.algorithms.matrix import SparseMatrix, dense, plus
from condyle.algorithms.sweeps import Matrix, Sweeps, Vector
from condyle.algorithms.unrolled import Unrolled
from condyle.model.tree import Tree
from condyle.scalar import Scalar, absolute, is_zero, maximum, minimum, number, reciprocal, select, sqrt, total
from condyle.specification import Drive
from condyle.specification.integrators import METHODS, POSITIONS
from condyle.specification.ports import (
    ACTUATOR_GAINS,
    CONTROLS,
    DAMPING,
    DRY_FRICTION,
    IMPLICIT,
    STIFFNESS,
)

S = TypeVar("S", bound=Sweeps)
T = TypeVar("T")

RESISTING = {"damping": DAMPING.name, "friction": DRY_FRICTION.name}
"""The laws that depend on v alone, and the input that has their numbers."""
LAW_OF = {**RESISTING, "springs": STIFFNESS.name}
UNLIMITED = (-inf, inf)
GAINS = 4
"""Numbers of an actuator: gain, b0, b1, b2."""


# The force on one degree of freedom by each law.


class Force(NamedTuple):
    """A force, its derivatives by q and by v, D of a step, and the derivatives of D."""

    value: Scalar
    by_q: Scalar
    by_v: Scalar
    D: Scalar
    D_by_q: Scalar
    D_by_v: Scalar


NONE = number(0.0)


def resistance(d: Scalar | None, f: Scalar | None, w: float, v: Scalar) -> Force:
    """- d v - f v / sqrt(v^2 + w^2)."""
    if f is None:
        d = NONE if d is None else d
        return Force(-(d * v), NONE, -d, d, NONE, NONE)
    s = reciprocal(sqrt(v * v + w * w))
    dry = f * s
    cube, D = dry * (s * s), dry if d is None else d + dry
    slope = (w * w) * cube if d is None else d + (w * w) * cube
    return Force(-(D * v), NONE, -slope, D, NONE, -(cube * v))


def spring(k: Scalar, r: float, q: Scalar, v: Scalar = NONE, h: Scalar | None = None) -> Force:
    """- k (q - r); - k (q + h v - r) where positions are those after h."""
    if h is None:
        return Force(-(k * (q - r)), -k, NONE, NONE, NONE, NONE)
    return Force(-(k * (q + h * v - r)), -k, -(h * k), h * k, NONE, NONE)


def stop(limits: tuple[float, float], numbers: tuple[float, float, float], q: Scalar, v: Scalar) -> Force:
    """Of both limits."""
    k, t, w = numbers
    ahead = q + t * v
    e = ahead - _clipped(ahead, limits)[0]
    part = minimum(maximum(e, -2.0 * w), 2.0 * w)
    size, stiffness, damping = absolute(part), 0.5 * k / w, 0.5 * k * t / w
    bends = select(-size, 0.0, select(size - 2.0 * w, 0.0, select(e, damping, -damping)))
    value = -(stiffness * (size * (e - 0.5 * part)))
    return Force(value, -(stiffness * size), -(damping * size), damping * size, bends, t * bends)


def joint_force(tree: Unrolled, k: int) -> Force | None:
    """Of degree of freedom k by all laws that hold; None where there is none."""
    drives, place = tree.tree.drives, tree.tree.positions[k]
    terms: list[Force] = []
    (d, f, stiffness), v = (law_number(tree, law, k) for law in LAW_OF), tree.inputs.get("v", ())
    if d is not None or f is not None:
        terms.append(resistance(d, f, drives.friction_velocity, v[k]))
    if place >= 0 and stiffness is not None:
        reference, h = drives.reference[k] if drives.reference else 0.0, ahead(tree)
        terms.append(spring(stiffness, reference, tree.inputs["q"][place], v[k] if v else NONE, h))
    limits = (drives.lower[k], drives.upper[k]) if "limits" in drives.forces else UNLIMITED
    if place >= 0 and limits != UNLIMITED:
        terms.append(stop(limits, drives.stops, tree.inputs["q"][place], v[k]))
    return reduce(plus, terms) if terms else None


def law_number(tree: Unrolled, law: str, k: int) -> Scalar | None:
    """The number of a law, from the inputs if it is one; None where the law does not hold, or does nothing."""
    entries = tree.inputs.get(LAW_OF[law])
    if entries is not None:
        return entries[k]
    drives = tree.tree.drives
    if law not in drives.forces:
        return None
    constant = {"damping": drives.damping, "friction": drives.friction, "springs": drives.stiffness}[law][k]
    return number(constant) if constant != 0.0 else None


# Actuators.


class Push(NamedTuple):
    """The force of an actuator before the gear, and its derivatives: by length, by rate, by control, and by both."""

    value: Scalar
    by_length: Scalar
    by_rate: Scalar
    by_control: Scalar
    by_rate_by_control: Scalar


def push(
    drive: Drive, gains: Sequence[Scalar], control: Scalar, length: Scalar, rate: Scalar, h: Scalar | None = None
) -> Push:
    """Of one actuator; zero derivatives where it is clipped. h: then its length is that after h."""
    gain, b0, b1, b2 = gains
    u, moves = _clipped(control, drive.control)
    if drive.is_damper:
        damping = gain * u
        slopes = NONE, -damping, -(gain * rate) * moves, -gain * moves
        value = -(damping * rate)
    else:
        slopes = b1, b2 if h is None else b2 + h * b1, gain * moves, NONE
        value = gain * u + b0 + b1 * (length if h is None else length + h * rate) + b2 * rate
    force, free = _clipped(value, drive.force)
    return Push(force, *(slope * free for slope in slopes))


def _clipped(x: Scalar, limits: tuple[float, float]) -> tuple[Scalar, Scalar]:
    """x within the limits, and 1 where it is, else 0."""
    inside, (low, high) = number(1.0), limits
    value = x
    if isfinite(high):
        value, inside = minimum(value, high), select(high - x, inside, 0.0)
    if isfinite(low):
        value, inside = maximum(value, low), select(x - low, inside, 0.0)
    return value, inside


def pushes(tree: Unrolled) -> list[Push]:
    """Of all actuators, for the tree's inputs q, v and u."""
    drives, inputs = tree.tree.drives.actuators, tree.inputs
    gains = inputs.get(ACTUATOR_GAINS.name) or [number(x) for drive in drives for x in drive.gains]
    answers: list[Push] = []
    for k, drive in enumerate(drives):
        length, rate = number(0.0), number(0.0)
        for entry, place, gear in drive.gears:
            length, rate = length + gear * inputs["q"][place], rate + gear * inputs["v"][entry]
        numbers, control = gains[GAINS * k : GAINS * k + GAINS], inputs[CONTROLS.name][k]
        answers.append(push(drive, numbers, control, length, rate, ahead(tree)))
    return answers


# Both together, in the equation of motion.


def joint_forces(tree: Unrolled) -> list[Scalar]:
    """The joint force of each degree of freedom."""
    forces = (joint_force(tree, k) for k in range(tree.nv))
    return [NONE if force is None else force.value for force in forces]


def actuator_forces(tree: Unrolled) -> list[Scalar]:
    """What all actuators push each degree of freedom by."""
    return [force for force, _ in joint_pushes(tree, pushes(tree))]


def joint_pushes(tree: Unrolled, pushes: Sequence[Push]) -> list[tuple[Scalar, Scalar]]:
    """The force of all actuators on each degree of freedom, and 1 where effort does not clip it, else 0."""
    drives, sums = tree.tree.drives, [NONE] * tree.nv
    for drive, one in zip(drives.actuators, pushes, strict=True):
        for k, _, gear in drive.gears:
            sums[k] = sums[k] + gear * one.value
    driven = {k for drive in drives.actuators for k, _, _ in drive.gears}
    return [
        _clipped(x, (-most, most)) if k in driven else (x, number(1.0))
        for k, (x, most) in enumerate(zip(sums, drives.effort, strict=True))
    ]


def act(tree: Sweeps) -> bool:
    """Whether something acts beside tau."""
    if not isinstance(tree, Unrolled):
        return False
    numbers = any(name in tree.inputs for name in LAW_OF.values())
    return numbers or bool(tree.tree.drives.forces) or CONTROLS.name in tree.inputs


def driven(tree: S) -> S:
    """The tree with tau + joint forces in place of tau, where actuators push in place of tau + their forces."""
    if not act(tree):
        return tree
    unrolled = cast(Unrolled, tree)
    by_controls = CONTROLS.name in unrolled.inputs
    tau = actuator_forces(unrolled) if by_controls else list(unrolled.inputs["tau"])
    tau = [x + force for x, force in zip(tau, joint_forces(unrolled), strict=True)]
    return cast(S, Unrolled(unrolled.tree, {**unrolled.inputs, "tau": tau}))


def resisted(tree: Sweeps, tau: Vector) -> Vector:
    """tau - joint forces: what has to push, by inverse dynamics."""
    if not act(tree):
        return tau
    forces = joint_forces(cast(Unrolled, tree))
    return [x - force for x, force in zip(cast("Sequence[Scalar]", tau), forces, strict=True)]


def damped(tree: Sweeps, c: Vector) -> Vector:
    """c + damping v where damping is an input, and no other joint force."""
    if not isinstance(tree, Unrolled) or DAMPING.name not in tree.inputs:
        return c
    rates = zip(cast("Sequence[Scalar]", c), tree.inputs[DAMPING.name], tree.inputs["v"], strict=True)
    return [x + d * v for x, d, v in rates]


def is_resisted(tree: Unrolled, k: int) -> bool:
    """Whether a force at degree of freedom k depends on its velocity."""
    force = joint_force(tree, k)
    return force is not None and not is_zero(force.by_v)


def with_slopes(tree: Sweeps, by_q: Matrix, by_v: Matrix, a: Vector = ()) -> tuple[Matrix, Matrix]:
    """d tau / d q and d tau / d v of inverse dynamics with those of - F added, and with h dD a in a step; a: its
    answer."""
    if not act(tree):
        return by_q, by_v
    unrolled, of_q, of_v = cast(Unrolled, tree), cast(SparseMatrix, by_q), cast(SparseMatrix, by_v)
    h = _step(unrolled)
    for k in range(tree.nv):
        force = joint_force(unrolled, k)
        if force is None:
            continue
        for matrix, slope, turn in ((of_q, force.by_q, force.D_by_q), (of_v, force.by_v, force.D_by_v)):
            change = slope if h is None or is_zero(turn) else slope - h * turn * cast("Sequence[Scalar]", a)[k]
            if not is_zero(change):
                matrix.add(k, k, -change)
    for row, column, gears, free, one in _pairs(unrolled):
        for matrix, slope in ((of_q, one.by_length), (of_v, one.by_rate)):
            if not is_zero(slope):
                matrix.add(row, column, -(gears * slope * free[row]))
    return by_q, by_v


def by_controls(tree: Unrolled, by_tau: T, a: Vector) -> T | list[Scalar]:
    """Derivatives by u, given those by tau (rows of nv entries); those by tau where nothing has controls."""
    if CONTROLS.name not in tree.inputs:
        return by_tau
    entries, h, rates = dense(cast("Sequence[Scalar]", by_tau)), _step(tree), cast("Sequence[Scalar]", a)
    drives, every = tree.tree.drives.actuators, pushes(tree)
    free = [flag for _, flag in joint_pushes(tree, every)]
    slopes = [one.by_control for one in every]
    for k, (drive, one) in enumerate(zip(drives, every, strict=True)):
        if h is not None and not is_zero(one.by_rate_by_control):
            rate = total([gear * rates[entry] * free[entry] for entry, _, gear in drive.gears])
            slopes[k] = slopes[k] + h * one.by_rate_by_control * rate
    return [
        total([entries[row + k] * (gear * free[k]) for k, _, gear in drive.gears]) * slope
        for row in range(0, len(entries), tree.nv)
        for drive, slope in zip(drives, slopes, strict=True)
    ]


# Steps that take at their end what depends on v.


def has_rates(tree: Tree, inputs: Collection[str]) -> bool:
    """Whether some force depends on v, by the robot and the names of inputs alone."""
    drives = tree.drives
    constants = {"damping": drives.damping, "friction": drives.friction}
    if any(name in inputs or (law in drives.forces and any(constants[law])) for law, name in RESISTING.items()):
        return True
    if "limits" in drives.forces and any(isfinite(x) for x in (*drives.lower, *drives.upper)):
        return True
    if drives.implicit == POSITIONS and (
        STIFFNESS.name in inputs or ("springs" in drives.forces and any(drives.stiffness))
    ):
        return True
    return CONTROLS.name in inputs and any(_has_rate(tree, drive, inputs) for drive in drives.actuators)


def _has_rate(tree: Tree, drive: Drive, inputs: Collection[str]) -> bool:
    by_length = tree.drives.implicit == POSITIONS and drive.gains[-2] != 0.0
    return drive.is_damper or drive.gains[-1] != 0.0 or by_length or ACTUATOR_GAINS.name in inputs


def stepping(tree: Unrolled) -> Unrolled:
    """The tree of a step of length dt: forces at its end, where they depend on v."""
    return Unrolled(tree.tree, at_end(tree.tree, tree.inputs))


def at_end(tree: Tree, inputs: Mapping[str, T]) -> Mapping[str, T]:
    """The inputs of a step with its length once more, where forces at its end are asked for and depend on v."""
    if not tree.drives.implicit or METHODS[tree.integrator].order > 1 or not has_rates(tree, inputs):
        return inputs
    return {**inputs, IMPLICIT.name: inputs["dt"]}


def couples(tree: Sweeps) -> bool:
    """Whether D has entries beside its diagonal, which factors of M take and eliminations of joints do not."""
    if not isinstance(tree, Unrolled) or not {IMPLICIT.name, CONTROLS.name} <= tree.inputs.keys():
        return False
    drives = tree.tree.drives.actuators
    return any(len(drive.gears) > 1 and _has_rate(tree.tree, drive, tree.inputs) for drive in drives)


def added_mass(tree: Unrolled) -> SparseMatrix:
    """h D; empty where no step is made."""
    added, h = SparseMatrix(tree.nv), _step(tree)
    if h is None:
        return added
    for k in range(tree.nv):
        force = joint_force(tree, k)
        if force is not None and not is_zero(force.D):
            added.add(k, k, h * force.D)
    for row, column, gears, free, one in _pairs(tree):
        if not is_zero(one.by_rate):
            added.add(row, column, -(h * gears) * one.by_rate * free[row] * free[column])
    return added


def with_added_rotors(tree: S) -> S:
    """The tree with the diagonal of h D beside its armature: for eliminations of joints, which nothing else enters."""
    if not isinstance(tree, Unrolled) or IMPLICIT.name not in tree.inputs:
        return tree
    added, heavier = added_mass(tree), copy(tree)
    heavier.__dict__["joints"] = [
        replace(
            joint,
            dofs=tuple(_heavier(dof, added.get(c.entry, c.entry)) for dof, c in zip(joint.dofs, link.v, strict=True)),
        )
        for joint, link in zip(tree.joints, tree.tree.links, strict=True)
    ]
    return cast(S, heavier)


def _heavier(dof: Dof, more: Scalar | None) -> Dof:
    return dof if more is None else replace(dof, armature=dof.armature + more)


def _step(tree: Unrolled) -> Scalar | None:
    """h, where forces are taken at the end of a step."""
    length = tree.inputs.get(IMPLICIT.name)
    return None if length is None else length[0]


def ahead(tree: Unrolled) -> Scalar | None:
    """h, where positions are taken at the end of a step too."""
    return _step(tree) if tree.tree.drives.implicit == POSITIONS else None


def _pairs(tree: Unrolled) -> Iterator[tuple[int, int, float, Sequence[Scalar], Push]]:
    """(row, column, product of gears, where effort does not clip, push) of every two joints of an actuator."""
    if CONTROLS.name not in tree.inputs:
        return
    every = pushes(tree)
    free = [flag for _, flag in joint_pushes(tree, every)]
    for drive, one in zip(tree.tree.drives.actuators, every, strict=True):
        for row, _, x in drive.gears:
            for column, _, y in drive.gears:
                yield row, column, x * y, free, one
