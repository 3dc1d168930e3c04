"""Nodes of crocoddyl's problems: accelerations and steps, free or with contacts.

crocoddyl calls its models node by node. Here a node's derivatives are those of a batch: the first node that is asked
for them computes them for every node of its problem that was stepped since, in one call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.calls.dynamics import Dynamics
from condyle.compile.options import check_choice
from condyle.errors import UnsupportedError
from condyle.interop.crocoddyl.coordinates import (
    CROC,
    PACKAGES,
    Array,
    Coordinates,
    Differential,
    Memory,
    Model,
    active,
    contacts_of,
    multibody,
    robot_of,
    write,
)
from condyle.interop.crocoddyl.drives import MOTIONS, Drive, Motion, Residual
from condyle.interop.crocoddyl.node_costs import Batch, ContactCosts, ImpulseCosts, ModelCosts, Nodes, ResidualCosts
from condyle.model.contact import Contact, anchors_of, gains_of
from condyle.model.placement import Placement
from condyle.text import quoted

# Which contacts of a compiled robot crocoddyl's contact and impulse models stand for.


CONTACT_MODEL_KINDS = {
    "ContactModel3D": "point",
    "ContactModel6D": "plane",
    "ImpulseModel3D": "point",
    "ImpulseModel6D": "plane",
}
CLOSE = 1e-8
"""Placements that are the same [m, 1]: angles of a file are snapped by up to 1e-9 rad."""
ORIGIN = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
"""An anchor at the world's origin: x y z, then its rotation row by row."""


class Held(NamedTuple):
    """Contacts of one node. active (C,), gains (C, 2), anchors (C, 12): as `condyle.specification.ports` has them.

    is_world: forces are in the world's axes, else in the contact's. picks: where the rows of its forces stand among
    those of all contacts, in crocoddyl's order. Loops that the robot closes hold in every node, as they are compiled.
    """

    active: Array
    gains: Array
    anchors: Array
    is_world: bool
    picks: NDArray[np.intp]


def held(items: Sequence[tuple[str, Any]], model: Any, robot: Any, contacts: Sequence[Contact]) -> Held:
    """Of crocoddyl's models, by name in its order. model: Pinocchio's. contacts: those that are compiled.

    UnsupportedError, which names the model, for a kind that there is not, for one without a contact there, and for
    gains that would mean another error.
    """
    is_loop = np.array([one.is_loop for one in contacts], bool)
    gains = np.where(is_loop[:, None], gains_of(contacts), 0.0)
    anchors = np.where(is_loop[:, None], anchors_of(contacts), ORIGIN)
    ends = list(accumulate(len(one.rows) for one in contacts))
    found, worlds = list[int](), set[bool]()
    for name, one in items:
        kind = _kind(name, one)
        k = _index(name, one, kind, model, robot, contacts)
        found.append(k)
        worlds.add(str(one.type) != "LOCAL")
        gains[k] = getattr(one, "gains", (0.0, 0.0))
        if gains[k, 0] and kind == "plane":
            raise UnsupportedError(
                f"contact {quoted(name)} has gains[0] = {gains[k, 0]:g} in 6-D, where crocoddyl's error is log6 and "
                "ours is not: give 0, or take a contact in 3-D"
            )
        if gains[k, 0]:
            anchors[k, :3] = one.reference
    if len(worlds) > 1:
        names = ", ".join(quoted(name) for name, _ in items)
        raise UnsupportedError(f"contacts {names}: some are LOCAL, some are not; give all of them one type")
    picks = [row for k in found for row in range(ends[k] - len(contacts[k].rows), ends[k])]
    active = (is_loop | np.isin(np.arange(len(contacts)), found)).astype(float)
    return Held(active, gains, anchors, False not in worlds, np.array(picks, np.intp))


def _kind(name: str, item: Any) -> str:
    title = type(item).__name__
    if title not in CONTACT_MODEL_KINDS:
        raise UnsupportedError(f"contact {quoted(name)} is a {title}; expected one of {', '.join(CONTACT_MODEL_KINDS)}")
    return CONTACT_MODEL_KINDS[title]


def _index(name: str, item: Any, kind: str, model: Any, robot: Any, contacts: Sequence[Contact]) -> int:
    """The contact that stands where the model's frame does."""
    frame = model.frames[item.id]
    joint, there = str(model.names[frame.parentJoint]), frame.placement
    for k, contact in enumerate(contacts):
        of = robot.frames[contact.frame]
        is_alike = contact.kind == kind and not contact.is_loop and robot.joints[of.body].name == joint
        if is_alike and _same(of.placement.compose(contact.placed), there):
            return k
    raise UnsupportedError(
        f"contact {quoted(name)} is at frame {quoted(str(frame.name))}, where dyn has no contact of kind {kind!r}: "
        f"compile the robot with contacts=[condyle.Contact({str(frame.name)!r}, {kind!r}), ...]"
    )


def _same(a: Placement, b: Any) -> bool:
    pairs = (a.translation, b.translation), (a.rotation, b.rotation)
    return all(np.allclose(one, other, rtol=0, atol=CLOSE) for one, other in pairs)


BLOCKS = ("Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu")
ACTUATIONS = ("ActuationModelFull", "ActuationModelFloatingBase")


class DifferentialActionModel(Differential):
    """Forward dynamics of a robot, free or with contacts, l(x, u) by `costs`: M a + c = [0; u] + Jᵀ f, J a + gamma = 0.

    state: crocoddyl's StateMultibody of the same robot. dyn: float64, on a processor. costs: crocoddyl's CostModelSum,
    or a residual `f(at, u) -> (m)` in NumPy, as in `Robot.function`: l = r·r / 2, with Gauss-Newton's curvature; at a
    terminal node u is zero. contacts: crocoddyl's ContactModelMultiple; those that are on now hold, with its gains and
    references, in 3-D and 6-D; `dyn` is compiled with contacts at all their frames. With contacts a residual is
    f(at, u, force), of all contacts of `dyn` one behind the other, 3 or 6 numbers each, in the axes that crocoddyl's
    contacts have; zero at a terminal node. actuation: crocoddyl's, of all joints or of those behind a floating base; by
    default all. own: numbers (p,) of this node, the last argument of its residual: weights and references, so that one
    residual serves many nodes in one call. It serves in crocoddyl's own integrators too. UnsupportedError where the
    joints of state and robot differ, and for what is not named here.
    """

    def __init__(
        self,
        state: Any,
        dyn: Dynamics,
        costs: Any,
        contacts: Any = None,
        actuation: Any = None,
        own: ArrayLike | None = None,
    ) -> None:
        self.dyn, robot = dyn, robot_of(dyn)
        at = Coordinates(multibody(state).pinocchio, robot)
        actuation = CROC.ActuationModelFull(state) if actuation is None else actuation
        if type(actuation).__name__ not in ACTUATIONS:
            raise UnsupportedError(f"actuation is a {type(actuation).__name__}; expected {' or '.join(ACTUATIONS)}")
        is_model, nu = isinstance(costs, CROC.CostModelSum), int(actuation.nu)
        if not is_model and not callable(costs):
            raise UnsupportedError(f"costs is a {type(costs).__name__}; expected crocoddyl.CostModelSum or a function")
        super().__init__(state, nu, cast(Any, costs).nr if is_model else 1)
        self.residual: Residual | None = None if is_model else cast(Residual, costs)
        known = contacts_of(dyn) if contacts is not None or any(one.is_loop for one in contacts_of(dyn)) else ()
        items = active(contacts, "contact") if contacts is not None else []
        self.held = held(items, state.pinocchio, robot, known)
        numbers = [] if own is None else [np.atleast_1d(np.array(own, float))]
        if numbers and is_model:
            raise UnsupportedError("own is given with a CostModelSum, which has its own: give it with a residual")
        n_own = sum(map(len, numbers))
        self.drive, self.coordinates = Drive(robot, dyn, at, nu, known, self.held.is_world, n_own), at
        self.numbers = (*(self.held[:3] if known else ()), *numbers)
        if self.residual is not None:
            self.costs = ResidualCosts(self.drive, self.residual, self.numbers)
        elif contacts is not None:
            self.costs = ContactCosts(PACKAGES, state, costs, actuation, contacts)
        else:
            self.costs = ModelCosts(PACKAGES, state, costs, actuation)
        limit = np.asarray(state.pinocchio.effortLimit)[len(state.pinocchio.effortLimit) - nu :]
        self.u_lb, self.u_ub = -limit, limit

    def motion(self, method: str) -> Motion:
        """Its step, shared by all models that move alike, and have crocoddyl's costs or the same residual."""
        known, key = _MOTIONS.setdefault(self.dyn, {}), (self.drive, method, self.residual)
        if key not in known:
            known[key] = Motion(*key)
        return known[key]

    def createData(self) -> Any:
        """crocoddyl's data, with that of the costs."""
        data = super().createData()
        data.of_costs, data.y = self.costs.data(), np.empty(self.drive.size)
        return data

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.xout (nv) and data.cost."""
        pushed: list[Array] = []
        if u is not None:
            self.drive.put(data.y, x, u)
            a, *forces = self.drive.call(self.drive.value, data.y, *self.numbers)
            data.xout[:], pushed = a, [force[self.held.picks] for force in forces]
        data.cost = self.costs.value(data.of_costs, x, u, *pushed)

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.Fx, Fu, Lx, Lxx, Lu, Lxu, Luu, behind `calc` at the same place."""
        pushed: list[Array] = []
        if u is not None:
            self.drive.put(data.y, x, u)
            by = self.drive.call(self.drive.slopes, data.y, *self.numbers)
            found, ndx = self.drive.by_y(by, 0), 2 * self.coordinates.nv
            data.Fx[:], data.Fu[:] = found[:, :ndx], found[:, ndx:]
            pushed = [self.drive.by_y(by, 1)[self.held.picks]] if self.drive.contacts else []
        write(data, *self.costs.slopes(data.of_costs, x, u, *pushed), has_u=u is not None)

    def quasiStatic(self, data: Any, x: Array, maxiter: int = 100, tol: float = 1e-9) -> Array:
        """u (nu) that holds the robot at rest in this posture, with forces of its contacts: the least of both."""
        nv, nu, still = self.coordinates.nv, self.nu, np.zeros(self.coordinates.nv)
        q, _ = self.coordinates.ours(np.asarray(x))
        pushes = np.eye(nv)[:, nv - nu :]
        if self.drive.contacts:
            J: Array = cast(Any, self.dyn).constraint_jacobian(q)
            sizes = [len(one.rows) for one in self.drive.contacts]
            pushes = np.hstack([pushes, np.transpose(J[np.repeat(self.held.active > 0.0, sizes)])])
        return (np.linalg.pinv(pushes) @ self.dyn.inverse_dynamics(q, still, still))[:nu]


_MOTIONS: WeakKeyDictionary[Dynamics, dict[tuple[Drive, str, Residual | None], Motion]] = WeakKeyDictionary()
"""Kept as long as the dynamics; those of a residual too."""


class IntegratedActionModel(Model):
    """A step of dt [s] of a `DifferentialActionModel`.

    integrator: "semi_implicit_euler" as `dyn.step` does it, "crocoddyl_euler" as IntegratedActionModelEuler, which
    differs for a floating base, or "rk4" as IntegratedActionModelRK (four); with contacts "rk4" needs a residual. A
    terminal node has the cost alone, not times dt.
    """

    def __init__(self, differential: DifferentialActionModel, dt: float, integrator: str = "semi_implicit_euler"):
        check_choice("integrator", integrator, tuple(MOTIONS))
        if len(MOTIONS[integrator].stages) > 1 and differential.drive.contacts and differential.residual is None:
            raise UnsupportedError(
                f"integrator={integrator!r}: with contacts and crocoddyl's costs there is 'semi_implicit_euler'; "
                "give a residual, or take crocoddyl's integrator"
            )
        super().__init__(differential.state, differential.nu, differential.nr)
        self.differential, self.dt, self.motion = differential, float(dt), differential.motion(integrator)
        self.u_lb, self.u_ub = differential.u_lb, differential.u_ub

    @staticmethod
    def batch(models: Sequence[IntegratedActionModel]) -> Nodes:
        """Of models with the same motion."""
        numbers = [np.array(each) for each in zip(*(one.differential.numbers for one in models), strict=True)]
        return Nodes(models[0].motion, [one.dt for one in models], numbers)

    def createData(self) -> Any:
        """crocoddyl's data, with that of the costs at each stage, and the node's place among those that move alike."""
        data = super().createData()
        data.of_costs = [self.differential.costs.data() for _ in self.motion.weights]
        data.place = self.batch([self]), 0
        data.blocks = [np.asarray(Memory(getattr(data, name))) for name in BLOCKS]
        return data

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.xnext (nx) and data.cost."""
        if u is None:
            data.xnext[:] = x
            data.cost = self.differential.costs.value(data.of_costs[0], x, None)
            return
        nodes, k = data.place
        self.take(data, x, u, nodes.step(k, x, u))

    def take(self, data: Any, x: Array, u: Array, results: Sequence[Array]) -> None:
        """What `calc` finds, from what `Motion.value` says of the node."""
        of = self.differential
        data.xnext[:] = results[0]
        if of.residual is not None:
            data.cost = self.dt * float(results[1])
            return
        last = len(self.motion.weights)
        states, pushed = [x, *results[1:last]], [force[of.held.picks] for force in results[last:]]
        each = (of.costs.value(kept, at, u, *pushed) for kept, at in zip(data.of_costs, states, strict=True))
        data.cost, data.states = self.dt * float(np.dot(self.motion.weights, list(each))), states

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.Fx, Fu, Lx, Lxx, Lu, Lxu, Luu, behind `calc` at the same place."""
        of = self.differential
        if u is None:
            data.Fx[:] = np.eye(self.state.ndx)
            write(data, *of.costs.slopes(data.of_costs[0], x, None), has_u=False)
            return
        nodes, k = data.place
        if not nodes.stands_at(k, x, u):
            self.calc(data, x, u)
        nodes.differentiate(k)
        if of.residual is not None:
            for to, found in zip(data.blocks, nodes.blocks[k], strict=True):
                to[:] = found
            return
        data.Fx[:], data.Fu[:] = nodes.by_x[k], nodes.by_u[k]
        pushed = [nodes.by_force[k][of.held.picks]] if of.drive.contacts else []
        each = [of.costs.slopes(kept, at, u, *pushed) for kept, at in zip(data.of_costs, data.states, strict=True)]
        if len(each) == 1:
            slope, curvature = each[0]
            write(data, self.dt * slope, self.dt * curvature)
            return
        n = len(each[0][0])
        tall, slope = nodes.weighed[k].reshape(-1, n), np.concatenate([slope for slope, _ in each])
        turned = np.concatenate([part @ turn for (_, part), turn in zip(each, nodes.by_stage[k], strict=True)])
        write(data, slope @ tall, tall.T @ turned)

    def quasiStatic(self, data: Any, x: Array, maxiter: int = 100, tol: float = 1e-9) -> Array:
        """As of the differential model."""
        return self.differential.quasiStatic(None, x, maxiter, tol)


# An impact as a node of a problem: q stays, v jumps as contacts close, M (v' - v) = Jᵀ impulse, J v' = - e J v.


class ImpactMotion:
    """v behind an impact, and the impulses row by row: compiled at its first use."""

    def __init__(self, drive: Drive) -> None:
        self.drive, self.dyn, self.coordinates = drive, drive.dyn, drive.coordinates

    @cached_property
    def value(self) -> Callable[..., Any]:
        """(q, v, active, restitution) -> v, f."""

        def jump(state: Any, active: Any, restitution: Any) -> dict[str, Any]:
            found = state.impulse_dynamics(active, restitution)
            return {"after": found.v, "f": self.drive.rows(state, found.impulse)}

        sizes = {"q": "nq", "v": "nv", "active": "n_contacts", "restitution": "n_contacts"}
        drive = self.drive
        return drive.robot.function(jump, sizes, contacts=drive.contacts).compile(**drive.options)

    @cached_property
    def slopes(self) -> Callable[..., Any]:
        """(q, v, active, restitution) -> the derivatives of v by q and by v, and those of f."""
        value: Any = self.value
        return value.jacobian(by=("q", "v"))


class ImpactNodes(Batch):
    """Impacts of one `ImpactMotion`.

    by_x (n, 2 nv, 2 nv), by_force (n, rows, 2 nv): derivatives of the state behind them, and of the impulses.
    """

    def __init__(self, motion: ImpactMotion, active: Sequence[Array], restitution: Sequence[Array]) -> None:
        n, at = len(active), motion.coordinates
        super().__init__(n, at.nx, 0, motion.drive.size, [np.array(active), np.array(restitution)])
        self.motion = motion
        self.by_x = np.zeros((n, 2 * at.nv, 2 * at.nv))
        self.by_x[:, : at.nv, : at.nv] = np.eye(at.nv)
        self.by_force = np.empty((n, motion.drive.n_rows, 2 * at.nv))

    def put(self, y: Array, x: Array, u: Array) -> None:
        self.motion.drive.put(y, x, u)

    def valued(self, y: Array, more: Sequence[Array]) -> Sequence[Array]:
        nq = self.motion.coordinates.nq
        return self.motion.value(y[..., :nq], y[..., nq:], *more)

    def fill(self, which: Any, y: Array, more: Sequence[Array]) -> None:
        nq, nv = self.motion.coordinates.nq, self.motion.coordinates.nv
        v_q, v_v, f_q, f_v = self.motion.slopes(y[:, :nq], y[:, nq:], *more)
        self.by_x[which, nv:] = np.concatenate([v_q, v_v], axis=-1)
        self.by_force[which] = np.concatenate([f_q, f_v], axis=-1)


# An impact as a node of crocoddyl's problems.


class ImpulseActionModel(Model):
    """Contacts that close in no time, as crocoddyl's ActionModelImpulseFwdDynamics: q stays, J v' = - restitution J v.

    state: crocoddyl's StateMultibody of the same robot. dyn: float64, on a processor, compiled with contacts at the
    frames of `impulses`. costs: crocoddyl's CostModelSum with nu = 0. impulses: its ImpulseModelMultiple; those that
    are on now act. UnsupportedError where the joints of state and robot differ, and for other costs.
    """

    def __init__(self, state: Any, dyn: Dynamics, costs: Any, impulses: Any, restitution: float = 0.0) -> None:
        robot = robot_of(dyn)
        at = Coordinates(multibody(state).pinocchio, robot)
        if not isinstance(costs, CROC.CostModelSum):
            raise UnsupportedError(f"costs is a {type(costs).__name__}; expected crocoddyl.CostModelSum with nu = 0")
        super().__init__(state, 0, costs.nr)
        contacts = contacts_of(dyn)
        self.held = held(active(impulses, "impulse"), state.pinocchio, robot, contacts)
        drive, known = (
            Drive(robot, dyn, at, 0, contacts, self.held.is_world),
            _MOTIONS_impulse_model.setdefault(dyn, {}),
        )
        self.motion = known.setdefault(drive, ImpactMotion(drive))
        self.costs = ImpulseCosts(PACKAGES, state, costs, impulses)
        self.restitution = np.full(len(contacts), float(restitution))

    @staticmethod
    def batch(models: Sequence[ImpulseActionModel]) -> ImpactNodes:
        """Of models with the same motion."""
        return ImpactNodes(models[0].motion, [one.held.active for one in models], [one.restitution for one in models])

    def createData(self) -> Any:
        """crocoddyl's data, with that of the costs, and the node's place among those that move alike."""
        data = super().createData()
        data.of_costs, data.place = self.costs.data(), (self.batch([self]), 0)
        return data

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.xnext (nx) and data.cost."""
        nodes, k = data.place
        self.take(data, x, np.zeros(0), nodes.step(k, x, np.zeros(0)))

    def take(self, data: Any, x: Array, u: Array, results: Sequence[Array]) -> None:
        """What `calc` finds, from what `ImpactMotion.value` says of the node."""
        after, impulse = results
        nq = len(x) - len(after)
        data.xnext[:nq], data.xnext[nq:] = x[:nq], after
        data.cost = self.costs.value(data.of_costs, x, u, impulse[self.held.picks], after)

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.Fx, Lx, Lxx, behind `calc` at the same place."""
        (nodes, k), none = data.place, np.zeros(0)
        if not nodes.stands_at(k, x, none):
            self.calc(data, x)
        nodes.differentiate(k)
        data.Fx[:] = nodes.by_x[k]
        pushed = nodes.by_force[k][self.held.picks], nodes.by_x[k][-self.state.nv :]
        write(data, *self.costs.slopes(data.of_costs, x, none, *pushed), has_u=False)

    def quasiStatic(self, data: Any, x: Array, maxiter: int = 100, tol: float = 1e-9) -> Array:
        """There is no u."""
        return np.zeros(0)


_MOTIONS_impulse_model: WeakKeyDictionary[Dynamics, dict[Drive, ImpactMotion]] = WeakKeyDictionary()
