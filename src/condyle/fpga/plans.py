"""A robot's accelerator planned: the options, functions traced by stage, formats, a budget met, a schedule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from condyle.backends.common.facts import checked_name
from condyle.compile.options import check_choice
from condyle.errors import UnsupportedError
from condyle.fpga.box import FORCE, box_of, check_held, flat
from condyle.fpga.functions import PRODUCT_NAMES, UNITS, chosen, library
from condyle.fpga.rtl.accelerator import Plan
from condyle.fpga.rtl.boundary import Boundary, least_interval
from condyle.fpga.rtl.build import Accelerator, with_pipeline
from condyle.fpga.rtl.fitting import fitted
from condyle.fpga.rtl.planner import Planner
from condyle.fpga.rtl.steps import STANDING
from condyle.fpga.rtl.target import Device, part_of, pipeline_of, word_of
from condyle.fpga.rtl.tasks import Task
from condyle.fpga.stages import stages
from condyle.fpga.states import limits, sampled
from condyle.fpga.stepping import stepping_of
from condyle.model.robot import Robot
from condyle.model.tree import tree_of
from condyle.specification.choices import OVERFLOWS
from condyle.trace.branches import branches_of

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
