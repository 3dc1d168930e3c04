"""Action models and problems for crocoddyl: its solvers and costs, our dynamics and derivatives.

crocoddyl calls its models node by node. Here a node's derivatives are those of a batch: the first node that is asked
for them computes them for every node of its problem that was stepped since, in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module, metadata
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from condyle.dynamics import Dynamics
from condyle.errors import UnsupportedError
from condyle.interop.coordinates import Coordinates
from condyle.interop.motions import METHODS, Motion, Nodes, Residual
from condyle.interop.node_costs import ModelCosts, ResidualCosts
from condyle.options import check_choice

Array = NDArray[np.floating]
BLOCKS = ("Fx", "Fu", "Lx", "Lu", "Lxx", "Lxu", "Luu")
INSTALL = "pip install 'condyle[crocoddyl]'"


def _packages() -> tuple[Any, Any]:
    """crocoddyl and Pinocchio. UnsupportedError where they are missing, or crash with each other."""
    try:
        found = {name: metadata.version(name) for name in ("crocoddyl", "libpinocchio")}
    except metadata.PackageNotFoundError:
        found = {}  # not from wheels: whoever built them answers for their versions
    if found.get("crocoddyl", "").startswith("3.2.") and not found["libpinocchio"].startswith("4.0."):
        raise UnsupportedError(
            f"crocoddyl {found['crocoddyl']} crashes with Pinocchio {found['libpinocchio']}, it was built with 4.0.0: "
            "pip install 'pin==4.0.0' 'libpinocchio==4.0.0'"
        )
    try:
        return import_module("crocoddyl"), import_module("pinocchio")
    except ImportError as error:
        raise UnsupportedError(f"{error.name or 'crocoddyl'} is not installed: {INSTALL}") from error


_croc, _pin = _packages()

if TYPE_CHECKING:  # crocoddyl says no types

    class _Model:
        state: Any
        nu: int
        nr: int

        def __init__(self, state: Any, nu: int, nr: int) -> None: ...
        def createData(self) -> Any: ...

    class _Problem:
        T: int
        runningDatas: Sequence[Any]
        terminalModel: Any
        terminalData: Any

        def __init__(self, x0: Array, models: Sequence[Any], last: Any) -> None: ...

    _Differential = _Model
else:
    _Differential, _Model = _croc.DifferentialActionModelAbstract, _croc.ActionModelAbstract
    _Problem = _croc.ShootingProblem


class DifferentialActionModel(_Differential):
    """Free forward dynamics of a robot, all of it actuated: v' = fd(q, v, u), l(x, u) by `costs`.

    state: crocoddyl's StateMultibody of the same robot. dyn: float64, on a processor. costs: crocoddyl's CostModelSum,
    or a residual `f(at, u) -> (m)` in NumPy, as in `Robot.function`: l = r·r / 2, with Gauss-Newton's curvature; at a
    terminal node u is zero. It serves in crocoddyl's own integrators too. UnsupportedError where the joints of state
    and robot differ.
    """

    def __init__(self, state: Any, dyn: Dynamics, costs: Any) -> None:
        if not isinstance(state, _croc.StateMultibody):
            raise UnsupportedError(f"state is a {type(state).__name__}; expected crocoddyl.StateMultibody of the robot")
        self.dyn, self._robot = dyn, _robot_of(dyn)
        self.coordinates = Coordinates(state.pinocchio, self._robot)
        is_model = isinstance(costs, _croc.CostModelSum)
        if not is_model and not callable(costs):
            raise UnsupportedError(f"costs is a {type(costs).__name__}; expected crocoddyl.CostModelSum or a function")
        super().__init__(state, self.coordinates.nv, cast(Any, costs).nr if is_model else 1)
        self.residual: Residual | None = None if is_model else cast(Residual, costs)
        if self.residual is None:
            self.costs = ModelCosts(_croc, _pin, state, costs)
        else:
            self.costs = ResidualCosts(self._robot, self.residual, self.coordinates)
        self._motions: dict[str, Motion] = {}

    def motion(self, method: str) -> Motion:
        """Its step, shared by all models of the same dynamics whose costs are crocoddyl's."""
        known = self._motions if self.residual else _MOTIONS.setdefault(self.dyn, {})
        if method not in known:
            known[method] = Motion(self._robot, self.dyn, self.coordinates, method, self.residual)
        return known[method]

    def createData(self) -> Any:
        """crocoddyl's data, with that of the costs."""
        data = super().createData()
        data.of_costs = self.costs.data()
        return data

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.xout (nv) and data.cost."""
        if u is not None:
            data.xout[:] = self.dyn.forward_dynamics(*self.coordinates.ours(x), u)
        data.cost = self.costs.value(data.of_costs, x, u)

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.Fx, Fu, Lx, Lxx, Lu, Lxu, Luu, behind `calc` at the same place."""
        if u is not None:
            by = self.dyn.forward_dynamics_derivatives(*self.coordinates.ours(x), u)
            data.Fx[:], data.Fu[:] = np.hstack([by.da_dq, by.da_dv]), by.da_dtau
        _write(data, *self.costs.slopes(data.of_costs, x, u), has_u=u is not None)


_MOTIONS: WeakKeyDictionary[Dynamics, dict[str, Motion]] = WeakKeyDictionary()


class IntegratedActionModel(_Model):
    """A step of dt [s] of a `DifferentialActionModel`, as crocoddyl's IntegratedActionModelEuler or -RK (four) does it.

    integrator: "semi_implicit_euler" or "rk4". A terminal node has the cost alone, not times dt.
    """

    def __init__(self, differential: DifferentialActionModel, dt: float, integrator: str = "semi_implicit_euler"):
        check_choice("integrator", integrator, tuple(METHODS))
        super().__init__(differential.state, differential.nu, differential.nr)
        self.differential, self.dt, self.motion = differential, float(dt), differential.motion(integrator)

    def createData(self) -> Any:
        """crocoddyl's data, with that of the costs at each stage, and the node's place among those that move alike."""
        data = super().createData()
        data.of_costs = [self.differential.costs.data() for _ in self.motion.weights]
        data.place = Nodes(self.motion, [self.dt], self.differential.residual is not None), 0
        data.blocks = [np.asarray(_Memory(getattr(data, name))) for name in BLOCKS]
        return data

    def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.xnext (nx) and data.cost."""
        if u is None:
            data.xnext[:] = x
            data.cost = self.differential.costs.value(data.of_costs[0], x, None)
            return
        nodes, k = data.place
        self.take(data, x, u, nodes.step(k, x, u))

    def take(self, data: Any, x: Array, u: Array, found: Sequence[Array]) -> None:
        """What `calc` finds, from what `Motion.value` says of the node."""
        data.xnext[:] = found[0]
        if self.differential.residual is not None:
            data.cost = self.dt * float(found[1])
            return
        states = [x, *found[1:]]
        each = (self.differential.costs.value(of, at, u) for of, at in zip(data.of_costs, states, strict=True))
        data.cost, data.states = self.dt * float(np.dot(self.motion.weights, list(each))), states

    def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:
        """data.Fx, Fu, Lx, Lxx, Lu, Lxu, Luu, behind `calc` at the same place."""
        if u is None:
            data.Fx[:] = np.eye(self.state.ndx)
            _write(data, *self.differential.costs.slopes(data.of_costs[0], x, None), has_u=False)
            return
        nodes, k = data.place
        if not nodes.stands_at(k, x, u):
            self.calc(data, x, u)
        nodes.differentiate(k)
        if self.differential.residual is not None:
            for to, of in zip(data.blocks, nodes.blocks[k], strict=True):
                to[:] = of
            return
        data.Fx[:], data.Fu[:] = nodes.by_x[k], nodes.by_u[k]
        each = [self.differential.costs.slopes(of, at, u) for of, at in zip(data.of_costs, data.states, strict=True)]
        n = len(each[0][0])
        tall, slope = nodes.weighed[k].reshape(-1, n), np.concatenate([slope for slope, _ in each])
        turned = np.concatenate([part @ turn for (_, part), turn in zip(each, nodes.by_stage[k], strict=True)])
        _write(data, slope @ tall, tall.T @ turned)


class ShootingProblem(_Problem):
    """crocoddyl's problem; nodes of `IntegratedActionModel` that move alike are differentiated in one call.

    They do so where dynamics and integrator are the same, and the costs are crocoddyl's or of the same differential
    model; dt may differ. It goes to any solver of crocoddyl. Nodes that are put in later (`updateNode`,
    `circularAppend`) stand alone.
    """

    def __init__(self, x0: Array, runningModels: Sequence[Any], terminalModel: Any) -> None:
        if not len(runningModels):
            raise UnsupportedError("runningModels is empty; expected at least one: crocoddyl crashes without")
        super().__init__(x0, list(runningModels), terminalModel)
        self.models, self.datas = list(runningModels), list(self.runningDatas)
        self._groups: list[tuple[Nodes, list[int]]] = []
        alike: dict[Motion, list[int]] = {}
        for k, model in enumerate(self.models):
            if isinstance(model, IntegratedActionModel):
                alike.setdefault(model.motion, []).append(k)
        for motion, which in alike.items():
            first = self.models[which[0]]
            nodes = Nodes(motion, [self.models[k].dt for k in which], first.differential.residual is not None)
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


class _Memory:
    """An array's memory without its owner: data that kept views of itself would never be freed."""

    def __init__(self, array: Array) -> None:
        self.__array_interface__ = array.__array_interface__


def _robot_of(dyn: Dynamics) -> Any:
    """The robot behind it. UnsupportedError where its arrays are not crocoddyl's."""
    given = dyn.__reduce__()[1]
    if given.dtype != "float64" or dyn.target == "cuda":
        raise UnsupportedError(f"dyn has {given.dtype} on {dyn.target!r}; crocoddyl needs float64 on a processor")
    if given.inputs:
        raise UnsupportedError("dyn has open numbers; crocoddyl gives none: compile the robot without inputs=")
    return given.robot


def _write(data: Any, slope: Array, curvature: Array, has_u: bool = True) -> None:
    """Derivatives of the cost by (x, u), into crocoddyl's data."""
    n = data.Lx.shape[0]
    data.Lx[:], data.Lxx[:] = slope[:n], curvature[:n, :n]
    if has_u:
        data.Lu[:], data.Lxu[:], data.Luu[:] = slope[n:], curvature[:n, n:], curvature[n:, n:]
