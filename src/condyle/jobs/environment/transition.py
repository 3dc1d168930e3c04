"""What an environment does in one step and at a reset, as functions of one state.

The state has, by name: q, v; `last_action`; `impulse` of contacts and `joint_impulse` of rows of joints, where the next
solve begins; inputs, memory and randomised numbers; `step` and `episode`, which count from 0; `environment` and `seed`,
its own stream of random numbers; `observation`, which a policy acts on; with NEXT_STEP `ended`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from condyle.compile.options import number_of
from condyle.errors import ShapeError, UnsupportedError
from condyle.model.robot import Robot
from condyle.specification.ports import GRAVITY, NUMBERS
from condyle.symbolic.elementwise import numpy as np
from condyle.symbolic.random_numbers import normal, uniform
from condyle.user.ports import names_asked

Values = dict[str, Any]

SAME_STEP, NEXT_STEP, DISABLED = MODES = ("same_step", "next_step", "disabled")
"""When an environment that has ended begins again: in the step that ends, in the next one, or when it is told to."""
RESET, RANDOMISE, NOISE, PUSH, POLICY = range(5)
"""Purposes of random numbers, which keep their streams apart."""
LARGEST = 1e30
"""A state whose entries are larger in sum, or are no numbers, has failed; the reward counts with them."""
ENTRIES = (
    "q",
    "v",
    "action",
    "last_action",
    "impulse",
    "joint_impulse",
    "step",
    "time",
    "episode",
    "environment",
    "seed",
    "observation",
)
"""Names that inputs and memory cannot have, as those of `ANSWERS`."""
ANSWERS = (
    "reward",
    "terminated",
    "truncated",
    "final_observation",
    "residual",
    "failed",
    "u",
    "noise",
    "draws",
    "ended",
    "mask",
)
HIDDEN = ("seed", "observation", "mask", "ended", "draws")
"""What users' functions of a state do not see."""


def shape_of(robot: Robot, size: Any) -> tuple[int, ...]:
    """A size of an input as numbers; names are "nq" and "nv"."""
    dims: tuple[Any, ...] = cast("tuple[Any, ...]", size) if isinstance(size, tuple) else (size,)
    lengths: dict[Any, Any] = {"nq": robot.nq, "nv": robot.nv}
    return tuple(lengths.get(dim, dim) for dim in dims)


class Random(NamedTuple):
    """A randomised number: name and size in the state, and what it is of uniform numbers in [0, 1)."""

    name: str
    size: tuple[int, ...]
    draw: Callable[[Any], Any]


@dataclass(frozen=True)
class Transition:
    """See `condyle.Environment` for what users' functions are. sizes: of the state's entries and the action.

    starts: impulses where a solve begins; none without a solve. randoms: numbers drawn at each reset. controls: entries
    of u. mode: one of `MODES`.
    """

    robot: Robot
    observe: Callable[..., Any]
    reward: Callable[..., Any]
    done: Callable[..., Any] | None
    control: Callable[..., Any] | None
    remember: Callable[..., Any] | None
    reset: Callable[..., Any]
    ground: Any
    friction: float
    starts: tuple[str, ...]
    dt: float
    substeps: int
    horizon: int | None
    draws: int
    noise: int
    inputs: tuple[str, ...]
    memory: tuple[str, ...]
    sizes: Mapping[str, Any]
    randoms: tuple[Random, ...]
    push: tuple[float, float] | None
    controls: int
    mode: str = SAME_STEP

    @property
    def period(self) -> float:
        """Of an environment's step [s]."""
        return self.dt * self.substeps

    def step(self, state: Any, **values: Any) -> Values:
        """The state, observation, reward and ends after a step with `action`."""
        action = values["action"]
        randomised = {random.name: values[random.name] for random in self.randoms}
        values |= self._clock(values, values)
        if self.push is not None:
            state = state.moved_to(state.q, self._pushed(state, values))
        for _ in range(self.substeps):
            values["u"] = action if self.control is None else self._call("control", state, values)
            if np.shape(values["u"]) != (self.controls,):
                what = "an action without control=" if self.control is None else "control: its answer"
                raise ShapeError(f"{what} has shape {np.shape(values['u'])}, expected {(self.controls,)}")
            state, values = self._moved(state, values, randomised)
        step = values["step"] + 1.0
        values |= self._clock(values, {"step": step, "episode": values["episode"]})
        values |= self._remembered(state, values)
        reward, fell = self._number("reward", state, values), 0.0
        size = np.abs(state.q).sum() + np.abs(state.v).sum() + np.abs(reward)
        failed = np.where(size < LARGEST, 0.0, 1.0)
        if self.done is not None:
            fell = np.where(self._number("done", state, values), 1.0, 0.0)
        terminated = np.maximum(failed, fell)
        is_over = 0.0 * failed if self.horizon is None else np.where(step >= float(self.horizon), 1.0, 0.0)
        truncated = np.minimum(is_over, 1.0 - terminated)
        after = {**{name: values[name] for name in self._carried}, "q": state.q, "v": state.v, "step": step}
        after |= {"last_action": action, "episode": values["episode"]}
        seen = np.where(failed > 0.5, 0.0, self._observation(state, {**values, "last_action": action}))
        answers = {"reward": np.where(failed > 0.5, 0.0, reward), "terminated": terminated, "truncated": truncated}
        answers |= {"failed": failed} | ({"residual": values["residual"]} if self.starts else {})
        ended = np.maximum(terminated, truncated)
        if self.mode == DISABLED:
            return {**after, "observation": seen, **answers}
        if self.mode == NEXT_STEP:
            # the step after an end only begins again
            skips, zero = values["ended"] > 0.5, 0.0 * ended
            after, seen = self._restarted(state, {**values, **after, "observation": seen}, skips)
            answers = {key: x if key == "residual" else np.where(skips, zero, x) for key, x in answers.items()}
            return {**after, "observation": seen, **answers, "ended": np.where(skips, zero, ended)}
        after, first = self._restarted(state, {**values, **after, "observation": seen}, ended > 0.5)
        return {**after, "observation": first, **answers, "final_observation": seen}

    def look(self, state: Any, **values: Any) -> Values:
        """What is observed at a state: for its size."""
        seen = {name: x for name, x in values.items() if name not in ("action", "u")}  # there are none after a reset
        return {"observation": self._observation(state, {**seen, **self._clock(values, values)})}

    def restart(self, state: Any, **values: Any) -> Values:
        """The state and the observation, from a reset where `mask` is above 0.5."""
        after, seen = self._restarted(state, values, values["mask"] > 0.5)
        ended = {"ended": np.where(values["mask"] > 0.5, 0.0, values["ended"])} if self.mode == NEXT_STEP else {}
        return {**after, "observation": seen, **ended}

    def act(self, policy: Callable[..., Any], names: Sequence[str], noise: int, state: Any, **values: Any) -> Values:
        """A step with the action of a policy: policy(observation, ...) -> action, or a dict with "action"."""
        taken = {name: values[name] for name in names if name != "noise"}
        if "noise" in names:
            taken["noise"] = normal(self._key(values), (values["step"], POLICY), noise)
        answer = policy(values["observation"], **taken)
        more = dict(cast("Values", answer)) if isinstance(answer, dict) else {"action": answer}
        if "action" not in more:
            raise UnsupportedError(f"policy: it answers {', '.join(map(repr, more))}; 'action' is missing")
        action = more.pop("action")
        if np.shape(action) != (self.sizes["action"],):
            raise ShapeError(f"policy: action has shape {np.shape(action)}, expected {(self.sizes['action'],)}")
        inputs = {name: x for name, x in values.items() if name in (*self.names, "action")}
        answers = self.step(state, **inputs, action=action)
        if twice := [name for name in more if name in answers or name in self.names]:
            raise UnsupportedError(f"policy: it answers {twice[0]!r}, a name of the environment; choose another name")
        return {**answers, **more, "action": action}

    @property
    def names(self) -> tuple[str, ...]:
        """Of the state's entries."""
        return tuple(name for name in self.sizes if name != "action")

    @property
    def _carried(self) -> tuple[str, ...]:
        """Entries that a step changes beside q, v and what counts."""
        return (*self.starts, *self.memory)

    def _moved(self, state: Any, values: Values, randomised: Mapping[str, Any]) -> tuple[Any, Values]:
        """The state after a substep, and values with the impulses of it."""
        scaled = {name: self._scaled(name, x) for name, x in randomised.items() if name in NUMBERS}
        if not self.starts:
            q, v = state.step(values["u"], self.dt, **scaled)
            return state.moved_to(q, v), values
        scaled |= {f"{name}0": values[name] for name in self.starts}
        if state.contacts:
            friction = values.get("friction", self.friction)
            solved = self.ground.contact_solve(state, values["u"], self.dt, friction, **scaled)
        else:
            solved = state.contact_solve(values["u"], np.zeros(0), self.dt, np.zeros(0), **scaled)
        answers = {name: getattr(solved, name) for name in (*self.starts, "residual")}
        return state.stepped(solved.v, self.dt), {**values, **answers}

    def _scaled(self, name: str, factors: Any) -> Any:
        """A number of the robot times its factors; gravity plus what is added."""
        numbers: Any = number_of(self.robot, name)
        if name == GRAVITY.name:
            return numbers + factors
        return (factors.reshape(-1, 1) if numbers.ndim == 2 else factors) * numbers

    def _pushed(self, state: Any, values: Values) -> Any:
        """v with a push along the ground, in some steps: see `condyle.Environment`."""
        assert self.push is not None
        seconds, speed = self.push
        draws = uniform(self._key(values), (values["step"], PUSH), 3)
        size = np.where(draws[0] < self.period / seconds, speed * draws[1], 0.0)
        angle = 2.0 * np.pi * draws[2]
        push = np.stack([size * np.cos(angle), size * np.sin(angle), 0.0 * size])
        turn = state.frame(self.robot.bodies[0].name).rotation
        return np.concatenate([state.v[:3] + turn.T @ push, state.v[3:]])

    def _remembered(self, state: Any, values: Values) -> Values:
        """The new memory."""
        if self.remember is None:
            return {}
        answers: Any = self._call("remember", state, values)
        return self._checked("remember", answers, self.memory)

    def _observation(self, state: Any, values: Values) -> Any:
        answer: Any = self._call("observe", state, values)
        if len(np.shape(answer)) != 1:
            raise ShapeError(f"observe: it answers an array of shape {np.shape(answer)}, expected one axis: (n,)")
        return answer

    def _number(self, what: str, state: Any, values: Values) -> Any:
        answer = self._call(what, state, values)
        if np.shape(answer) != ():
            raise ShapeError(f"{what}: it answers an array of shape {np.shape(answer)}, expected one number")
        return answer

    def _restarted(self, state: Any, values: Values, begins: Any) -> tuple[Values, Any]:
        """The state, from a reset where `begins` holds, and what is observed there."""
        episode = values["episode"] + 1.0
        key = (*self._seed(values), values["environment"], episode)
        drawn = {**values, "episode": episode, "draws": uniform(key, (0.0, RESET), max(self.draws, 1))}
        fresh = self._first(drawn)
        count = sum(int(np.prod(random.size)) for random in self.randoms)
        factors, k = uniform(key, (0.0, RANDOMISE), max(count, 1)), 0
        for random in self.randoms:
            n = int(np.prod(random.size))
            fresh[random.name], k = random.draw(factors[k : k + n].reshape(random.size)), k + n
        fresh |= {"step": 0.0, "episode": episode, "last_action": np.zeros(self.sizes["action"])}
        fresh |= {name: np.zeros(shape_of(self.robot, self.sizes[name])) for name in self.starts}
        before = {**values, "q": state.q, "v": state.v}
        after = {name: np.where(begins, x, before[name]) for name, x in fresh.items()}
        for name in self.memory:
            after.setdefault(name, np.where(begins, 0.0, values[name]))
        begun = state.moved_to(after["q"], after["v"])
        seen = self._observation(begun, {**values, **after, **self._clock(values, after)})
        return after, np.where(begins, seen, values["observation"]) if self.mode != SAME_STEP else seen

    def _first(self, drawn: Values) -> Values:
        """q, v, inputs and memory at the beginning of an episode."""
        names = names_asked(
            "Environment", "reset", self.reset, (*self.inputs, "draws", "episode", "environment"), False
        )
        answer: Any = self.reset(**{name: drawn[name] for name in names})
        answers: Any = cast("Values", answer) if isinstance(answer, dict) else {"q": answer}
        values = self._checked("reset", answers, ("q", "v", *self.inputs, *self.memory), ("q",))
        return {"v": np.zeros(self.robot.nv), **values}

    def _checked(self, what: str, answers: Any, allowed: Sequence[str], needed: Iterable[str] = ()) -> Values:
        """What a user's function answers by name. UnsupportedError for other names; ShapeError."""
        names = list(cast("Values", answers)) if isinstance(answers, dict) else [answers]
        if not isinstance(answers, dict) or not all(name in allowed for name in names):
            words = ", ".join(map(repr, names))
            raise UnsupportedError(
                f"{what} answers {words}; return a dict with some of {', '.join(map(repr, allowed))}"
            )
        values = cast("Values", answers)
        for name in needed:
            if name not in values:
                raise UnsupportedError(f"{what}: {name!r} is missing; return a dict with it")
        for name, value in values.items():
            expected = shape_of(self.robot, self.sizes[name])
            if np.shape(value) != expected:
                raise ShapeError(f"{what}: {name} has shape {np.shape(value)}, expected {expected}")
        return dict(values)

    def _call(self, what: str, state: Any, values: Values) -> Any:
        """A user's function of the state, with what it asks for by the names of its arguments."""
        f: Any = getattr(self, what)
        names = names_asked("Environment", what, f, [name for name in values if name not in HIDDEN])
        return f(state, **{name: values[name] for name in names})

    def _seed(self, values: Values) -> tuple[Any, Any]:
        return values["seed"][0], values["seed"][1]

    def _key(self, values: Values) -> tuple[Any, ...]:
        return (*self._seed(values), values["environment"], values["episode"])

    def _clock(self, values: Values, reached: Mapping[str, Any]) -> Values:
        """The time since the reset [s], and the noise of a step, which has these numbers."""
        key = (*self._seed(values), values["environment"], reached["episode"])
        noise = normal(key, (reached["step"], NOISE), self.noise) if self.noise else np.zeros(0)
        return {"step": reached["step"], "time": reached["step"] * self.period, "noise": noise}
