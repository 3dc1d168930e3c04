"""A robot's accelerator: states, functions traced by stage, a plan, a schedule, errors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from condyle.algorithms.reference import evaluate as reference
from condyle.algorithms.routes import routes_of
from condyle.backends.common.facts import checked_name
from condyle.backends.fpga.accelerator import plan
from condyle.backends.fpga.build import Accelerator, build, fit, in_turns
from condyle.backends.fpga.constants import with_constants
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.evaluate import Answer, evaluate
from condyle.backends.fpga.export import Facts, Sheet, Tasks, write
from condyle.backends.fpga.steps import STEPS, integrated
from condyle.backends.fpga.target import XCVU9P, word_of
from condyle.backends.fpga.vectors import answer_lines, errors_of, task_lines, task_of
from condyle.errors import UnsupportedError
from condyle.ir.program import operands
from condyle.model.joints import JOINT_TYPES
from condyle.model.joints.base import FlatSpace
from condyle.model.robot import Robot
from condyle.model.rooted import check_movable
from condyle.model.state import usual_range
from condyle.model.tree import Tree, tree_of
from condyle.signature import FUNCTIONS
from condyle.trace.limbs import limbs_of
from condyle.trace.norms import caps
from condyle.trace.staged import trace_staged

Reals = NDArray[np.float64]
Own = TypeVar("Own", bound=Robot)
BOX = {"q": np.pi, "v": 2.0, "a": 5.0}
"""The states an accelerator is made for: angles within a turn, speeds and accelerations within these; tau of such."""
FAR = (("v", 4.0), ("v", 1e3), ("a", 1e3), ("q", 3.0))
"""How states leave the box in simulated tasks: some fit their words, some are clamped by the host."""
FORCE = "f_ext"
"""The box has this entry too where a task carries external forces."""
RANGES, CHUNK = 4000, 1000
CANDIDATES = 4
"""Roots that are tried."""
ROUTES = (("R", "id", "rnea"), ("D", "did", "closed_form"), ("M", "m", "crba"), ("M", "minv", "ltl"))


@dataclass(frozen=True)
class Options:
    """dsp: a budget, 62 % of an XCVU9P by default. word: see the target. clock: MHz, assumed, to print times.

    f_ext: None, or tasks carry external forces, each component within so many N and N m. step: of euler and rk4 [s].
    constants: how products with them are made, see `CONSTANTS`. turns: how many limbs that are alike share an array; by
    default what needs the fewest DSPs at the shortest interval. root: see `held`.
    """

    functions: tuple[str, ...] = tuple(FUNCTIONS)
    word: str = "27x18"
    dsp: int | None = None
    clock: float = 125.0
    name: str = "robot"
    states: int = 1000
    f_ext: float | None = None
    step: float = 1e-3
    constants: str = "dsp"
    turns: int | None = None
    root: str | None = None

    def __post_init__(self) -> None:
        checked_name(self.name)
        if self.dsp is not None and self.dsp < 1:
            raise UnsupportedError(f"dsp={self.dsp}: give a positive number of DSPs")
        if not 0.0 < self.clock < 10_000.0:
            raise UnsupportedError(f"clock={self.clock}: give a frequency in MHz")
        if self.f_ext is not None and not 0.0 < self.f_ext < 1e9:
            raise UnsupportedError(f"f_ext={self.f_ext}: give the largest external force in N, or leave it out")
        if not 0.0 < self.step < 1e3:
            raise UnsupportedError(f"step={self.step}: give the length of an integration step in seconds")

    @property
    def budget(self) -> int:
        return self.dsp if self.dsp is not None else XCVU9P.dsp * 62 // 100

    @property
    def box(self) -> dict[str, float]:
        return BOX if self.f_ext is None else {**BOX, FORCE: self.f_ext}


def held(robot: Own, root: str | None) -> Own:
    """The robot held by another link: `root`, or for "auto" the one that answers id soonest.

    Of the links from which the farthest is nearest a few are traced; the cycles on the longest way through their graphs
    are counted. UnsupportedError for a fixed base.
    """
    if root is None:
        return robot
    check_movable(robot, root)
    if root != "auto":
        return robot.reroot(root)
    turned = [robot, *(robot.reroot(body.name) for body in robot.bodies[1:])]
    return min(sorted(turned, key=_depth)[:CANDIDATES], key=_cycles)


def _depth(robot: Robot) -> int:
    """The most coordinates on a way from the root."""
    depths: list[int] = []
    for link in tree_of(robot).links:
        depths.append(len(link.v) + (depths[link.parent] if link.parent >= 0 else 0))
    return max(depths)


def _cycles(robot: Robot) -> int:
    """Of the longest way through inverse dynamics, units not shared."""
    program = trace_staged(tree_of(robot), ROUTES[:1]).program
    times: list[int] = []
    for node in program.nodes:
        before = max((times[k] for k in operands(node)), default=0)
        times.append(before + {"mul": 2, "add": 1, "sub": 1, "neg": 1}.get(node[0], 0))
    return max(times)


def sampled(robot: Robot, n: int, seed: int, box: Mapping[str, float] = BOX) -> dict[str, Reals]:
    """q, v, a and, where the box has any, f_ext, (n, size) each; a quarter of them at the corners of v and a."""
    rng = np.random.default_rng(seed)
    q = robot.random_state(n, rng).q
    for joint in robot.joints:
        if joint.type in ("revolute", "continuous") and joint.mimic is None:
            q[:, joint.q_index] = rng.uniform(-box["q"], box["q"], n)
    v, a = (rng.uniform(-box[name], box[name], (n, robot.nv)) for name in "va")
    v[: n // 4], a[: n // 4] = box["v"] * np.sign(v[: n // 4]), box["a"] * np.sign(a[: n // 4])
    states = {"q": q, "v": v, "a": a}
    if FORCE in box:
        states[FORCE] = rng.uniform(-box[FORCE], box[FORCE], (n, 6 * len(robot.bodies)))
    return states


def limits(robot: Robot, box: Mapping[str, float]) -> dict[Word, float]:
    """The largest absolute value of every word of q, v, a and f_ext in the box."""
    found = {Word(name, k): box[name] for name in "va" for k in range(robot.nv)}
    for joint in robot.joints:
        if joint.mimic is None:
            low, high = usual_range(joint)
            turns = joint.type in ("revolute", "continuous")
            largest = [box["q"]] if turns else np.maximum(np.abs(low), np.abs(high)).tolist()
            found.update({Word("q", joint.q_index + k): value for k, value in enumerate(largest)})
    if FORCE in box:
        found.update({Word(FORCE, k): box[FORCE] for k in range(6 * len(robot.bodies))})
    return found


def consistent(robot: Robot, states: Mapping[str, Reals]) -> dict[str, Reals]:
    """tau and Minv too, of the same states."""
    tree = tree_of(robot)
    (tau,) = reference(tree, "id", "rnea", states)
    (inverse,) = reference(tree, "minv", routes_of("minv", tree.has_shared_coordinates)[0], states)
    return {**states, "tau": np.asarray(tau, np.float64), "Minv": np.asarray(inverse, np.float64)}


def accelerator(robot: Robot, options: Options) -> Accelerator:
    """Planned, fitted to the budget and scheduled. UnsupportedError says what cannot be done and what could."""
    if not set(STEPS).isdisjoint(options.functions):
        _check_flat(robot)
    staged = trace_staged(tree_of(robot), ROUTES, options.f_ext is not None)
    samples = sampled(robot, RANGES, 0, options.box)
    numbers, limbs, edges = word_of(options.word), limbs_of(tree_of(robot)), limits(robot, options.box)
    parents = [link.parent for link in tree_of(robot).links]
    named = {(word.name, word.index): bound for word, bound in edges.items()}
    bounds = caps(staged, parents, math.hypot(*tree_of(robot).gravity), named)
    planned = plan(staged.program, staged.stages, samples, numbers, options.functions, options.step, limbs, bounds)
    planned = replace(planned, box=options.box, limits=edges)
    ii, turns = fit(planned, options.budget, options.constants, options.turns)
    return build(with_constants(in_turns(planned, turns), options.constants, ii), ii)


def _check_flat(robot: Robot) -> None:
    """Integration steps add h v to q: UnsupportedError names the joints for which that is not the step."""
    curved = [
        f"{joint.name} ({joint.type})"
        for joint in robot.joints
        if getattr(type(JOINT_TYPES[joint.type]), "integrate", None) is not FlatSpace.integrate
    ]
    if curved:
        raise UnsupportedError(
            f"euler and rk4 integrate joints whose q is a plain vector; not {', '.join(curved)}: take fd and integrate "
            "on the host (robot.integrate), or lock the joints"
        )


def answer_of(tree: Tree, function: str, states: Mapping[str, Reals], h: float) -> list[Reals]:
    """A function's outputs in float64, flat (n, size)."""
    if function in STEPS:

        def fd(q: Reals, v: Reals) -> Reals:
            return answer_of(tree, "fd", {**states, "q": q, "v": v}, h)[0]

        return list(integrated(function, fd, states["q"], states["v"], h))
    given = {port.name: states[port.name] for port in FUNCTIONS[function].ports(FORCE in states)}
    route = routes_of(function, tree.has_shared_coordinates)[0]
    return [np.asarray(exact, np.float64) for exact in reference(tree, function, route, given)]


def errors(robot: Robot, acc: Accelerator, n: int, seed: int = 1) -> dict[str, dict[str, float]]:
    """For each function the largest errors of the integer model over n states of the box, against the reference."""
    tree = tree_of(robot)
    found: dict[str, dict[str, float]] = {function: {} for function in acc.plan.functions}
    for chunk in range(-(-n // CHUNK)):
        states = consistent(robot, sampled(robot, min(CHUNK, n - chunk * CHUNK), seed + chunk, acc.plan.box))
        for function in acc.plan.functions:
            truth = answer_of(tree, function, states, acc.plan.h)
            answer = evaluate(acc.plan, function, task_of(acc, function, states))
            for name, value in errors_of(acc.plan, function, answer, truth).items():
                found[function][name] = max(value, found[function].get(name, 0.0))
    return found


def tasks(robot: Robot, acc: Accelerator, each: int, seed: int = 2) -> Tasks:
    """`each` tasks of every function, mixed, with the model's answers; some states are outside the box."""
    states = sampled(robot, each, seed, acc.plan.box)
    for k, (name, factor) in enumerate(FAR[: max(1, each // 4)], 1):
        states[name][-k] *= factor
    states = consistent(robot, states)
    lines: list[tuple[str, str]] = []
    for function in acc.plan.functions:
        given = task_of(acc, function, states)
        answer: Answer = evaluate(acc.plan, function, given)
        lines += zip(task_lines(acc, function, given, each), answer_lines(acc, function, answer, each), strict=True)
    order: list[int] = np.random.default_rng(seed).permutation(len(lines)).tolist()
    return Tasks(tuple(lines[k][0] for k in order), tuple(lines[k][1] for k in order))


def export_verilog(robot: Robot, options: Options, out: Path, version: str, names: Mapping[str, object]) -> list[Path]:
    """The whole project; the files written."""
    acc = accelerator(robot, options)
    facts = Facts(options.name, robot.fingerprint, version, options.clock, options.word)
    sheet = Sheet(errors(robot, acc, options.states), options.states, acc.plan.box)
    return write(out, acc, facts, sheet, tasks(robot, acc, 10), names)
