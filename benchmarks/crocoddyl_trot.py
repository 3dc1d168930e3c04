"""The costs of crocoddyl's quadrupedal gaits as one residual: what differs between nodes are numbers of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

TRACKED = 5
"""The centre of mass and four feet: of each the root of its weight, and where it is to be."""

LARGE = 1e12
"""A limit that is none: constants of a traced function are finite."""


def residual(state: Any, feet: tuple[str, ...], standing: Any) -> Callable[..., Any]:
    """r (m) with r·r / 2 the cost of `SimpleQuadrupedalGaitProblem.createSwingFootModel`.

    Friction cones of all feet (a foot in the air has no force), centre of mass and feet on their way, posture and
    velocity, torques, limits of joints and velocities.
    """
    import crocoddyl

    nv, croc = int(state.nv), crocoddyl
    cone: Any = croc.FrictionCone(np.eye(3), 0.7, 4, False)
    turned = 10**0.5 * np.array([500.0] * 3 + [0.01] * (nv - 6))
    moving = 10**0.5 * np.array([10.0] * 6 + [1.0] * (nv - 6))
    lower, upper = (np.array(x) for x in (state.lb, state.ub))
    q_low, q_high, v_low, v_high = lower[7 : nv + 1], upper[7 : nv + 1], lower[-nv:], upper[-nv:]
    goal = np.array(standing[: nv + 1])

    def beyond(x: Any, low: Any, high: Any) -> Any:
        """How far x is outside of its limits, of entries that have some."""
        some = np.flatnonzero(np.isfinite(low) | np.isfinite(high))
        return x[some] - np.clip(x[some], np.maximum(low[some], -LARGE), np.minimum(high[some], LARGE))

    def rest(at: Any, u: Any, force: Any, own: Any) -> Any:
        places = [at.center_of_mass(), *(at.frame(foot).translation for foot in feet)]
        found = [own[4 * k] * (place - own[4 * k + 1 : 4 * k + 4]) for k, place in enumerate(places)]
        pushes = (cone.A @ force[3 * k : 3 * k + 3] for k in range(len(feet)))
        found += [10**0.5 * beyond(push, cone.lb, cone.ub) for push in pushes]
        found += [turned * at.difference(goal, at.q)[3:], moving * at.v, 0.1**0.5 * u]
        found += [1e3**0.5 * beyond(at.q[7:], q_low, q_high), 1e3**0.5 * beyond(at.v, v_low, v_high)]
        return np.concatenate(found)

    return rest


def own(costs: Any, feet: tuple[str, ...]) -> Any:
    """The numbers of a node (20), from crocoddyl's costs of it."""
    items, found = costs.costs.todict(), np.zeros((TRACKED, 4))
    for k, name in enumerate(["comTrack", *(f"{foot}_footTrack" for foot in feet)]):
        if name in items:
            found[k] = items[name].weight ** 0.5, *items[name].cost.residual.reference
    return found.ravel()


def by_residual(problem: Any, of: Any) -> Any:
    """A gait of crocoddyl's with our dynamics, and its costs as a residual; impacts keep crocoddyl's costs."""
    from condyle.interop.crocoddyl import (
        DifferentialActionModel,
        ImpulseActionModel,
        IntegratedActionModel,
        ShootingProblem,
    )

    state = problem.terminalModel.state
    rest = residual(state, of.feet, of.standing)

    def node(model: Any) -> Any:
        if hasattr(model, "impulses"):
            return ImpulseActionModel(model.state, of.dyn, model.costs, model.impulses)
        way = model.differential
        numbers = own(way.costs, of.feet)
        ours = DifferentialActionModel(way.state, of.dyn, rest, way.contacts, way.actuation, own=numbers)
        return IntegratedActionModel(ours, model.dt, "crocoddyl_euler")

    models = [node(model) for model in [*problem.runningModels, problem.terminalModel]]
    return ShootingProblem(np.array(problem.x0), models[:-1], models[-1])
