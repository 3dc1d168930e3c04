"""Action models and problems for crocoddyl: its solvers and costs, our dynamics, contacts and derivatives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from condyle.calls.dynamics import Dynamics
from condyle.errors import UnsupportedError
from condyle.interop.crocoddyl.action_models import DifferentialActionModel, ImpulseActionModel, IntegratedActionModel
from condyle.interop.crocoddyl.coordinates import CROC, Array, Problem, arranged

__all__ = [
    "DifferentialActionModel",
    "ImpulseActionModel",
    "IntegratedActionModel",
    "ShootingProblem",
    "arranged",
    "rebuilt",
]


class ShootingProblem(Problem):
    """crocoddyl's problem; nodes of ours that move alike are differentiated in one call.

    They do so where dynamics and integrator are the same, and the costs are crocoddyl's or of the same differential
    model; dt, and which contacts are on, may differ. It goes to any solver of crocoddyl. Nodes that are put in later
    (`updateNode`, `circularAppend`) stand alone.
    """

    def __init__(self, x0: Array, runningModels: Sequence[Any], terminalModel: Any) -> None:
        if not len(runningModels):
            raise UnsupportedError("runningModels is empty; expected at least one: crocoddyl crashes without")
        super().__init__(x0, list(runningModels), terminalModel)
        self.models, self.datas = list(runningModels), list(self.runningDatas)
        self._groups: list[tuple[Any, list[int]]] = []
        alike: dict[Any, list[int]] = {}
        for k, model in enumerate(self.models):
            if isinstance(model, IntegratedActionModel | ImpulseActionModel):
                alike.setdefault(model.motion, []).append(k)
        for which in alike.values():
            nodes = self.models[which[0]].batch([self.models[k] for k in which])
            _ = nodes.motion.value  # traced here: an error inside a solver would end the process
            self._groups.append((nodes, which))
            for place, k in enumerate(which):
                self.datas[k].place = nodes, place

    def calc(self, xs: Sequence[Array], us: Sequence[Array]) -> float:
        """The cost of all nodes: one call for all that move alike. xs: T + 1 states, us: T controls."""
        if (len(xs), len(us)) != (self.T + 1, self.T):
            raise UnsupportedError(f"{len(xs)} states and {len(us)} controls; expected {self.T + 1} and {self.T}")
        for nodes, which in self._groups:
            found = nodes.steps(np.array([xs[k] for k in which]), np.array([us[k] for k in which]))
            for place, k in enumerate(which):
                self.models[k].take(self.datas[k], xs[k], us[k], [part[place] for part in found])
        for k in set(range(self.T)) - {k for _, which in self._groups for k in which}:
            self.models[k].calc(self.datas[k], xs[k], us[k])
        self.terminalModel.calc(self.terminalData, xs[-1])
        return sum(float(data.cost) for data in self.datas) + float(self.terminalData.cost)


def rebuilt(problem: Any, dyn: Dynamics) -> ShootingProblem:
    """A problem of crocoddyl's with our dynamics behind its nodes; costs, contacts and impulses stay crocoddyl's.

    dyn: compiled with contacts at every frame that some node holds. Nodes may be IntegratedActionModelEuler of forward
    dynamics, free or with contacts, and ActionModelImpulseFwdDynamics. UnsupportedError for others.
    """
    models = [_rebuilt(k, model, dyn) for k, model in enumerate([*problem.runningModels, problem.terminalModel])]
    return ShootingProblem(np.array(problem.x0), models[:-1], models[-1])


def _rebuilt(k: int, model: Any, dyn: Dynamics) -> Any:
    if isinstance(model, CROC.ActionModelImpulseFwdDynamics):
        return ImpulseActionModel(model.state, dyn, model.costs, model.impulses, model.r_coeff)
    of: Any = getattr(model, "differential", None)
    free, held = CROC.DifferentialActionModelFreeFwdDynamics, CROC.DifferentialActionModelContactFwdDynamics
    if not isinstance(model, CROC.IntegratedActionModelEuler) or not isinstance(of, free | held):
        title = type(model).__name__ if of is None else f"{type(model).__name__} of {type(of).__name__}"
        raise UnsupportedError(f"node {k} is an {title}; expected Euler's step of forward dynamics, or an impact")
    if of.ng or of.nh or np.any(of.armature):
        raise UnsupportedError(f"node {k} has constraints or armature of its own; there are costs and contacts alone")
    contacts = of.contacts if isinstance(of, held) else None
    return IntegratedActionModel(
        DifferentialActionModel(of.state, dyn, of.costs, contacts, of.actuation), model.dt, "crocoddyl_euler"
    )
