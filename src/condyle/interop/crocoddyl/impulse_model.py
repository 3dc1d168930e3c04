"""An impact as a node of crocoddyl's problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from condyle.calls.dynamics import Dynamics
from condyle.errors import UnsupportedError
from condyle.interop.crocoddyl.bases import (
    CROC,
    PACKAGES,
    Array,
    Model,
    active,
    contacts_of,
    multibody,
    robot_of,
    write,
)
from condyle.interop.crocoddyl.coordinates import Coordinates
from condyle.interop.crocoddyl.drives import Drive
from condyle.interop.crocoddyl.held import held
from condyle.interop.crocoddyl.impacts import ImpactMotion, ImpactNodes
from condyle.interop.crocoddyl.node_costs import ImpulseCosts


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
        drive, known = Drive(robot, dyn, at, 0, contacts, self.held.is_world), _MOTIONS.setdefault(dyn, {})
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


_MOTIONS: WeakKeyDictionary[Dynamics, dict[Drive, ImpactMotion]] = WeakKeyDictionary()
