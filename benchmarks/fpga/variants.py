"""Choices beside each other: constants, folding, roots, a given base, integration steps; cycles, units, errors.

Nothing is simulated here; `cycles` and the tests do that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import condyle
from condyle import fpga
from condyle.fpga import Options
from condyle.fpga.rtl.build import Accelerator, build, with_folding
from condyle.fpga.rtl.constants import with_constants
from condyle.fpga.rtl.report import words_held
from condyle.functions import DEFAULT


@dataclass(frozen=True)
class Variant:
    """interval: given, or what the budget allows. states: of the errors, 0 for none."""

    robot: str
    options: Options
    floating: bool = False
    interval: int | None = None
    states: int = 0

    def accelerator(self, robot: condyle.Robot) -> Accelerator:
        options = self.options
        if self.interval is None:
            return fpga.accelerator(robot, options)
        made = with_folding(fpga.planned(robot, options), options.folding or 1)
        return build(with_constants(made, options.constants, self.interval), self.interval)


ARM, TREE = ("id", "fd", "did"), ("fd", "rk4", "euler")
ALL, GIVEN = tuple(DEFAULT), tuple(name for name, task in fpga.functions().items() if task.base_given)
CASES: dict[str, Variant] = {
    **{
        f"constants {robot} {ii} {made}": Variant(robot, Options(constants=made), interval=ii)
        for robot in ("iiwa14", "hyq")
        for ii in (1, 2)
        for made in ("dsp", "shift", "auto")
    },
    **{
        f"folding hyq {dsp} {folding or 'chosen'}": Variant("hyq", Options(dsp=dsp, folding=folding))
        for dsp in (450, 220, 120)
        for folding in (1, None)
    },
    **{f"folding atlas 4240 {n or 'chosen'}": Variant("atlas", Options(folding=n)) for n in (1, None)},
    **{
        f"root atlas {root or 'pelvis'}": Variant("atlas", Options(ARM, root=root), floating=True, interval=7)
        for root in (None, "mtorso", "utorso")
    },
    "base hyq fd": Variant("hyq", Options(("fd",)), floating=True, interval=1),
    "base hyq fd, fd_given": Variant("hyq", Options(("fd", "fd_given")), floating=True, interval=1),
    "base hyq all": Variant("hyq", Options(), floating=True, interval=3),
    "base hyq all and given": Variant("hyq", Options((*ALL, *GIVEN)), floating=True, interval=3, states=1000),
    **{f"steps {robot}": Variant(robot, Options(("fd", "rk4")), states=1000) for robot in ("iiwa14", "hyq")},
    **{
        f"steps hyq floating {word} {ms} ms": Variant(
            "hyq", Options(TREE, word=word, step=1e-3 * ms), floating=True, interval=1, states=1000
        )
        for ms in (1, 10)
        for word in ("27x18", "27")
    },
}
ROWS = tuple(CASES)


def measure(row: str) -> dict[str, Any]:
    case = CASES[row]
    robot = fpga.held(condyle.load(case.robot, floating_base=case.floating), case.options.root)
    acc = case.accelerator(robot)
    paths = [array.datapath for array in acc.arrays.values()]
    found = {
        "interval": acc.ii,
        "folding": max(path.folding for path in paths),
        "dsp": acc.dsp,
        "arrays": {name: sum(op.kind == "mul" for op in array.datapath.ops) for name, array in acc.arrays.items()},
        "words": sum(words_held(acc, name) for name in acc.arrays),
        "sums": sum(path.ops[k].kind in ("add", "sub") for path in paths for k in path.members),
        "sums_of_shifts": sum(op.shifts for path in paths for op in path.ops if op.shifts),
        "latency": {function: acc.latency(function) for function in acc.plan.functions},
        "intervals": {function: acc.interval(function) for function in acc.plan.functions},
    }
    errors = fpga.errors(robot, acc.plan, case.states) if case.states else {}
    return {**found, "states": case.states, "errors": errors}
