"""The schedule of a solve: what is computed in which order, on which arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import Signature
from typing import Any, Literal, Protocol

import numpy
from numpy.typing import DTypeLike

from condyle.derivatives import jacobian
from condyle.errors import UnsupportedError
from condyle.functions import riccati, riccati_accelerations
from condyle.functions.dynamics import INVERSE_DYNAMICS
from condyle.ir.schedule import Call, Move, Operand, Schedule, Slab, Statement, Sweep, Until, verify_schedule
from condyle.jobs.optimal_control.iteration import ASKED, FACTS, MOVES, SEARCH, STATE, Knot
from condyle.jobs.optimal_control.problem import function_of
from condyle.jobs.optimal_control.search import Search, carry
from condyle.model.robot import Robot
from condyle.specification import Bound, Function

np: Any = numpy  # of symbols, which NumPy's types do not know
Begin = Literal["cold", "guess", "plan"]
FOREVER = 1 << 24
LAST = "last_"
"""Before names of arrays of the last knot."""


@dataclass(frozen=True)
class Input:
    """An input of users' functions: its size, and how many rows there are, 1 for all knots together."""

    name: str
    shape: tuple[int, ...]
    rows: int

    @property
    def size(self) -> int:
        size = 1
        for length in self.shape:
            size *= length
        return size


@dataclass
class Job:
    """All functions and schedules of a problem.

    running, last: knots. inputs: of users. knots: intervals of dt. torques: by accelerations, where these are the
    variables. functions: by name.
    """

    robot: Robot
    bound: Bound
    running: Knot
    last: Knot
    inputs: tuple[Input, ...]
    knots: int
    dt: float
    torques: Callable[..., Any] | None = None
    functions: dict[str, Function] = field(default_factory=dict[str, Function])

    def __post_init__(self) -> None:
        knot = self.running
        linear = knot.is_linear
        parts = (
            riccati_accelerations.functions(knot.nv, knot.lanes, self.dt).values()
            if linear
            else riccati.riccati(knot.nx, knot.nu, knot.lanes, knot.turning)
        )
        self.functions |= {function.name: function for function in parts}
        following = {} if linear else self._next()
        self._make("linearise", knot, self._variables(knot) | following | self._more(knot, "state"))
        self._make("linearise", self.last, self._variables(self.last) | self._more(self.last, "state"))
        moved = {"gradient": knot.nx + knot.nu, "dx": knot.nx, "du": knot.nu}
        self._make("step", knot, self._variables(knot) | moved | self._more(knot, "state"))
        moved = {"gradient": knot.nx, "dx": knot.nx}
        self._make("step", self.last, self._variables(self.last) | moved | self._more(self.last, "state"))
        moved = {"dx": knot.nx, "du": knot.nu} | ({} if linear else {"next_dx": knot.nx})
        self._make(
            "trial", knot, self._variables(knot) | following | moved | self._steps(knot) | self._more(knot, "search")
        )
        self._make(
            "trial",
            self.last,
            self._variables(self.last) | {"dx": knot.nx} | self._steps(self.last) | self._more(self.last, "search"),
        )
        self._make("measure", knot, self.sizes(knot) | following)
        self._make("measure", self.last, self.sizes(self.last))
        for each in (knot, self.last):
            if each.rules.below:
                variables = dict.fromkeys(each.variables)
                sizes = {name: size for name, size in self._variables(each).items() if name in variables}
                self._make("prepare", each, sizes | self._more(each, "state"))
        rows = self.knots * knot.rules.below + self.last.rules.below
        nx, lanes = knot.nx, knot.lanes
        last_column = knot.nv if linear else nx
        corner = (last_column // lanes * (nx + 1) + nx) * lanes + last_column % lanes
        sums = rows + self.knots * (knot.rules.equal + (0 if linear else nx)) + self.last.rules.equal
        search = Search(self.knots + 1, rows, sums, corner, knot.eps)
        if self.torques is not None:
            sizes = {"q": self.robot.nq, "v": knot.nv, "u": knot.nu}
            self.functions["torque"] = function_of(self.robot, self.bound, "torque", sizes, self.torques)
        facts, V = (self.knots + 1) * FACTS, (last_column // lanes + 1) * (nx + 1) * lanes
        made_of = partial(function_of, self.robot, self.bound)
        many = {"facts": facts, "moves": (self.knots + 1) * MOVES, "V": V, "state": STATE}
        if linear:
            state = {"q": self.robot.nq, "v": knot.nv}
            self.functions["roll"] = made_of("roll", {**state, "u": knot.nu}, self._rolled)
            plan = {"start_q": self.robot.nq, "start_v": knot.nv}
            self.functions["beside"] = made_of("beside", state | plan, self._beside)
            moved = {"beside": knot.nx, "by": knot.nu}
            self.functions["follow"] = made_of("follow", {**plan, "start_u": knot.nu, **moved}, self._followed)
        self.functions["carry"] = made_of("carry", {"start_state": STATE, "asked": ASKED}, carry)
        self.functions["begin"] = made_of("begin", many, search.begin)
        self.functions["judge"] = made_of("judge", {"state": STATE, "search": SEARCH, "facts": facts}, search.judge)
        asked = {"state": STATE, "search": SEARCH, "facts": facts, "asked": ASKED}
        self.functions["finish"] = made_of("finish", asked, search.finish)

    def _rolled(self, call: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """The next state by the motion."""
        v = values["v"] + self.dt * values["u"]
        return {"next_q": values["q"] + self.dt * v, "next_v": v}

    def _beside(self, call: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """How far the state is from that of a plan."""
        return {"beside": np.concatenate([values[name] - values[f"start_{name}"] for name in ("q", "v")])}

    def _followed(self, call: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
        """The plan, moved by what its gains make of the state."""
        dq, dv = values["beside"][: self.running.nv], values["beside"][self.running.nv :]
        moves = (("q", dq), ("v", dv), ("u", values["by"]))
        return {name: values[f"start_{name}"] + by for name, by in moves}

    def _make(self, name: str, knot: Knot, inputs: Mapping[str, Any]) -> None:
        key = name if knot is self.running else LAST + name
        self.functions[key] = function_of(self.robot, self.bound, key, inputs, getattr(knot, name))

    def _variables(self, knot: Knot) -> dict[str, Any]:
        sizes: dict[str, Any] = {"q": self.robot.nq, "v": knot.nv}
        sizes |= {"u": knot.nu} if knot is self.running else {}
        below, equal = knot.rules.below, knot.rules.equal
        sizes |= {"slack": below, "multiplier": below} if below else {}
        return sizes | ({"price": equal} if equal else {})

    def _steps(self, knot: Knot) -> dict[str, Any]:
        below, equal = knot.rules.below, knot.rules.equal
        sizes = {"dslack": below, "dmultiplier": below} if below else {}
        return sizes | ({"dprice": equal} if equal else {})

    def _next(self) -> dict[str, Any]:
        return {"next_q": self.robot.nq, "next_v": self.running.nv}

    def sizes(self, knot: Knot) -> dict[str, Any]:
        """What a plan has at a knot, and what is given there."""
        more = self._more(knot, "state")
        return self._variables(knot) | {name: size for name, size in more.items() if name != "state"}

    def _more(self, knot: Knot, vector: str) -> dict[str, Any]:
        """Numbers of the whole problem, the mark of the first knot, and inputs of the user."""
        names = set(knot.inputs)
        sizes: dict[str, Any] = {vector: STATE if vector == "state" else SEARCH}
        sizes |= {"free": ()} if knot.rules.has_given_rows else {}
        return sizes | {item.name: item.shape or () for item in self.inputs if item.name in names}

    @property
    def _panel(self) -> int:
        """Numbers of a panel of gains."""
        knot = self.running
        columns = knot.nv + 1 if knot.is_linear else knot.nx + 1
        return -(-columns // knot.lanes) * knot.nu * knot.lanes

    def _columns(self, panel: Any) -> Any:
        """Gains from their panel, without what stands behind them; 0 where a factorisation failed."""
        knot = self.running
        columns = np.concatenate(list(panel.reshape(-1, knot.nu, knot.lanes)), axis=1)
        K = columns[:, : knot.nv if knot.is_linear else knot.nx]
        return np.where(np.abs(K) < 1e30, K, 0.0)

    @cached_property
    def gains(self) -> Function:
        """Gains of u by [dq; dv] from panels of K, of torques too where accelerations are the variables."""
        knot, size = self.running, self._panel
        panels = ("KQ", "KV") if knot.is_linear else ("K",)
        sizes: dict[str, Any] = {"q": self.robot.nq, "v": knot.nv, "u": knot.nu} if knot.is_linear else {}
        return function_of(self.robot, self.bound, "gains", sizes | dict.fromkeys(panels, size), self._gains)

    def _gains(self, call: Callable[..., Any], values: Mapping[str, Any]) -> dict[str, Any]:
        if not self.running.is_linear:
            return {"K": self._columns(values["K"])}
        K = np.concatenate([self._columns(values[name]) for name in ("KQ", "KV")], axis=1)
        state = values["q"], values["v"], values["u"]
        by_q, by_v, M = call(jacobian(INVERSE_DYNAMICS), *state)
        return {"K": np.concatenate([by_q, by_v], axis=1) + M @ K}

    @cached_property
    def rows(self) -> dict[str, Input]:
        """Inputs by name."""
        return {item.name: item for item in self.inputs}

    @cached_property
    def tables(self) -> set[str]:
        """Arrays that keep an axis of knots, though it may have one."""
        names = [name for name, _, _ in self.variables() if not name.startswith(LAST)]
        gains = ("K", "KQ", "KV")
        return {*names, *gains, *(f"start_{name}" for name in (*names, *gains)), "free", "torque"}

    # Arrays.

    def slabs(self) -> list[Slab]:
        """All arrays but those of a start."""
        N, knot = self.knots, self.running
        slabs = [Slab("given_q", 1, self.robot.nq), Slab("given_v", 1, knot.nv), Slab("asked", 1, ASKED)]
        slabs += [Slab("start_state", 1, STATE), Slab("state", 1, STATE), Slab("search", 1, SEARCH, is_zero=True)]
        slabs += [
            Slab("new_state", 1, STATE),
            Slab("new_search", 1, SEARCH),
            Slab("accepted", 1, 1),
            Slab("done", 1, 1),
        ]
        slabs += [Slab("free", N, 1)] if knot.rules.has_given_rows else []
        slabs += [Slab("torque", N, knot.nu)] if self.torques is not None else []
        slabs += [Slab(item.name, item.rows, item.size) for item in self.inputs]
        for name, rows, size in self.variables():
            slabs += [Slab(name, rows, size), Slab(f"new_{name}", rows, size)]
        for each, rows, mark in ((knot, N, ""), (self.last, 1, LAST)):
            slabs += [Slab(mark + name, rows, size) for name, size in self._steps(each).items()]
            slabs.append(Slab(mark + "gradient", rows, knot.nx + (knot.nu if each is knot else 0)))
        for name, size in (("facts", FACTS), ("moves", MOVES)):
            slabs += [Slab(name, N + 1, size), Slab(f"all_{name}", 1, (N + 1) * size, name)]
        if knot.is_linear:
            slabs += [Slab("beside", N + 1, knot.nx), Slab("by", N, knot.nu)]
            return [*slabs, *riccati_accelerations.slabs(N, knot.nv, knot.lanes), Slab("new_reg", 1, 1)]
        return [*slabs, *riccati.slabs(N, knot.nx, knot.nu, knot.lanes, knot.turning), Slab("new_reg", 1, 1)]

    def variables(self) -> list[tuple[str, int, int]]:
        """Name, rows and size of what a plan is made of."""
        N, last = self.knots, self._variables(self.last)
        running = [
            (name, N + 1 if name in ("q", "v") else N, size) for name, size in self._variables(self.running).items()
        ]
        return running + [(LAST + name, 1, size) for name, size in last.items() if name not in ("q", "v")]

    # Statements.

    def call(self, name: str, knot: Knot, outputs: Mapping[str, str] | None = None) -> Call:
        """A call of a function of this kind over all running knots, or of the last one."""
        running = knot is self.running
        key, N = (name if running else LAST + name), self.knots
        function = self.functions[key]
        named = outputs or {}
        inputs = tuple(self.operand(port.name, running) for port in function.inputs)
        answers = tuple(self.operand(named.get(port.name, port.name), running) for port in function.outputs)
        return Call(key, N if running else 1, inputs, answers)

    def operand(self, name: str, running: bool) -> Operand:
        """Where an array of a knot is."""
        N = self.knots
        if name in ("state", "search", "asked"):
            return Operand(name, 0, 0)
        if name == "E":
            return Operand(name)
        if name.startswith("next_"):
            return Operand(name.removeprefix("next_"), 1)
        item = next((item for item in self.inputs if item.name == name), None)
        if item is not None:
            return Operand(name, 0, 0) if item.rows == 1 else Operand(name, 0 if running else item.rows - 1)
        if running:
            return Operand(name)
        if name in ("q", "v", "dx", "new_q", "new_v", "facts", "moves", "V", "VQ", "VV"):
            return Operand(name, N)
        new = name.startswith("new_")
        return Operand(f"new_{LAST}{name.removeprefix('new_')}" if new else LAST + name)

    def whole(self, name: str) -> str:
        """The slab of an array of the whole problem."""
        names = {"facts": "all_facts", "moves": "all_moves", **({"V": "VV"} if self.running.is_linear else {})}
        return names.get(name, name)

    def single(self, name: str) -> Call:
        """A call for the whole problem."""
        function = self.functions[name]
        inputs = tuple(Operand(self.whole(port.name)) for port in function.inputs)
        return Call(name, 1, inputs, tuple(Operand(port.name) for port in function.outputs))

    def schedule(self, begin: Begin, shift: int = 0, exported: str = "") -> Schedule:
        """The schedule of a solve. shift: knots by which a plan is moved on first. exported: its name in an export,
        where it answers "gains" of u by [dq; dv], and panels only where the next step begins with them."""
        knots, N = (self.running, self.last), self.knots
        if not 0 <= shift <= N:
            raise UnsupportedError(f"step: shift={shift!r}; give a whole number from 0 to {N} knots")
        body, starts, zeros = list[Statement](), list[Slab](), list[Slab]()
        for name, rows, size in self.variables():
            kind = name.removeprefix(LAST)
            if begin == "plan" or (begin == "guess" and name in ("q", "v", "u")):
                starts.append(Slab(f"start_{name}", rows, size))
                body += moved(f"start_{name}", name, rows, min(shift, rows) if rows > 1 else 0)
            elif kind == "q":
                body.append(Move(Operand("given_q", 0, 0), Operand("q"), N + 1))
            elif kind in ("v", "u", "price"):
                zeros.append(Slab(f"zero_{name}", 1, size, is_zero=True))
                body.append(Move(Operand(f"zero_{name}", 0, 0), Operand(name), rows))
        body += [Move(Operand(f"given_{name}"), Operand(name), 1) for name in ("q", "v")]
        if begin == "plan":
            body.append(self.single("carry"))
        else:
            body.append(Move(Operand("start_state"), Operand("state"), 1))
        follows = self.running.is_linear and begin == "plan"
        starts += [Slab(f"start_{name}", N, self._panel) for name in ("KQ", "KV") if follows]
        body += self._motion(N - shift if follows else 0, shift)
        if begin != "plan":
            names = {"slack": "slack", "multiplier": "multiplier"}
            body += [self.call("prepare", knot, names) for knot in knots if knot.rules.below]
        body += [self.call("measure", knot) for knot in knots]
        body.append(Until("done", FOREVER, tuple(self.iteration())))
        body += [self.call("torque", self.running)] if self.torques is not None else []
        inputs = ["given_q", "given_v", "asked", "start_state", *(slab.name for slab in starts)]
        inputs += (["free"] if self.running.rules.has_given_rows else []) + [item.name for item in self.inputs]
        panels = ("KQ", "KV") if self.running.is_linear else ("K",)
        more = [Slab("gains", N, self.running.nu * self.running.nx)] if exported else []
        if exported:
            function = self.functions["gains"] = self.gains
            body.append(Call("gains", N, tuple(Operand(port.name) for port in function.inputs), (Operand("gains"),)))
        gains = () if exported and not self.running.is_linear else panels
        gains = ("gains", *gains) if exported else gains
        torque = ("torque",) if self.torques is not None else ()
        outputs = (*(name for name, _, _ in self.variables()), *gains, "state", *torque)
        slabs = (*self.slabs(), *starts, *zeros, *more)
        called = exported or f"{begin}_{shift}"
        return verify_schedule(Schedule(called, slabs, tuple(inputs), outputs, tuple(body), self.running.lanes))

    def _motion(self, followed: int, shift: int) -> list[Statement]:
        """Where the motion is linear, it begins at the given state: that of a plan with its gains for so many knots, so
        that it comes back to it, then without."""
        knot, state = self.running, ("q", "v")
        statements = list[Statement]()
        if not knot.is_linear:
            return statements
        if followed:
            plan = tuple(Operand(f"start_{name}", shift) for name in state)
            after = tuple(Operand(f"start_{name}", shift + 1) for name in state)
            moves = Operand("start_u", shift), Operand("beside", 1), Operand("by")
            answers = Operand("q", 1), Operand("v", 1), Operand("u")
            statements += [
                Call("beside", 1, (Operand("q"), Operand("v"), *plan), (Operand("beside"),)),
                riccati_accelerations.follow(followed, knot.nv, knot.lanes, self.dt, shift),
                Call("follow", followed, (*after, *moves), answers),
            ]
        if followed < self.knots:
            now, after = (
                tuple(Operand(name, followed + row, 1, 1) for name in names)
                for names, row in (((*state, "u"), 0), (state, 1))
            )
            statements.append(Sweep(self.knots - followed, (Call("roll", 1, now, after),)))
        return statements

    def sweeps(self, steps: bool = True) -> tuple[Sweep, Sweep]:
        """The Riccati recursion and the steps that follow from it. steps: in the form of joints, where there is one."""
        knot = self.running
        if knot.is_linear:
            sizes = self.knots, knot.nv, knot.lanes, self.dt
            return riccati_accelerations.backward(*sizes), riccati_accelerations.forward(*sizes)
        sizes = self.knots, knot.nx, knot.nu, knot.lanes, knot.turning if steps else None
        return riccati.backward(*sizes), riccati.forward(*sizes)

    def iteration(self) -> list[Statement]:
        knots = self.running, self.last
        trial: list[Statement] = [*(self.call("trial", knot) for knot in knots), self.single("judge")]
        trial.append(Move(Operand("new_search"), Operand("search"), 1))
        return [
            *(self.call("linearise", knot) for knot in knots),
            *self.sweeps(),
            *(self.call("step", knot) for knot in knots),
            self.single("begin"),
            Move(Operand("new_state"), Operand("state"), 1),
            Until("accepted", FOREVER, tuple(trial)),
            *(Move(Operand(f"new_{name}"), Operand(name), rows) for name, rows, _ in self.variables()),
            self.single("finish"),
            *(Move(Operand(f"new_{name}"), Operand(name), 1) for name in ("state", "reg")),
        ]


class Problem(Protocol):
    """A problem as its solver sees it; see `condyle.OptimalControl`."""

    robot: Robot
    knots: int
    dt: float
    by_acceleration: bool

    @property
    def bound(self) -> Bound: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @property
    def signature(self) -> Signature: ...
    @property
    def columns(self) -> tuple[int, ...]: ...
    def job(self, dtype: str, lanes: int) -> Job: ...
    def compile(self, target: str = "cpu", dtype: DTypeLike = "float64", threads: int | None = None) -> Any: ...


def moved(source: str, target: str, rows: int, shift: int) -> list[Statement]:
    """Rows moved on by `shift`, the last one repeated."""
    kept = [Move(Operand(source, shift), Operand(target), rows - shift)] if rows > shift else []
    return [*kept, *([Move(Operand(source, rows - 1, 0), Operand(target, rows - shift), shift)] if shift else [])]
