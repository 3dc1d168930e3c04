"""Environments: many robots that learn, each with its control, ground, observation, reward and resets, in one call."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from operator import index
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from condyle.compile.options import number_of, whole
from condyle.errors import ShapeError, UnsupportedError
from condyle.jobs.environment.transition import (
    ANSWERS,
    ENTRIES,
    MODES,
    NEXT_STEP,
    SAME_STEP,
    Random,
    Transition,
    shape_of,
)
from condyle.model.contact import Contact
from condyle.model.robot import Robot
from condyle.specification.ports import GRAVITY, NUMBERS
from condyle.symbolic.random_numbers import seed_words
from condyle.user import CompiledFunction, UserFunction
from condyle.user.ports import names_asked

if TYPE_CHECKING:
    from condyle.user import CompiledFunction


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


Array = NDArray[np.floating]
# Environments compiled: many of them step together in one native call.


MOST = 1 << 23
"""Environments, and episodes of each: whole numbers that are exact in float32."""


class Environments:
    """n environments of one kind; arrays have the environment as their first axis.

    n; dtype; mode. observation_size, action_size: entries of an observation and of an action. inputs: names of those
    of the environment. horizon: steps of an episode, or None. failures: states so far that became no number.
    step_function, reset_function: functions of the state and of the action or the mask, for frameworks.
    """

    def __init__(
        self,
        transition: Transition,
        compiled: Callable[[Callable[..., Any], Mapping[str, Any]], CompiledFunction],
        observations: int,
        n: int,
        first: int,
        mode: str,
        copy: bool,
    ) -> None:
        """compiled: a function of the environment's robot, by its sizes. observations: entries of one. See
        `Environment.compile`.
        """
        self.n, self.mode, self._compiled = whole("n", n, 1), mode, compiled
        self._transition, robot = replace(transition, mode=mode), transition.robot
        if whole("first", first, 0) + self.n > MOST:
            raise UnsupportedError(f"compile: environments {first} to {first + n}; their numbers end at {MOST}")
        sizes = {**self._transition.sizes, **({"ended": ()} if mode == NEXT_STEP else {})}
        self.step_function = self._compiled(self._transition.step, sizes)
        self._sizes = {**sizes, "observation": observations}
        state = {name: size for name, size in self._sizes.items() if name != "action"}
        self.reset_function = self._compiled(self._transition.restart, {**state, "mask": ()})
        answers: dict[str, Any] = dict.fromkeys(("reward", "terminated", "truncated", "failed", "residual"), ())
        answers["final_observation"] = observations
        self._copies = copy
        self.dtype = self.step_function.dtype
        self.action_size, self.observation_size = transition.sizes["action"], observations
        self.inputs, self.horizon = transition.inputs, transition.horizon
        self._policies: dict[object, CompiledFunction] = {}
        every = {**state, **answers}
        shapes = {name: (self.n, *shape_of(robot, size)) for name, size in every.items()}
        self._lists = dict[Any, tuple[list[str], list[str], list[str]]]()
        both = self.step_function, self.reset_function
        self._changed = {port.name for f in both for port in f.specification.outputs}
        now: dict[str, Any] = {name: np.zeros(shape, self.dtype) for name, shape in shapes.items()}
        then: dict[str, Any] = {name: x.copy() if name in self._changed else x for name, x in now.items()}
        self._names, self._now, self._then = tuple(state), now, then
        now["environment"][:] = np.arange(first, first + self.n)
        now["q"][:] = robot.neutral()
        self._is_begun, self.failures = False, 0

    def __repr__(self) -> str:
        return f"<{self.n} environments of {self._transition.robot.name}, {self.dtype}, {self.mode}>"

    def __getstate__(self) -> dict[str, Any]:
        """A pickle goes on from the state; policies are compiled again."""
        return {**self.__dict__, "_policies": {}, "_lists": {}}

    def reset(self, seed: int | Sequence[int] | None = None, mask: ArrayLike | None = None) -> Array:
        """Begin new episodes; return the observations (n, observation_size).

        seed: one for all environments, each of which has its own random numbers, or one for each; None goes on with
        the numbers of the next episode, at first with a seed from the system. mask (n): which environments begin; None
        is all.
        """
        if seed is None and not self._is_begun:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        chosen: Any = np.ones(self.n) if mask is None or not self._is_begun else np.asarray(mask, self.dtype)
        if chosen.shape != (self.n,):
            raise ShapeError(f"reset: mask has shape {chosen.shape}, expected {(self.n,)}")
        if seed is not None:
            words = self.seeds(seed)
            begins = chosen > 0.5  # the others go on with their numbers
            self._now["seed"][begins] = np.asarray(words)[begins]
            self._now["episode"][begins] = -1.0
        self._run(self.reset_function, mask=chosen.astype(self.dtype))
        self._is_begun = True
        return self._returned(self._now["observation"])

    def step(self, action: ArrayLike, **inputs: ArrayLike) -> tuple[Array, Array, Any, Any, dict[str, Any]]:
        """Return observation (n, observation_size), reward (n), terminated (n), truncated (n), info.

        action (n, action_size). inputs: those of the environment that change from now on, by name. info: "failed" (n),
        whose state became no number, and which begin again; "residual" (n) [m/s] of the solver of contacts and rows of
        joints in the last substep; in "same_step" mode "final_obs" (n, observation_size), before a reset, which holds
        where "_final_obs" (n) does. Errors: ShapeError; UnsupportedError before the first reset.
        """
        self._check_begun("step")
        if wrong := [name for name in inputs if name not in self.inputs]:
            words = ", ".join(self.inputs) or "none"
            raise UnsupportedError(f"step: there is no input {wrong[0]!r}; inputs are: {words}; set() sets the rest")
        if inputs:
            self.set(**inputs)
        answers = self._run(self.step_function, action=action)
        terminated, truncated = answers["terminated"] > 0.5, answers["truncated"] > 0.5
        failed = answers["failed"] > 0.5
        self.failures += int(np.count_nonzero(failed))
        info: dict[str, Any] = {"failed": failed}
        if self._transition.starts:
            info["residual"] = self._returned(answers["residual"])
        if self.mode == SAME_STEP:
            final = self._returned(answers["final_observation"])
            info |= {"final_obs": final, "_final_obs": terminated | truncated}
        observation, reward = self._returned(answers["observation"]), self._returned(answers["reward"])
        return observation, reward, terminated, truncated, info

    def rollout(self, policy: Callable[..., Any], weights: Mapping[str, ArrayLike], steps: int, noise: int = 0) -> Any:
        """Return a path of `steps` steps with a policy, a user's function, as one native call.

        policy(observation, ...) -> action, or a dict with "action" and more answers, such as "log_prob". Its other
        arguments are weights, by name, and "noise" (noise), normal numbers of each step. The path has, by name:
        observation (n, steps + 1, observation_size), the first is the one now; action, reward, terminated, truncated,
        failed and what else the policy answers (n, steps, ...), final_observation with "same_step"; q, v and all of the
        state, after each step. A policy is compiled at its first rollout: give the same function again.
        """
        self._check_begun("rollout")
        arrays: dict[str, Any] = {name: np.asarray(x, self.dtype) for name, x in weights.items()}
        function = self._with_policy(policy, {name: x.shape for name, x in arrays.items()}, whole("noise", noise, 0))
        first = self._now["observation"][:, None].copy()
        inputs: dict[str, Any] = {**{name: self._now[name] for name in self._names}, **arrays}
        answers = function.rollout(**inputs, steps=whole("steps", steps, 1))
        path = answers._asdict()
        self.set(**{name: x[:, -1] for name, x in path.items() if name in self._names})
        self.failures += int(np.count_nonzero(path["failed"] > 0.5))
        path["observation"] = np.concatenate([first, path["observation"]], axis=1)
        path |= {name: path[name] > 0.5 for name in ("terminated", "truncated", "failed")}
        return namedtuple("Path", path)(**path)  # pyright: ignore[reportUntypedNamedTuple]

    def set(self, **values: ArrayLike) -> None:
        """Set entries of the state by name, such as inputs, memory, q, v: (n, ...), or one for all environments."""
        for name, value in values.items():
            if name not in self._names:
                raise UnsupportedError(f"set: there is no {name!r}; there are {', '.join(self._names)}")
            array: Any = self._now[name]
            try:
                array[...] = np.asarray(value, self.dtype)
            except ValueError:
                expected = f"{array.shape} or {array.shape[1:]}"
                raise ShapeError(f"set: {name} has shape {np.asarray(value).shape}, expected {expected}") from None

    def state(self) -> dict[str, Array]:
        """Return all that the future depends on, by name: copies of arrays (n, ...)."""
        return {name: self._now[name].copy() for name in self._names}

    def restore(self, state: Mapping[str, ArrayLike]) -> None:
        """Go on from a state that `state` returned, also of other environments: exactly as from there."""
        if missing := [name for name in self._names if name not in state]:
            raise UnsupportedError(f"restore: {missing[0]!r} is missing; give what state() returned")
        self.set(**{name: state[name] for name in self._names})
        self._is_begun = True

    def seeds(self, seed: Any) -> list[tuple[int, int]]:
        """Two words of each environment's seed, for the keys of its random numbers. UnsupportedError, ShapeError."""
        try:
            words = [seed_words(index(x)) for x in ([seed] if np.ndim(seed) == 0 else seed)]
        except TypeError:
            raise UnsupportedError(f"reset: seed={seed!r}; give a whole number, or one for each environment") from None
        if np.ndim(seed) and len(words) != self.n:
            raise ShapeError(f"reset: {len(words)} seeds for {self.n} environments; give one, or one for each")
        return words if np.ndim(seed) else words * self.n

    def _run(self, function: CompiledFunction, **values: ArrayLike) -> Mapping[str, Array]:
        """The answers by name, in arrays that the call after the next one writes again; the state is theirs now."""
        now, then, (inputs, outputs, others) = self._now, self._then, self._names_of(function)
        known = {**now, **values}
        function(*[known[name] for name in inputs], out=tuple([then[name] for name in outputs]))
        for name in others:
            then[name][...] = now[name]
        self._now, self._then = then, now
        return then

    def _names_of(self, function: CompiledFunction) -> tuple[list[str], list[str], list[str]]:
        """Its inputs, its outputs, and what of the state another function changes."""
        if function not in self._lists:
            inputs, outputs = (
                [port.name for port in ports]
                for ports in (function.specification.inputs, function.specification.outputs)
            )
            others = [name for name in self._names if name in self._changed and name not in outputs]
            self._lists[function] = inputs, outputs, others
        return self._lists[function]

    def _returned(self, array: Any) -> Any:
        return array.copy() if self._copies else array

    def _check_begun(self, called: str) -> None:
        if not self._is_begun:
            raise UnsupportedError(f"{called}: the environments have not begun; call reset(seed=0) first")

    def _with_policy(self, policy: Callable[..., Any], shapes: Mapping[str, Any], noise: int) -> CompiledFunction:
        """The step of this policy, compiled once."""
        key = policy, tuple(shapes.items()), noise
        if key not in self._policies:
            allowed = (*shapes, "observation", *(("noise",) if noise else ()))
            names = tuple(
                name for name in names_asked("rollout", "policy", policy, allowed, False) if name != "observation"
            )
            if twice := [name for name in shapes if name in self._sizes]:
                raise UnsupportedError(f"rollout: a weight is called {twice[0]!r}, as an entry of the state; rename it")
            inputs = {name: size for name, size in self._sizes.items() if name != "action"}
            act = partial(self._transition.act, policy, names, noise)
            self._policies[key] = self._compiled(act, {**inputs, **shapes})
        return self._policies[key]
