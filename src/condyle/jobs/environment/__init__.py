"""Environments: many robots that learn, each with its control, ground, observation, reward and resets, in one call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from condyle.compile.options import number_of, whole
from condyle.errors import UnsupportedError
from condyle.jobs.environment.environments import Environments as Environments
from condyle.jobs.environment.transition import ANSWERS, ENTRIES, MODES, SAME_STEP, Random, Transition
from condyle.model.contact import Contact
from condyle.model.robot import Robot
from condyle.specification.ports import GRAVITY, NUMBERS
from condyle.user import CompiledFunction, UserFunction

RELATIVE = tuple(name for name in NUMBERS if name != GRAVITY.name)
"""Numbers of a robot that are randomised by factors."""


class Environment:
    """A robot with a task: `compile` makes many of them, which step together.

    Users' functions are of one state (docs/how-to/your-functions.md) and ask for what they need by the names of their
    arguments: `action`, `last_action`, `u` (what control answered last), `time` [s] and `step` since the reset,
    `impulse` (C, 3) [N s] of the contacts, `joint_impulse` (nv) [N m s | N s] of stops and dry friction with
    `joint_rows`, inputs, memory, randomised numbers, `noise`.

        observe(at, ...) -> (n,)            reward(at, ...) -> number         done(at, ...) -> condition
        control(at, action, ...) -> u       remember(at, ...) -> {memory}     reset(draws, ...) -> {"q", ...}

    See docs/how-to/environments.md.
    """

    def __init__(
        self,
        robot: Robot,
        observe: Callable[..., Any],
        reward: Callable[..., Any],
        done: Callable[..., Any] | None = None,
        *,
        control: Callable[..., Any] | None = None,
        actions: int | None = None,
        contacts: Sequence[Contact] = (),
        ground: Any = None,
        friction: float = 0.8,
        dt: float = 5e-3,
        substeps: int = 4,
        inputs: Mapping[str, Any] | None = None,
        memory: Mapping[str, Any] | None = None,
        remember: Callable[..., Any] | None = None,
        randomise: Mapping[str, Any] | None = None,
        reset: Callable[..., Any] | ArrayLike | None = None,
        draws: int = 0,
        noise: int = 0,
        horizon: int | None = None,
        **options: Any,
    ) -> None:
        """control: runs each substep and answers u, nv torques, or controls with `actuators=True`; without it the
        action is u. actions: entries of an action; by default those of u. contacts, ground, friction: which points may
        touch what (`condyle.ground`); friction [1] where it is neither randomised nor an
        input of this name. dt [s]: of a substep. inputs, memory:
        {name: size} of numbers that an environment has; both are set by reset, else zero; inputs also by calls, memory
        by `remember` after each step, before the other functions. reset: a configuration (nq), or a function of
        `draws` uniform numbers in [0, 1), `episode` and `environment`, which answers "q", and some of "v", inputs and
        memory. noise: how many normal numbers a step has. horizon: steps after which an episode is truncated.
        randomise: what each episode draws: "friction": (low, high); "inertias", "armature", "damping", "dry_friction",
        "stiffness", "actuator_gains": r, factors from 1 - r to 1 + r, one a body, degree of freedom or actuator, with
        which forces act whether `joint_forces` names them or not; "gravity": r, up to r [m/s^2] along each axis is
        added; "push": (seconds, speed): in a step of length h, with a chance of h / seconds, the base gets a velocity
        of up to speed [m/s] along the ground.
        options: those of `Robot.function`, such as `joint_forces`, `actuators`, `reference_frame`; `implicit` is
        "positions" where it is left out: stiff servos are stable (docs/how-to/drives.md).
        Errors: UnsupportedError, ShapeError.
        """
        self.robot, self._options = robot, {"implicit": "positions", **options, "contacts": list(contacts)}
        if not (np.isfinite(dt) and dt > 0.0):
            raise UnsupportedError(f"Environment: dt={dt!r}, expected seconds above 0")
        if not (np.isfinite(friction) and friction >= 0.0):
            raise UnsupportedError(f"Environment: friction={friction!r}, expected a number from 0 on")
        if contacts and not hasattr(ground, "contact_solve"):
            raise UnsupportedError(
                f"Environment: ground={ground!r}; with contacts give one, such as Plane() of condyle.ground"
            )
        self.actions = whole("actions", self._controls() if actions is None else actions, 1)
        inputs, memory = dict(inputs or {}), dict(memory or {})
        for what, names in (("inputs", inputs), ("memory", memory)):
            taken_names = *ENTRIES, *ANSWERS, *(randomise or {}), *(inputs if what == "memory" else ())
            if taken := [name for name in names if name in taken_names]:
                raise UnsupportedError(f"{what}: {taken[0]!r} is a name of the environment; choose another one")
        if memory and remember is None:
            raise UnsupportedError("Environment: memory needs remember(at, ...) -> dict of its new values")
        randoms, push = self._randoms(dict(randomise or {}))
        sizes: dict[str, Any] = {"q": "nq", "v": "nv", "action": self.actions, "last_action": self.actions}
        starts = {"impulse": (len(contacts), 3)} if contacts else {}
        starts |= {"joint_impulse": "nv"} if options.get("joint_rows") else {}
        sizes |= starts | inputs | memory
        sizes |= {random.name: random.size for random in randoms}
        sizes |= dict.fromkeys(("step", "episode", "environment"), ()) | {"seed": 2}
        begin = reset if callable(reset) else _posture(robot, robot.neutral() if reset is None else reset)
        self._transition = Transition(
            robot, observe, reward, done, control, remember, begin, ground, float(friction), tuple(starts),
            float(dt), whole("substeps", substeps, 1), None if horizon is None else whole("horizon", horizon, 1),
            whole("draws", draws, 0), whole("noise", noise, 0), tuple(inputs), tuple(memory), sizes, randoms, push,
            self._controls(),
        )  # fmt: skip
        self.observations = self._observations(sizes)

    def __repr__(self) -> str:
        t = self._transition
        return (
            f"<Environment of {self.robot.name}: {self.actions} actions, {self.observations} observations, "
            f"{t.substeps} substeps of {t.dt:g} s>"
        )

    def compile(
        self,
        n: int,
        dtype: DTypeLike = "float32",
        threads: int | None = None,
        *,
        sweeps: int | None = None,
        target: str = "cpu",
        mode: str = SAME_STEP,
        first: int = 0,
        copy: bool = True,
    ) -> Environments:
        """Return n environments. Compiled at the first reset and step.

        sweeps: how many the contacts' solver makes, 8 for learning; None: until it has solved: docs/how-to/friction.md.
        mode: when an environment that ended begins again: "same_step", in that step, "next_step" or "disabled", as in
        gymnasium. first: the number of the first one: environment i of a seed has the same random numbers whatever n,
        threads and target are. copy: whether calls return arrays of their own. Without, a call writes the arrays of the
        one before the last again, which is faster: use or copy what it returns before that. Other
        options: as in `Robot.compile`.
        """
        if mode not in MODES:
            raise UnsupportedError(f"compile: mode={mode!r}; allowed is {', '.join(map(repr, MODES))}")
        compiled = partial(self._compiled, sweeps, {"target": target, "dtype": dtype, "threads": threads})
        return Environments(self._transition, compiled, self.observations, n, first, mode, copy)

    def _compiled(
        self, sweeps: int | None, options: Mapping[str, Any], f: Callable[..., Any], sizes: Mapping[str, Any]
    ) -> CompiledFunction:
        return self.function(f, sizes, sweeps).compile(**options)

    def _controls(self) -> int:
        """Entries of u."""
        return len(self.robot.actuators) if self._options.get("actuators") else self.robot.nv

    def _observations(self, sizes: Mapping[str, Any]) -> int:
        """Entries of an observation, by a first look at what users' functions answer."""
        answers = self.function(self._transition.look, {**sizes, "u": self._controls()}).specification.outputs
        return int(answers[0].dims[0])

    def _randoms(self, asked: Mapping[str, Any]) -> tuple[tuple[Random, ...], tuple[float, float] | None]:
        """The numbers that an episode draws, and how often and fast the robot is pushed."""
        randoms, push = list[Random](), None
        sizes = {"inertias": len(self.robot.bodies), "actuator_gains": len(self.robot.actuators)}
        for name, value in asked.items():
            if name not in ("friction", "gravity", "push", *RELATIVE):
                words = ", ".join(map(repr, ("friction", *RELATIVE, "gravity", "push")))
                raise UnsupportedError(f"randomise: {name!r}; allowed is {words}")
            values = np.atleast_1d(np.asarray(value, np.float64))
            count = 2 if name in ("friction", "push") else 1
            if values.shape != (count,) or not np.all(np.isfinite(values)) or np.any(values < 0.0):
                expected = "two numbers" if count == 2 else "a number"
                raise UnsupportedError(f"randomise: {name}={value!r}, expected {expected} from 0 on")
            if name == "push":
                if not self.robot.joints or self.robot.joints[0].type != "free" or values[0] == 0.0:
                    raise UnsupportedError(f"randomise: push={value!r} needs a floating base, and seconds above 0")
                push = (float(values[0]), float(values[1]))
                continue
            self._check_acts(name)
            if name == "friction" and values[0] > values[1]:
                raise UnsupportedError(f"randomise: friction={value!r}, expected the lowest before the highest")
            if name in RELATIVE and values[0] >= 1.0:
                raise UnsupportedError(f"randomise: {name}={value!r}, expected a number below 1: factors from 1 - r on")
            if name == "friction":
                low, high = map(float, values)
                randoms.append(Random(name, (), partial(_between, low, high)))
            else:
                r = float(values[0])
                ends = (-r, r) if name == "gravity" else (1.0 - r, 1.0 + r)
                size = 3 if name == "gravity" else sizes.get(name, self.robot.nv)
                randoms.append(Random(name, (size,), partial(_between, *ends)))
        return tuple(randoms), push

    def _check_acts(self, name: str) -> None:
        """UnsupportedError where nothing depends on a randomised number."""
        cure = ""
        if name == "friction" and not self._options["contacts"]:
            cure = "give contacts=[...] too"
        elif name == "actuator_gains" and not self._options.get("actuators"):
            cure = "give actuators=True too"
        elif name in RELATIVE and not np.any(number_of(self.robot, name)):
            cure = f"it draws factors, and those of robot {self.robot.name!r} are all 0: give it others"
        if cure:
            raise UnsupportedError(f"randomise: {name!r} changes nothing here; {cure}, or leave it out")

    def function(self, f: Callable[..., Any], sizes: Mapping[str, Any], sweeps: int | None = None) -> UserFunction:
        """A user's function with the options of this environment."""
        robot: Any = self.robot  # a `condyle.Robot`
        return robot.function(f, sizes, sweeps=sweeps, **self._options)


def _between(low: float, high: float, draws: Any) -> Any:
    return low + (high - low) * draws


def _posture(robot: Robot, q: Any) -> Callable[[], Any]:
    """The reset to one configuration."""
    robot.check_state(q)
    return partial(_same, np.asarray(q, np.float64))


def _same(q: Any) -> Any:
    return q
