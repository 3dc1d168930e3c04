"""Kinematics: poses, velocities, accelerations and Jacobians of named frames; moving in the space of configurations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from condyle import algorithms
from condyle.derivatives import jvp
from condyle.functions.quantities import DV, Q0, Q1, Q_NEXT, A, ByName, Q, V, Values
from condyle.specification import Accuracy, Closed, Function, Needs, Numerics, Port, Route, Size, Ways

if TYPE_CHECKING:
    from condyle.algorithms.sweeps import Sweeps
    from condyle.algorithms.unrolled import Unrolled
    from condyle.model.joints.increments import Rows
    from condyle.scalar import Scalar

FRAMES, SEEN = ("frames",), ("frames", "reference_frame")
EXACT, ROUNDED = Accuracy(1e-12, 2e-5), Accuracy(1e-11, 5e-5)
COLUMNS = ("n_frames", "6", "nv")
HALVES = range(3), range(3, 6)
"""The rows of a Jacobian: linear, angular."""


def _twist(name: str, unit: str, doc: str) -> Port:
    return Port(name, ("n_frames", "6"), unit, "reference", f"{doc}, [linear; angular]")


FRAME_PLACEMENTS = Function(
    "fk",
    "frame_placements",
    "R, p of each frame: x_world = R x_frame + p",
    (Q,),
    (
        Port("rotation", ("n_frames", "3", "3"), "1", "world", "axes of each frame, its columns"),
        Port("translation", ("n_frames", "3"), "m", "world", "origin of each frame"),
    ),
    Ways(lambda: {"poses": Route(_fk)}, closed=lambda: {"jacobian": _jacobian_fk}),
    Numerics(Size(40), EXACT),
    "Featherstone 2008, section 4.2",
    needs=Needs(FRAMES),
)

FRAME_VELOCITIES = Function(
    "fv",
    "frame_velocities",
    "velocity of each frame, J(q) v",
    (Q, V),
    (_twist("frame_velocity", "m/s, rad/s", "velocity of each frame"),),
    Ways(lambda: {"sweep": Route(_fv)}),
    Numerics(Size(90), EXACT),
    "Featherstone 2008, section 2.7",
    needs=Needs(SEEN),
)

FRAME_ACCELERATIONS = Function(
    "fa",
    "frame_accelerations",
    "acceleration of each frame's origin, and its angular acceleration; gravity is not in it",
    (Q, V, A),
    (_twist("frame_acceleration", "m/s^2, rad/s^2", "classical acceleration of each frame"),),
    Ways(lambda: {"sweep": Route(_fa)}),
    Numerics(Size(150), ROUNDED),
    "Featherstone 2008, section 2.11",
    needs=Needs(SEEN, reference_frames=("local", "local_world_aligned")),
)

FRAME_JACOBIANS = Function(
    "jac",
    "frame_jacobians",
    "J(q) of each frame: its velocity is J v",
    (Q,),
    (Port("J", COLUMNS, "m | 1", "reference", "Jacobian of each frame, rows [linear; angular]"),),
    Ways(lambda: {"columns": Route(_jac)}),
    Numerics(Size(100), EXACT),
    "Featherstone 2008, section 8.2",
    needs=Needs(SEEN),
)

FRAME_JACOBIANS_TIME_DERIVATIVE = Function(
    "djac",
    "frame_jacobians_time_derivative",
    "d J / d t of each frame, entry by entry",
    (Q, V),
    (Port("dJ_dt", COLUMNS, "m/s | 1/s", "reference", "time derivative of the entries of J"),),
    Ways(lambda: {"columns": Route(_djac)}),
    Numerics(Size(200), ROUNDED),
    "Featherstone 2008, section 8.2",
    needs=Needs(SEEN),
)

INTEGRATE = Function(
    "integrate",
    "integrate",
    "q ⊕ dv: q moved by a tangent vector",
    (Q, DV),
    (Q_NEXT,),
    Ways(
        lambda: {"joints": Route(_integrate)},
        closed=lambda: _JointByJoint("integrate", _integrate_blocks, ("q", "dv"), ("dq", "ddv"), "q_next").rules,
    ),
    Numerics(Size(20), EXACT),
    "Solà, Deray, Atchuthan 2018",
)

DIFFERENCE = Function(
    "difference",
    "difference",
    "q1 ⊖ q0: the tangent vector that leads from q0 to q1",
    (Q0, Q1),
    (DV,),
    Ways(
        lambda: {"joints": Route(_difference)},
        closed=lambda: _JointByJoint("difference", _difference_blocks, ("q0", "q1"), ("dq0", "dq1"), "dv").rules,
    ),
    Numerics(Size(20), Accuracy(1e-11, 5e-5)),
    "Solà, Deray, Atchuthan 2018",
)

KINEMATICS = (
    FRAME_PLACEMENTS,
    FRAME_VELOCITIES,
    FRAME_ACCELERATIONS,
    FRAME_JACOBIANS,
    FRAME_JACOBIANS_TIME_DERIVATIVE,
    INTEGRATE,
    DIFFERENCE,
)

FRAME_JACOBIANS_IN_WORLD_AXES = Function(
    "jac_aligned",
    "frame_jacobians_in_world_axes",
    "J(q) of each frame in the world's axes at its origin",
    (Q,),
    (Port("J", COLUMNS, "m | 1", "world", "Jacobian of each frame, rows [linear; angular]"),),
    Ways(lambda: {"columns": Route(_jac_aligned)}),
    Numerics(Size(100), EXACT),
    "Featherstone 2008, section 8.2",
    needs=Needs(FRAMES),
)

AUXILIARY = (FRAME_JACOBIANS_IN_WORLD_AXES,)
"""What rules for derivatives call beside the functions that users have."""


# Routes


def _fk(tree: Sweeps) -> tuple[Sequence[Scalar], ...]:
    return algorithms.kinematics.frame_placements(tree)


def _fv(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.kinematics.frame_velocities(tree, tree.input("v")),)


def _fa(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.kinematics.frame_accelerations(tree, tree.input("v"), tree.input("a")),)


def _jac(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.jacobians.frame_jacobians(tree),)


def _jac_aligned(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.jacobians.frame_jacobians(tree, "local_world_aligned"),)


def _djac(tree: Sweeps) -> tuple[Sequence[Scalar]]:
    return (algorithms.jacobians.frame_jacobian_rates(tree, tree.input("v")),)


def _integrate(tree: Unrolled) -> tuple[Sequence[Scalar]]:
    return (algorithms.stepping.integrate(tree.tree, tree.inputs),)


def _difference(tree: Unrolled) -> tuple[Sequence[Scalar]]:
    return (algorithms.stepping.difference(tree.tree, tree.inputs),)


# Derivatives that are known in closed form

Blocks: TypeAlias = "Iterator[tuple[list[int], tuple[Rows, Rows]]]"
"""Of every joint: where its velocities stand, and the derivatives by both inputs."""


def _integrate_blocks(calls: Any, inputs: ByName) -> Blocks:
    for kind, _, rates in calls.tree.configurations:
        yield rates, kind.transport([inputs["dv"][k] for k in rates])


def _difference_blocks(calls: Any, inputs: ByName) -> Blocks:
    (dv,) = calls.call(DIFFERENCE, inputs["q0"], inputs["q1"])
    for kind, _, rates in calls.tree.configurations:
        here = [dv[k] for k in rates]
        by_q0 = kind.transport_inverse([-x for x in here])
        yield rates, ([[-x for x in row] for row in by_q0], kind.transport_inverse(here))


@dataclass(frozen=True)
class _JointByJoint:
    """Rules of a function of two inputs. blocks: its derivatives; tangents, output: as derivatives call them."""

    name: str
    blocks: Callable[[Any, ByName], Blocks]
    inputs: tuple[str, str]
    tangents: tuple[str, str]
    output: str

    def jvp(self, calls: Any, inputs: ByName) -> ByName:
        result: list[Any] = [0.0] * calls.tree.nv
        for rates, parts in self.blocks(calls, inputs):
            for part, tangent in zip(parts, self.tangents, strict=True):
                own = [inputs[tangent][k] for k in rates]
                for k, row in zip(rates, part, strict=True):
                    result[k] = result[k] + _dot(row, own)
        return {f"d{self.output}": result}

    def vjp(self, calls: Any, inputs: ByName) -> ByName:
        result: dict[str, list[Any]] = {f"{one}_bar": [0.0] * calls.tree.nv for one in self.inputs}
        for rates, parts in self.blocks(calls, inputs):
            bar = [inputs[f"{self.output}_bar"][k] for k in rates]
            for found, part in zip(result.values(), parts, strict=True):
                for k, column in zip(rates, zip(*part, strict=True), strict=True):
                    found[k] = _dot(column, bar)
        return result

    def jacobian(self, calls: Any, inputs: ByName) -> ByName:
        n = calls.tree.nv
        result: dict[str, list[Any]] = {f"d{self.name}_d{one}": [0.0] * n**2 for one in self.inputs}
        for rates, parts in self.blocks(calls, inputs):
            for found, part in zip(result.values(), parts, strict=True):
                for k, row in zip(rates, part, strict=True):
                    for l, x in zip(rates, row, strict=True):
                        found[k * n + l] = x
        return result

    @property
    def rules(self) -> Mapping[str, Closed]:
        return {"jvp": self.jvp, "vjp": self.vjp, "jacobian": self.jacobian}


def _dot(row: Values, x: Values) -> Any:
    return sum(a * b for a, b in zip(row, x, strict=True))


def _jacobian_fk(calls: Any, inputs: ByName) -> ByName:
    """Columns of J in the world's axes move the origin, and turn the axes."""
    from condyle.spatial import vector as vec

    n = calls.tree.nv
    (rotation, _), (columns,) = (
        calls.call(FRAME_PLACEMENTS, inputs["q"]),
        calls.call(FRAME_JACOBIANS_IN_WORLD_AXES, inputs["q"]),
    )
    by_rotation: list[Any] = [0.0] * (len(rotation) * n)
    by_translation: list[Any] = []
    for frame in range(len(rotation) // 9):
        linear, angular = ([columns[(6 * frame + k) * n : (6 * frame + k + 1) * n] for k in part] for part in HALVES)
        by_translation += [x for row in linear for x in row]
        for axis in range(3):
            entries = [9 * frame + 3 * k + axis for k in range(3)]
            unit = vec.three([rotation[entry] for entry in entries])
            for column, w in enumerate(zip(*angular, strict=True)):
                for entry, x in zip(entries, vec.cross(vec.three(w), unit), strict=True):
                    by_rotation[entry * n + column] = x
    return {"drotation_dq": by_rotation, "dtranslation_dq": by_translation}


@dataclass(frozen=True)
class ByCalls:
    """How a step moves configurations where `integrate` stays a call: `condyle.algorithms.stepping.Moves`.

    A velocity turns like a small change of q, of which `integrate` has the derivative.
    """

    calls: Any

    def along(self, q: Sequence[Any], u: Sequence[Any]) -> Sequence[Any]:
        return self.calls.call(INTEGRATE, q, u)[0]

    def shift_and_turn(
        self, q: Sequence[Any], shift: Sequence[Any], turn: Sequence[Any], fixed: Sequence[Any]
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        shifted, after = self.along(q, shift), list(fixed)
        linear = [k for _, _, entries in algorithms.stepping.turning_joints(self.calls.tree) for k in entries]
        velocity = [x if k in linear else 0.0 for k, x in enumerate(fixed)]
        (turned,) = self.calls.call(jvp(INTEGRATE), shifted, turn, velocity, [0.0] * len(fixed))
        for k in linear:
            after[k] = turned[k]
        return self.along(shifted, turn), after
