"""Optimal control problems as data and users' functions, for our solver and for others, for tests and benchmarks.

    minimise    sum_k running(x_k, u_k) + last(x_N),        x_0 as told
    subject to  x_{k+1} = step(x_k, u_k)                    semi-implicit Euler, with contacts where there are some
                below <= 0, equal = 0, bounds on u_k (k < N) and on q_k, v_k (k >= 1)

A function answers parts named "residual" (r adds r.r / 2), "cost", "below", "equal", each an array or a list of arrays.
All numbers are SI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle

Array = NDArray[np.float64]
Bounds = Mapping[str, tuple[Array, Array]]
PARTS = ("residual", "cost", "below", "equal")


@dataclass(frozen=True)
class Problem:
    """Problems that differ in numbers only: q (n, nq), v (n, nv), and values of inputs, one a problem.

    bounds: of "u" (nu), "q" and "v" (nv); none where it is not named. by_knot: the inputs with a knot axis, N + 1 long.
    flags: of contacts, (N, C). start: q (n, N + 1, nq), v (n, N + 1, nv), u (n, N, nu) of the first plan.
    """

    name: str
    robot: condyle.Robot
    running: Callable[..., Mapping[str, Any]]
    last: Callable[..., Mapping[str, Any]]
    knots: int
    dt: float
    q: Array
    v: Array
    inputs: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Array] = field(default_factory=dict)
    by_knot: tuple[str, ...] = ()
    bounds: Bounds = field(default_factory=dict)
    contacts: tuple[condyle.Contact, ...] = ()
    flags: Array | None = None
    start: tuple[Array, Array, Array] | None = None
    integrator: str = "semi_implicit_euler"

    def __len__(self) -> int:
        return len(self.q)

    @property
    def root(self) -> int:
        """Entries of tau at a floating root, which no control drives."""
        return 6 if self.robot.joints[0].type == "free" else 0

    @property
    def nu(self) -> int:
        return self.robot.nv - self.root

    @property
    def options(self) -> dict[str, Any]:
        """Of `robot.function`."""
        return {"contacts": self.contacts} if self.contacts else {}

    def landings(self) -> Array:
        """Knots (N) at which a flag rises: 1 there, else 0."""
        if self.flags is None:
            return np.zeros(self.knots)
        rises = (np.diff(self.flags, axis=0) > 0).any(axis=1)
        return np.r_[0.0, rises.astype(float)]

    def some(self, which: Any) -> Problem:
        """Some of the problems: a slice, or their numbers."""
        start = None if self.start is None else tuple(x[which] for x in self.start)
        values = {name: x[which] for name, x in self.values.items()}
        return replace(self, q=self.q[which], v=self.v[which], values=values, start=start)

    def first(self) -> tuple[Array, Array, Array]:
        """The plan that solvers begin with: the start, or the first posture at rest without torques."""
        if self.start is not None:
            return self.start
        n, N = len(self), self.knots
        q = np.repeat(self.q[:, None], N + 1, axis=1)
        return q, np.zeros((n, N + 1, self.robot.nv)), np.zeros((n, N, self.nu))

    def job(self, **options: Any) -> Any:
        """The problem as a `condyle.OptimalControl`."""
        from condyle.jobs.optimal_control import OptimalControl

        bounds = {name: self.bounds.get(name, False) for name in ("u", "q", "v")}
        more = {"contacts": self.contacts} if self.contacts else {}
        inputs, by_knot = dict(self.inputs), self.by_knot
        if self.flags is not None:
            inputs["active"], by_knot = len(self.contacts), (*by_knot, "active")
        return OptimalControl(
            self.robot, self.running, self.last, knots=self.knots, dt=self.dt, integrator=self.integrator,
            inputs=inputs, by_knot=by_knot, bounds=bounds, **more, **options,
        )  # fmt: skip

    def arguments(self) -> dict[str, Any]:
        """Of `solve`: the inputs, flags and start."""
        flags = {} if self.flags is None else {"active": self.flags}
        return {**self.values, **flags, "start": self.start}


def joined(parts: Any) -> Any:
    """A list of arrays and numbers as one array; an array as it is."""
    if isinstance(parts, list | tuple):
        return np.concatenate([np.reshape(part, (-1,)) if np.ndim(part) != 1 else part for part in parts])
    return parts


def knot_function(problem: Problem, function: Callable[..., Mapping[str, Any]], has_controls: bool) -> Any:
    """A function of a knot as `robot.function`: lists joined, numbers as arrays of one entry."""

    def knot(at: Any, **inputs: Any) -> dict[str, Any]:
        answer = function(at, **inputs)
        parts = {name: joined(answer[name]) for name in PARTS if name in answer}
        return {name: part if np.ndim(part) else np.stack([part]) for name, part in parts.items()}

    inputs: dict[str, Any] = {"q": "nq", "v": "nv"}
    inputs |= {"u": problem.nu} if has_controls else {}
    return problem.robot.function(knot, inputs={**inputs, **problem.inputs}, **problem.options)


def step_function(problem: Problem) -> Any:
    """step(q, v, u[, active, lands]) -> q, v: lands is 1 where the velocity jumps before the step, else 0."""

    def step(at: Any, u: Any, **flags: Any) -> dict[str, Any]:
        after = stepped(problem, at, u, **flags)
        return {"q": after.q, "v": after.v}

    return with_controls(problem, step)


def gap_function(problem: Problem) -> Any:
    """gap(q, v, u, q1, v1[, active, lands]) (2 nv): the step from a knot, less the next state, in the tangent there."""

    def gap(at: Any, u: Any, q1: Any, v1: Any, **flags: Any) -> dict[str, Any]:
        after = stepped(problem, at, u, **flags)
        return {"gap": np.concatenate([at.difference(q1, after.q), after.v - v1])}

    return with_controls(problem, gap, q1="nq", v1="nv")


def stepped(problem: Problem, at: Any, u: Any, active: Any = None, lands: Any = None) -> Any:
    """The state behind a knot, on symbols."""
    tau = np.concatenate([np.zeros(problem.root), u]) if problem.root else u
    if active is None:
        return at.step(tau, problem.dt)
    landed = at.impulse_dynamics(active, np.zeros(len(problem.contacts)))
    return at.moved_to(at.q, at.v + lands * (landed.v - at.v)).step(tau, problem.dt, active=active)


def with_controls(problem: Problem, function: Callable[..., Any], **more: Any) -> Any:
    """A function of state, controls and flags as `robot.function`."""
    inputs: dict[str, Any] = {"q": "nq", "v": "nv", "u": problem.nu, **more}
    inputs |= {"active": len(problem.contacts), "lands": ()} if problem.contacts else {}
    return problem.robot.function(function, inputs=inputs, integrator=problem.integrator, **problem.options)


def double_integrator() -> Problem:
    """Two sliders of 1 and 2 kg that stop at 0, forces of 2 N, speeds of 0.8 m/s: a convex program."""
    builder = condyle.Builder("sliders")
    for name, mass, axis in (("x", 1.0, (1, 0, 0)), ("y", 2.0, (0, 1, 0))):
        parent = "world" if name == "x" else "x"
        builder.body(name, mass=mass, inertia=0.1 * np.eye(3))
        builder.joint(f"slide_{name}", parent=parent, child=name, type="prismatic", axis=axis)
    robot, half = builder.build(), np.ones(2)

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": [at.q, 0.3 * at.v, 0.1 * u]}

    def last(at: Any) -> dict[str, Any]:
        return {"residual": [5.0 * at.q, 5.0 * at.v]}

    q = np.array([[1.0, -0.5], [-1.2, 0.7], [0.3, 0.9]])
    v = np.array([[0.0, 0.3], [0.5, 0.0], [-0.7, -0.2]])
    bounds = {"u": (-2.0 * half, 2.0 * half), "v": (-0.8 * half, 0.8 * half)}
    return Problem("double integrator", robot, running, last, 40, 0.05, q, v, bounds=bounds)


def sliders(**changes: Any) -> Problem:
    """The double integrator with something changed: problems that have no answer are made of it."""
    return replace(double_integrator(), **changes)


def out_of_reach() -> Problem:
    """A slider is to be 10 m away in 2 s: "equal" at the end, which its forces and speeds do not allow."""

    def last(at: Any) -> dict[str, Any]:
        return {"residual": at.v, "equal": [at.q[:1] - 10.0]}

    return sliders(name="out of reach", last=last)


def contradiction() -> Problem:
    """A slider is to be left of 1 m and right of 2 m at once."""

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": [at.q, 0.1 * u], "below": [at.q[0] - 1.0, 2.0 - at.q[0]]}

    return sliders(name="contradiction", running=running)


def too_fast() -> Problem:
    """The second of three starts at 3 m/s, which no force brings below 0.8 m/s in one knot."""
    problem = double_integrator()
    v = problem.v.copy()
    v[1, 0] = 3.0
    return replace(problem, name="too fast", v=v)


def bottomless() -> Problem:
    """The cost falls for ever along q, and nothing limits u."""

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"cost": -at.q.sum()}

    return sliders(name="bottomless", running=running, last=lambda at: {"cost": -at.q.sum()}, bounds={})


def concave() -> Problem:
    """More force costs less, and nothing limits it."""

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": at.q, "cost": -(u**2).sum()}

    return sliders(name="concave", running=running, bounds={})


def spoilt(value: float = 1.0) -> Problem:
    """The residual of knot 7 of the second problem is the root of a negative number where value is above 0.5."""

    def running(at: Any, u: Any, spoil: Any) -> dict[str, Any]:
        return {"residual": [at.q, 0.3 * at.v, 0.1 * np.sqrt(1.0 - 2.0 * spoil) * u]}

    problem = double_integrator()
    spoil = np.zeros((len(problem), problem.knots + 1))
    spoil[1, 7] = value
    return replace(
        problem, name="spoilt", running=running, inputs={"spoil": ()}, values={"spoil": spoil}, by_knot=("spoil",)
    )


def pendulum_swing_up() -> Problem:
    """A pendulum of 1 kg and 0.5 m, hanging, ends upright: torques of 2.5 N m (its weight needs 4.9), 6 rad/s."""
    builder = condyle.Builder("pendulum").body("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=0.01 * np.eye(3))
    builder.joint("pivot", parent="world", child="rod", type="revolute", axis=(0, 1, 0), lower=-10.0, upper=10.0)
    robot = builder.build()

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": [0.1 * at.v, 0.3 * u, 0.3 * (at.q - np.pi)]}

    def last(at: Any) -> dict[str, Any]:
        return {"residual": [30.0 * (at.q - np.pi), 10.0 * at.v]}

    q, v = np.array([[0.0], [0.4]]), np.array([[0.0], [-0.5]])
    bounds = {"u": (np.array([-2.5]), np.array([2.5])), "v": (np.array([-6.0]), np.array([6.0]))}
    return Problem("pendulum swing-up", robot, running, last, 60, 0.05, q, v, bounds=bounds)


def cart_pole() -> Problem:
    """A cart of 1 kg swings a pole of 0.2 kg and 0.5 m up: 12 N on the cart, 0.6 m of track to either side.

    The pole has no motor: its torque's bounds are 0 and 0.
    """
    builder = condyle.Builder("cart_pole").body("cart", mass=1.0, inertia=0.1 * np.eye(3))
    builder.joint("slide", parent="world", child="cart", type="prismatic", axis=(1, 0, 0))
    builder.body("pole", mass=0.2, com=(0.0, 0.0, -0.5), inertia=0.002 * np.eye(3))
    builder.joint("hinge", parent="cart", child="pole", type="revolute", axis=(0, 1, 0), lower=-10.0, upper=10.0)
    robot = builder.build()

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": [0.3 * at.q[:1], 0.5 * (at.q[1:] - np.pi), 0.05 * at.v, 0.05 * u]}

    def last(at: Any) -> dict[str, Any]:
        return {"residual": [5.0 * at.q[:1], 20.0 * (at.q[1:] - np.pi), 5.0 * at.v]}

    q, v = np.array([[0.0, 0.0], [0.2, 0.3]]), np.zeros((2, 2))
    force, track = np.array([12.0, 0.0]), np.array([0.6, 10.0])
    bounds = {"u": (-force, force), "q": (-track, track)}
    return Problem("cart-pole", robot, running, last, 50, 0.04, q, v, bounds=bounds)


TIP = "iiwa_link_7"
START = np.array([0.75, 0.2, 0.0, -0.5, 0.0, 0.3, 0.0]) * np.pi
EFFORT = np.array([320.0, 320.0, 176.0, 176.0, 110.0, 40.0, 40.0])
"""The iiwa14's own torques [N m], by its data sheet; the bundled file has 300 for all joints."""


Weights = tuple[tuple[float, float, float], tuple[float, float]]
"""Of |tip - goal|^2 [1/m^2], |v|^2 and |u|^2 on the way, and of the first two at the end."""
REACH: Weights = (20.0, 1e-2, 1e-5), (500.0, 1.0)
EIGHT: Weights = (2.0, 1e-2, 2e-6), (50.0, 1e-2)


def tip_cost(frame: str, weights: Sequence[float]) -> Callable[..., Mapping[str, Any]]:
    """Residuals of tip - goal, v and u with weights w of w |r|^2 / 2."""
    w = np.sqrt(weights)

    def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [w[0] * (at.frame(frame).translation - goal), w[1] * at.v, w[2] * u]}

    return running


def end_cost(frame: str, weights: Sequence[float]) -> Callable[..., Mapping[str, Any]]:
    """Residuals of tip - goal and v."""
    w = np.sqrt(weights)

    def last(at: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [w[0] * (at.frame(frame).translation - goal), w[1] * at.v]}

    return last


def reaching(
    count: int = 256, scale: float = 0.35, speed: float = 1.2, seed: int = 1, has_speeds: bool = True
) -> Problem:
    """An iiwa14 reaches from random postures for random points: 64 knots of 0.02 s, torques and speeds limited.

    scale: of `EFFORT`, the torques that are allowed; speed: the largest one of a joint [rad/s].
    """
    robot, rng = condyle.load("iiwa14"), np.random.default_rng(seed)
    q = START + 0.3 * rng.normal(size=(count, 7))
    ends = START + 0.6 * rng.normal(size=(count, 7))
    goal = robot.compile(frames=(TIP,), threads=1).frame_placements(ends).translation[:, 0]
    running, last = tip_cost(TIP, REACH[0]), end_cost(TIP, REACH[1])
    most, fastest = scale * EFFORT, np.full(7, speed)
    bounds = {"u": (-most, most)} | ({"v": (-fastest, fastest)} if has_speeds else {})
    return Problem(
        "iiwa14 reaching",
        robot,
        running,
        last,
        64,
        0.02,
        q,
        np.zeros_like(q),
        {"goal": 3},
        {"goal": goal},
        bounds=bounds,
    )


LOOP, H = 6.0, 0.01


def curve(t: Array) -> Array:
    """Points (..., 3) of the figure of eight of GATO's benchmark at times t (...) [s]."""
    s = 2.0 * np.pi * t / LOOP
    x, y, z = 0.4 * np.sin(s), 0.5, 0.8 + 0.2 * np.sin(2.0 * s)
    return np.stack([(x - y) / np.sqrt(2.0), (x + y) / np.sqrt(2.0), z], axis=-1)


def goals(times: Array, knots: int = 64) -> Array:
    """Goals (n, knots + 1, 3) of problems that begin at these times (n) of the loop."""
    return curve(times[:, None] + H * np.arange(knots + 1))


def figure_eight(count: int = 16, limits: str = "none", seed: int = 0) -> Problem:
    """An iiwa14's tip on the figure of eight of `experiments/beyond/batch.py`: 64 knots of 0.01 s, a place of it each.

    limits: "none"; "torque"; or "all", of torques, speeds and positions. They hold at some knots of some problems.
    """
    robot, rng, knots = condyle.load("iiwa14"), np.random.default_rng(seed), 64
    q = START + 0.1 * rng.normal(size=(count, 7))
    goal = goals(LOOP * np.arange(count) / count, knots)
    running, last = tip_cost(TIP, EIGHT[0]), end_cost(TIP, EIGHT[1])
    bounds: dict[str, tuple[Array, Array]] = {}
    if limits != "none":
        bounds["u"] = (-0.35 * EFFORT, 0.35 * EFFORT)
    if limits == "all":
        bounds["v"] = (np.full(7, -1.5), np.full(7, 1.5))
        bounds["q"] = (robot.lower, robot.upper)
    return Problem(
        "iiwa14 figure of eight", robot, running, last, knots, H, q, np.zeros_like(q), {"goal": 3}, {"goal": goal},
        ("goal",), bounds,
    )  # fmt: skip


def heavy_figure_eight(count: int = 4) -> Problem:
    """The planner's problem of `experiments/plancher2021`: no gravity, 64 knots in 0.5 s, weights of that paper."""
    robot, h = condyle.load("iiwa14", gravity=(0.0, 0.0, 0.0)), 0.5 / 63
    rest = np.array([0.0, 0.25, 0.0, -0.25, 0.0, 0.25, 0.0]) * np.pi
    phase = 0.474 - 2.0 * np.pi * (np.arange(count)[:, None] / count + h * np.arange(64) / 10.0)
    goal = np.stack([np.full_like(phase, 0.6556), 0.3 * np.sin(phase), 0.486 - 0.198 * np.sin(2.0 * phase)], axis=-1)
    w = np.sqrt([300.0, 1.0, 10.0, 0.005])

    def last(at: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [w[0] * (at.frame(TIP).translation - goal), w[1] * (at.q - rest), w[2] * at.v]}

    def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
        return {"residual": [*last(at, goal)["residual"], w[3] * u]}

    q = np.tile(rest, (count, 1))
    return Problem(
        "iiwa14, figure of eight of 2021", robot, running, last, 63, h, q, np.zeros_like(q), {"goal": 3},
        {"goal": goal}, ("goal",),
    )  # fmt: skip


def around_a_sphere(count: int = 4, seed: int = 3) -> Problem:
    """A panda's hand passes a sphere of 0.15 m ("below") and ends at its goal at rest ("equal"), within its torques."""
    robot = condyle.load("panda")
    robot = robot.lock({joint.name: 0.0 for joint in robot.joints if "finger" in joint.name})
    hand, rng = "panda_link8", np.random.default_rng(seed)
    q = np.array([0.0, -0.4, 0.0, -2.0, 0.0, 1.7, 0.8]) + 0.1 * rng.normal(size=(count, 7))
    ends = q + np.array([1.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    place = robot.compile(frames=(hand,), threads=1).frame_placements
    middle = place(q + np.array([0.7, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])).translation[:, 0] + [0.0, 0.0, 0.03]
    goal, radius = place(ends).translation[:, 0], 0.15

    def running(at: Any, u: Any, goal: Any, sphere: Any) -> dict[str, Any]:
        tip = at.frame(hand).translation
        apart = tip - sphere
        return {
            "residual": [2.0 * (tip - goal), 0.3 * at.v, 5e-3 * u],
            "below": [radius**2 - (apart**2).sum()],
        }

    def last(at: Any, goal: Any, sphere: Any) -> dict[str, Any]:
        return {"residual": 0.1 * at.v, "equal": [at.frame(hand).translation - goal]}

    effort = np.array([float(joint.effort[0]) for joint in robot.joints])
    return Problem(
        "panda around a sphere", robot, running, last, 40, 0.03, q, np.zeros_like(q), {"goal": 3, "sphere": 3},
        {"goal": goal, "sphere": middle}, bounds={"u": (-effort, effort)},
    )  # fmt: skip


def hopper() -> Problem:
    """A body of 5 kg on one leg, 9 dof: it stands, jumps, and lands on its foot; torques of 40 N m."""
    builder = condyle.Builder("hopper").body("trunk", mass=5.0, inertia=np.diag([0.05, 0.08, 0.06]))
    builder.joint("root", parent="world", child="trunk", type="free")
    parent, place = "trunk", (0.0, 0.0, 0.0)
    for name, axis, mass, length in (
        ("hip", (1, 0, 0), 0.3, 0.0),
        ("thigh", (0, 1, 0), 0.6, 0.25),
        ("shank", (0, 1, 0), 0.2, 0.25),
    ):
        com = (0.0, 0.0, -0.5 * length)
        builder.body(name, mass=mass, com=com, inertia=mass * np.diag([0.006, 0.006, 0.001]))
        builder.joint(f"{name}_joint", parent=parent, child=name, type="revolute", axis=axis, xyz=place)
        parent, place = name, (0.0, 0.0, -length)
    builder.body("foot", mass=0.05, inertia=1e-4 * np.eye(3))
    robot = builder.joint("ankle", parent=parent, child="foot", type="fixed", xyz=place).build()
    rest = np.r_[robot.neutral()[:7], 0.0, 0.7, -1.4]
    rest[2], knots = 0.5 * np.cos(0.7), 24
    flags = np.ones((knots, 1))
    flags[9:17] = 0.0
    return standing("hopper", robot, ("foot",), rest, flags, 40.0)


FEET = ("lf_foot", "rf_foot", "lh_foot", "rh_foot")


def quadruped(hops: bool = False) -> Problem:
    """A HyQ on four feet goes back to its posture, torques limited; if it hops, its feet leave the ground and land."""
    robot, knots = condyle.load("hyq", floating_base=True), 30 if hops else 20
    angles = {"haa": -0.2, "hfe": 0.75, "kfe": -1.5}
    rest = robot.neutral()
    for joint in robot.joints[1:]:
        leg, kind, _ = joint.name.split("_")
        rest[joint.q_index] = -angles[kind] if leg[1] == "h" and kind != "haa" else angles[kind]
    rest[2] = 0.65
    flags = np.ones((knots, 4))
    flags[12:20] = 0.0 if hops else 1.0
    return standing("hyq hops" if hops else "hyq stands", robot, FEET, rest, flags, 60.0)


def standing(name: str, robot: condyle.Robot, feet: Sequence[str], rest: Array, flags: Array, effort: float) -> Problem:
    """Two problems: back to the posture `rest` from near it, feet at rest; knots of 0.02 s, flags (N, C)."""
    knots, nu, rng = len(flags), robot.nv - 6, np.random.default_rng(5)
    q = np.stack([robot.integrate(rest, 0.05 * rng.normal(size=robot.nv)) for _ in range(2)])
    contacts, most = tuple(condyle.Contact(foot) for foot in feet), np.full(nu, effort)
    dynamics = robot.compile(contacts=contacts, threads=1)
    v = dynamics.impulse_dynamics(q, 0.3 * rng.normal(size=(2, robot.nv)), flags[0], np.zeros(len(feet))).v
    weight = np.r_[np.full(3, 10.0), np.full(3, 5.0), np.ones(nu)]

    def posture(at: Any) -> list[Any]:
        return [weight * at.difference(rest, at.q), 0.1 * at.v]

    def running(at: Any, u: Any) -> dict[str, Any]:
        return {"residual": [*posture(at), 5e-3 * u]}

    def last(at: Any) -> dict[str, Any]:
        return {"residual": [5.0 * part for part in posture(at)]}

    return Problem(
        name, robot, running, last, knots, 0.02, q, v, bounds={"u": (-most, most)}, contacts=contacts, flags=flags
    )
