"""Nodes of crocoddyl's problems: accelerations and steps, free or with contacts.

crocoddyl calls its models node by node. Here a node's derivatives are those of a batch: the first node that is asked
for them computes them for every node of its problem that was stepped since, in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import ArrayLike

from condyle.calls.dynamics import Dynamics
from condyle.compile.options import check_choice
from condyle.errors import UnsupportedError
from condyle.interop.crocoddyl.bases import (
    CROC,
    PACKAGES,
    Array,
    Differential,
    Memory,
    Model,
    active,
    contacts_of,
    multibody,
    robot_of,
    write,
)
from condyle.interop.crocoddyl.coordinates import Coordinates
from condyle.interop.crocoddyl.drives import Drive, Residual
from condyle.interop.crocoddyl.held import held
from condyle.interop.crocoddyl.motions import MOTIONS, Motion
from condyle.interop.crocoddyl.node_costs import ContactCosts, ModelCosts, ResidualCosts
from condyle.interop.crocoddyl.nodes import Nodes

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
