"""A robot's accelerator planned: functions by stage, formats, a budget met, a schedule, the errors of the result."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar, cast

import numpy as np

from condyle.algorithms.normal_form import normal_form
from condyle.backends.common.facts import checked_name
from condyle.compile.options import check_choice
from condyle.errors import UnsupportedError
from condyle.fpga.box import FORCE, answer_of, box_of, check_held, consistent, flat, limits, sampled
from condyle.fpga.functions import PRODUCT_NAMES, UNITS, chosen, library
from condyle.fpga.magnitudes import upper_bounds
from condyle.fpga.rtl.accelerator import AGAIN, STANDING, Coordinates, Plan, Stage, Stepping, Task
from condyle.fpga.rtl.boundary import Boundary, least_interval
from condyle.fpga.rtl.build import Accelerator, with_pipeline
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.planner import Planner, fitted
from condyle.fpga.rtl.report import array_dsp, arrays_of
from condyle.fpga.rtl.target import MARGIN, Device, Reals, part_of, pipeline_of, word_of
from condyle.fpga.rtl.vectors import PARTS, errors_of, task_errors, task_of, worst
from condyle.fpga.staged import pivot_bounds, trace_staged
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Program, operands, verify
from condyle.model.joints.lie import LARGEST_TURN, terms
from condyle.model.parts import Joint
from condyle.model.robot import Robot
from condyle.model.rooted import check_movable
from condyle.model.tree import Tree, tree_of
from condyle.scalar import Scalar
from condyle.specification import Function
from condyle.specification.integrators import OVERFLOWS
from condyle.text import printable
from condyle.trace.loops import branches_of

# From a robot's tree to the Program of a hardware pipeline: traced, bounded, verified.
#
# No pass cleans it: see decision 0049.


def stages(
    tree: Tree,
    routes: Sequence[tuple[str, Function, str]],
    base: int = 0,
    edges: Mapping[tuple[str, int], float] | None = None,
) -> Program:
    """All (letter, function, route) in one Program, a note at each node: its stage, bounds of its magnitude.

    edges: of entries of inputs, which those bounds rest on; without them there are none. base: see `trace_staged`.
    Functions share what they have in common, so one that needs the exact tree gives all of them that.
    """
    exact = any(function.normal_form == "exact" for _, function, _ in routes)
    staged = trace_staged(normal_form(tree, "exact" if exact else "joint_space"), routes, base)
    program = verify(staged.program)
    if edges is not None:
        upper = upper_bounds(staged, [link.parent for link in tree.links], math.hypot(*tree.gravity), edges)
        least = pivot_bounds(tree)
        lower = {node: least[k] for node, k in staged.pivots.items()}
        notes = (
            note._replace(upper=upper.get(k, math.inf), lower=lower.get(k, 0.0)) for k, note in enumerate(program.notes)
        )
        program = replace(program, notes=tuple(notes))
    return verify(program)


# One stage of an integration step as a Program, for the joints that a robot has.


NEARLY = 2.0**-10
"""How far a quaternion's square may be from 1 without a flag."""


def coordinates(robot: Robot) -> Coordinates:
    moving = [joint for joint in robot.joints if joint.mimic is None]
    flat = [joint.q_index + k for joint in moving if joint.kind.is_flat for k in range(joint.nq)]
    curved = [joint.v_index + k for joint in moving if not joint.kind.is_flat for k in range(joint.nv)]
    return Coordinates(robot.nq, robot.nv, tuple(flat), tuple(curved))


def stepping_of(robot: Robot, h: float, speed: float, bits: int) -> Stepping:
    """Steps of h seconds, each rate within `speed`, in words of so many bits.

    UnsupportedError if a joint could turn too far for the series.
    """
    turn = math.sqrt(3.0) * MARGIN * speed * h
    curved = [f"{printable(joint.name)} ({joint.type})" for joint in robot.joints if not joint.kind.is_flat]
    if curved and turn > LARGEST_TURN:
        raise UnsupportedError(
            f"step={h:g}: at twice the box's rate of {speed:g}, {', '.join(curved)} would turn by {turn:.2g} rad in "
            f"one step. The most is {LARGEST_TURN} rad: choose a step of at most {h * LARGEST_TURN / turn:.2g} s"
        )

    def advance(words: Sequence[Word], again: bool) -> Stage:
        return _Tracer(words, again).stage(robot, terms(turn, bits))

    return Stepping(h, coordinates(robot), advance)


def _entries(joint: Joint) -> range:
    """Of v."""
    return range(joint.v_index, joint.v_index + joint.nv)


class _Tracer:
    def __init__(self, words: Sequence[Word], again: bool) -> None:
        self.words, self.again = words, again
        self.graph = Graph()
        self.arrays: dict[str, int] = {}
        self.results: list[tuple[Word, Scalar]] = []
        self.alike: dict[int, Word] = {}
        self.small: dict[int, float] = {}
        self.whole: set[int] = set()

    def leaf(self, name: str, k: int = 0) -> Scalar:
        self.arrays[name] = max(k + 1, self.arrays.get(name, 0))
        return cast(Scalar, self.graph.input(list(self.arrays).index(name), k))

    def stage(self, robot: Robot, count: int) -> Stage:
        for k in range(robot.nv):
            self._sums("v", k, self.leaf("k", k))
        for joint in robot.joints:
            if joint.mimic is None:
                self._flat(joint) if joint.kind.is_flat else self._curved(joint, count)
        if self.again:
            self.results += [(word, self.leaf(word.name, word.index)) for word in self.words if word.name not in AGAIN]
        return Stage(self._program(), self.alike, self.small, frozenset(self.whole))

    def _sums(self, name: str, k: int, rate: Scalar) -> None:
        """What is a plain vector: the next sub-task's, and the result so far."""
        self.results.append((Word(f"{name}_next", k), self.leaf(f"s{name}", k) + self.leaf("b") * rate))
        if self.again:
            self.results.append((Word(f"n{name}", k), self.leaf(name, k) + self.leaf("c") * rate))

    def _flat(self, joint: Joint) -> None:
        for k in range(joint.nq):
            self._sums("q", joint.q_index + k, self.leaf("cv", joint.v_index + k))

    def _curved(self, joint: Joint, count: int) -> None:
        """The same configuration is the next sub-task's and the result: u depends on the stage."""
        entries = _entries(joint)
        rates = [self.leaf("cv", k) for k in entries]
        u = [self.leaf("c") * rate for rate in rates]
        if self.again:
            turned = joint.kind.bracket([self.leaf("v", k) for k in entries], rates)
            sums = [self.leaf("su", k) for k in entries]
            u = [x + (self.leaf("d") * y + self.leaf("e") * total) for x, y, total in zip(u, turned, sums, strict=True)]
            for k, rate, total in zip(entries, rates, sums, strict=True):
                self.results.append((Word("su_next", k), total + self.leaf("b") * rate))
        result = joint.kind.integrate_by_series([self.leaf("q", joint.q_index + k) for k in range(joint.nq)], u, count)
        for k, value in enumerate(result.q):
            names = ("q_next", "nq") if self.again else ("q_next",)
            self.results += [(Word(name, joint.q_index + k), value) for name in names]
        for k, value in enumerate(result.raw, joint.nq - len(result.raw)):
            self.alike[_node(value)] = Word("q", joint.q_index + k)
            self.whole.add(_node(value * value))
        self.small |= {_node(value): NEARLY for value in result.defect}

    def _program(self) -> Program:
        sizes: dict[str, int] = {}
        for word, _ in self.results:
            sizes[word.name] = max(word.index + 1, sizes.get(word.name, 0))
        inputs, outputs = ([Array(name, (n,)) for name, n in kinds.items()] for kinds in (self.arrays, sizes))
        values = [(list(sizes).index(word.name), word.index, cast(Expr, value)) for word, value in self.results]
        return self.graph.program("advance", inputs, outputs, values)


def _node(value: Scalar) -> int:
    return cast(Expr, value).index


ROUTES = tuple((unit.letter, unit.function, unit.route) for unit in UNITS.values())
RANGES = 4000
"""Sampled states whose values choose the formats."""
STATES = 1000
"""Sampled states for the errors that an export reports."""
CLOCK, F_EXT, STEP = 1e4, 1e9, 1e3
"""Upper limits of the options clock [MHz], f_ext [N, N m] and step [s]."""


@dataclass(frozen=True)
class Options:
    """part: see `PARTS`. dsp: the budget; default 62 % of the part. word: see `word_of`; empty: that of the part.
    clock: MHz, assumed for the times in reports.

    f_ext: the largest component of external forces [N, N m]; None: tasks have none. step: of euler and rk4 [s].
    constants: see `CONSTANTS`. folding: how many isomorphic branches share an array; None: the factor with the fewest
    DSPs at the shortest interval. pipeline: see `PIPELINES`. root: see `held`. box: see `box_of`. overflow: whether
    results have a flag, see `OVERFLOWS`. axi, float32, async_clock, link, echo, bus_clock: see `Boundary`.
    """

    functions: tuple[str, ...] = field(default_factory=library)
    word: str = ""
    dsp: int | None = None
    part: str = "xcvu9p"
    clock: float = 125.0
    name: str = "robot"
    states: int = STATES
    f_ext: float | None = None
    step: float = 1e-3
    constants: str = "dsp"
    folding: int | None = None
    pipeline: int = 0
    root: str | None = None
    box: Mapping[str, object] = field(default_factory=dict[str, object], hash=False)
    overflow: str = OVERFLOWS[0]
    axi: int = 512
    float32: bool = False
    async_clock: bool = False
    link: float | None = None
    echo: bool = False
    bus_clock: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "box", flat(self.box))
        usual = part_of(self.part).word
        object.__setattr__(self, "word", self.word or usual)
        pipeline_of(self.pipeline)
        checked_name(self.name)
        check_choice("overflow", self.overflow, OVERFLOWS)
        _ = self.boundary
        if self.dsp is not None and (self.dsp < 1 or self.dsp % 1):
            raise UnsupportedError(f"dsp={self.dsp}: give the largest number of DSPs, a whole number from 1 on")
        if not 0.0 < self.clock < CLOCK:
            raise UnsupportedError(f"clock={self.clock}: give a frequency in MHz, above 0 and below {CLOCK:g}")
        if self.f_ext is not None and not 0.0 < self.f_ext < F_EXT:
            raise UnsupportedError(
                f"f_ext={self.f_ext}: give the largest component of an external force, in N and N m, above 0 and below "
                f"{F_EXT:g}; leave f_ext out if there is no external force"
            )
        if not 0.0 < self.step < STEP:
            raise UnsupportedError(
                f"step={self.step}: give the integration step in seconds, above 0 and below {STEP:g}"
            )

    @property
    def boundary(self) -> Boundary:
        return Boundary(self.axi, self.float32, self.async_clock, self.link, self.echo, self.bus_clock)

    @property
    def device(self) -> Device:
        return part_of(self.part)

    @property
    def budget(self) -> int:
        return self.dsp if self.dsp is not None else self.device.budget


def planned(robot: Robot, options: Options) -> Plan:
    """The arrays and their formats; UnsupportedError names what is not possible and what is allowed."""
    if robot.nv == 0:
        raise UnsupportedError("verilog: no joint of this robot moves, so an accelerator has nothing to compute")
    tree, asked, numbers = tree_of(robot), chosen(options.functions), word_of(options.word)
    box = box_of(robot, options.box, options.f_ext)
    edges = limits(robot, box)
    check_held(edges, numbers)
    base = _given_base(robot, asked)
    named = {(word.name, word.index): bound for word, bound in edges.items()}
    solving = any(task.function.solves for task in asked)  # without this, M may have no inverse
    units = tuple(unit for unit in UNITS.values() if solving or not unit.function.solves)
    forces = () if options.f_ext is None else (FORCE,)
    routes = [(unit.letter, unit.function.taking(*forces), unit.route) for unit in units]
    program = stages(tree, routes, base, named)
    steps = any(task.stages for task in asked)
    stepping = stepping_of(robot, options.step, float(np.max(box["v"])), numbers.data) if steps else STANDING
    known = (asked, PRODUCT_NAMES, box, edges, stepping, base, branches_of(tree), options.echo)
    plan = Planner(program, units, sampled(robot, RANGES, 0, box), numbers, *known).run()
    return replace(plan, flags=options.overflow == OVERFLOWS[0])


def accelerator(robot: Robot, options: Options) -> Accelerator:
    """The accelerator: planned, fitted to the budget and the link, and scheduled."""
    made = with_pipeline(planned(robot, options), options.pipeline)
    options.boundary.check(made)
    least = least_interval(made, options.boundary, options.clock)
    return fitted(made, options.budget, options.constants, options.folding, options.device, least)


def _given_base(robot: Robot, asked: Sequence[Task]) -> int:
    """Degrees of freedom of the base if a function takes its motion as an input, else 0."""
    given = [task.function.name for task in asked if task.base_given]
    if given and not (robot.joints and robot.joints[0].kind.is_free):
        raise UnsupportedError(f"{given[0]}: only a robot with a floating base has this function (floating_base=True)")
    return robot.joints[0].nv if given else 0


# The choice of the root link of a floating robot.


RobotType = TypeVar("RobotType", bound=Robot)
CANDIDATES = 4
"""Roots that are tried."""


def held(robot: RobotType, root: str | None) -> RobotType:
    """The robot with another root link: `root`, or for "auto" the one with the shortest inverse dynamics.

    "auto" traces the CANDIDATES links from which the farthest link is nearest, and compares the cycles on the longest
    path through their graphs. UnsupportedError for a fixed base.
    """
    if root is None:
        return robot
    check_movable(robot, root)
    if root != "auto":
        return robot.reroot(root)
    turned = [robot, *(robot.reroot(body.name) for body in robot.bodies[1:])]
    return min(sorted(turned, key=_depth)[:CANDIDATES], key=_cycles)


def _depth(robot: Robot) -> int:
    """The most coordinates on a path from the root."""
    depths: list[int] = []
    for link in tree_of(robot).links:
        depths.append(len(link.v) + (depths[link.parent] if link.parent >= 0 else 0))
    return max(depths)


def _cycles(robot: Robot) -> int:
    """Cycles of the longest path through inverse dynamics, without shared units."""
    program = stages(tree_of(robot), ROUTES[:1])
    times: list[int] = []
    for node in program.nodes:
        before = max((times[k] for k in operands(node)), default=0)
        times.append(before + {"mul": 2, "add": 1, "sub": 1, "neg": 1}.get(node[0], 0))
    return max(times)


# Errors of the integer model against the reference, and words with smaller errors.


GOAL = 0.01
"""An export warns if the largest relative error of a function is above this."""
CLAMPED = 0.01
"""An export warns if a larger part of the states has a clamped signal."""
WORDS = ("12", "16", "18", "20x18", "25x18", "27x18", "27", "32")
"""The words that are compared, the narrowest first. All have a scale for each signal."""
CHUNK = 1000


def errors(robot: Robot, plan: Plan, n: int, seed: int = 1) -> dict[str, dict[str, float]]:
    """Errors of each function over n states of the box, of the integer model against the reference: see `errors_of`."""
    found: dict[str, dict[str, list[Reals]]] = {function: {} for function in plan.functions}
    plan = replace(plan, flags=True)  # clamped tasks are counted, with a flag or without
    for chunk in range(-(-n // CHUNK)):
        states = consistent(robot, sampled(robot, min(CHUNK, n - chunk * CHUNK), seed + chunk, plan.box), plan.box)
        for function, task in plan.tasks.items():
            truth = answer_of(robot, task, states, plan.stepping.h)
            answer = evaluate(plan, function, task_of(plan, function, states))
            for name, each in task_errors(plan, function, answer, truth).items():
                found[function].setdefault(name, []).append(each)
    whole = {function: {name: np.concatenate(parts) for name, parts in of.items()} for function, of in found.items()}
    return {function: errors_of(of) for function, of in whole.items()}


def advice(robot: Robot, options: Options, errors: Mapping[str, Mapping[str, float]], states: int) -> list[str]:
    """A sentence for each function whose `errors` over so many states are above the GOAL, with a better word;
    and one for each function that clamps in more than CLAMPED of the states.

    Other words are planned and compared over the same states.
    """
    far = {function: error for function, row in errors.items() if (error := worst(row)) > GOAL}
    cures: dict[str, str] = {}
    for word in _wider(options.word):
        left = tuple(function for function in far if function not in cures)
        if left:
            cures |= _within(robot, replace(options, functions=left), word, states)
    many = {function: row["clamped"] for function, row in errors.items() if row["clamped"] > CLAMPED}
    flagged = [
        f"{function}: a signal is clamped in {share:.0%} of {states} states of the box, because it does not fit word "
        f"{options.word!r}: choose one with more bits before the point, or with a scale for each signal, such as 27x18"
        for function, share in many.items()
    ]
    return flagged + [
        f"{function}: errors reach {error:.2g} of the range over {states} states, more than {GOAL:g}; "
        + cures.get(function, "no other word was better: choose a smaller box, or compute this function on the host")
        for function, error in far.items()
    ]


def _wider(word: str) -> list[str]:
    """The WORDS with more bits than this one; from 27x18 on for a word with a fixed point."""
    sizes = {name: (of.data, of.factor) for name in (*WORDS, word) for of in [word_of(name)]}
    least = sizes[word] if word_of(word).frac is None else sizes["25x18"]
    return [name for name in WORDS if sizes[name] > least]


def compared(robot: Robot, options: Options, word: str, states: int) -> list[dict[str, str | float]]:
    """For each function DSPs, bits of registers, interval and relative errors with a word, over states of the box."""
    acc = accelerator(robot, replace(options, word=word))
    return [
        {
            "word": word,
            "function": function,
            "dsp": sum(array_dsp(acc, name) for name in arrays_of(acc, function)),
            "register_bits": sum(map(acc.register_bits_of, arrays_of(acc, function))),
            "ii": acc.interval(function),
            **{part: worst(row, f"_{part}") for part in PARTS},
            "max": worst(row),
            "flagged": row["clamped"],
        }
        for function, row in errors(robot, acc.plan, states).items()
    ]


def _within(robot: Robot, options: Options, word: str, states: int) -> dict[str, str]:
    """The functions that stay within the GOAL with this word."""
    rows = errors(robot, planned(robot, replace(options, word=word)), states)
    kept = {function: worst(row) for function, row in rows.items() if worst(row) <= GOAL}
    return {function: f"word {word!r} stays within {error:.2g}" for function, error in kept.items()}
