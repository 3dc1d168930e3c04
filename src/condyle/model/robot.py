"""Robot: the immutable model that everything else starts from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from numpy.typing import ArrayLike

from condyle.errors import ModelError
from condyle.identity import Identified, Parts, parts_of
from condyle.model import change, checks, forces, loops, orders, state, write
from condyle.model.array import Array
from condyle.model.description import Description
from condyle.model.fingerprint import fingerprint
from condyle.model.inertias import attached, parameters, with_parameters
from condyle.model.orders import Permutation
from condyle.model.parts import Body, Frame, Joint, Mimic, RobotData
from condyle.model.placement import Placement
from condyle.model.state import State
from condyle.model.topology import assemble
from condyle.text import quoted

Self = TypeVar("Self", bound="Robot")


@dataclass(frozen=True, slots=True, eq=False)
class Robot(RobotData, Identified):
    """A robot: joints and bodies in depth-first order, frames by name, gravity (3,) [m/s²] in world axes.

    q (nq,) holds the joints' positions in order, v (nv,) their velocities. It cannot be changed; it pickles as data.
    fingerprint: sha256 (hex) of all numbers that dynamics depends on. identity: of everything that an answer can depend
    on, to the last bit: frames, contacts, limits, damping, friction and names too.
    """

    fingerprint: str = field(init=False)
    _parts: dict[str, str] = field(init=False, repr=False, default_factory=dict[str, str])

    def __post_init__(self) -> None:
        RobotData.__post_init__(self)
        object.__setattr__(self, "fingerprint", fingerprint(self))

    def __repr__(self) -> str:
        """One line: what a prompt shows; the joints and bodies are attributes."""
        return f"<{type(self).__name__} {quoted(self.name)}: nq {self.nq}, nv {self.nv}, {len(self.bodies)} bodies>"

    @classmethod
    def from_data(cls: type[Self], robot: RobotData) -> Self:
        """The robot of a robot."""
        whole = (robot.name, robot.gravity, robot.joints, robot.bodies, robot.frames, robot.base)
        return cls(*whole, robot.snap, robot.snapped, robot.contacts, robot.file_notes)

    @classmethod
    def assemble(cls: type[Self], description: Description) -> Self:
        """The robot of a description whose graph is sound."""
        return cls.from_data(assemble(description))

    def _identified(self) -> Parts:
        return parts_of(self)

    def joint(self, name: str) -> Joint:
        """Return the joint of this name. It has q[..., joint.q_slice] and v[..., joint.v_slice]. ModelError."""
        for joint in self.joints:
            if joint.name == name:
                return joint
        raise ModelError(f"there is no joint {name!r}{change.suggest(name, self.joint_names)}")

    neutral = state.neutral
    random_state = state.random_state
    integrate = state.integrate
    difference = state.difference
    integrate_derivatives = state.integrate_derivatives
    normalize = state.normalize
    check_state = state.check_state
    f_ext = forces.f_ext
    to_urdf = write.to_urdf
    check = checks.check
    permutation = orders.permutation

    @property
    def inertias(self) -> Array:
        """Return the inertial parameters (n_bodies, 10) of each body: m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz, SI.

        About the origin of the body's frame, in its axes. Torques are linear in them, see `inverse_dynamics_regressor`.
        A row is Pinocchio's `toDynamicParameters`.
        """
        return parameters(self)

    def with_inertias(self: Self, inertias: ArrayLike) -> Self:
        """Return the robot with other `inertias`, (n_bodies, 10).

        ModelError names every body that cannot exist; ModelWarning names a doubtful one, as `condyle.load` does.
        """
        return self.from_data(with_parameters(self, inertias))

    def attach(
        self: Self,
        frame: str,
        mass: float,
        com: ArrayLike = (0.0, 0.0, 0.0),
        inertia: ArrayLike = ((0.0,) * 3,) * 3,
    ) -> Self:
        """Return the robot with a payload welded to a frame.

        mass [kg]. com (3,) [m]: centre of mass in the frame. inertia (3, 3) [kg m²]: about com, in the axes of the
        frame. ModelError for an unknown frame, for one that is fixed to the world, and for a payload that cannot exist.
        """
        return self.from_data(attached(self, frame, mass, com, inertia))

    def lock(self: Self, values: Mapping[str, float | Sequence[float] | Array]) -> Self:
        """Return the robot with joints fixed at values, {name: number, or kind.nq numbers} in rad and m; bodies are
        merged.

        Joints that mimic a fixed joint are fixed too. ModelError for an unknown name or an impossible value.
        ModelWarning for a contact of `contacts` whose two frames are on one body then: it is left out.
        """
        return self.from_data(loops.locked(self, values))

    def reroot(self: Self, link: str) -> Self:
        """Return the same robot with another root link.

        Fixed base: the world is where `link` is, and the old root moves. Floating base: q and v of the free joint are
        those of the frame of `link`. Link frames, names and signs of joints and the meaning of the other q stay; the
        order of the joints is new, see `permutation`. Loops are closed at the same places. UnsupportedError for a joint
        between the two roots that cannot be reversed.
        """
        return self.from_data(loops.rerooted(self, link))


__all__ = ["Body", "Frame", "Joint", "Mimic", "Permutation", "Placement", "Robot", "State"]
