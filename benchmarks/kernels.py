"""Machine code of target "cpu" for one function, apart from everything that calls it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import condyle
from benchmarks.probes import alone
from condyle import __version__
from condyle.backends.common.facts import BITS, Facts
from condyle.backends.cpu.assemble import Assembled, assemble, packed
from condyle.backends.cpu.build import supported
from condyle.backends.cpu.target import Isa
from condyle.cli.bound import Call
from condyle.cli.rivals.rival import Array as Numbers
from condyle.compile.compiler import Compiler
from condyle.functions import FUNCTIONS
from condyle.ir.program import Array, Program
from condyle.model.tree import tree_of
from condyle.operations import TRIGONOMETRIC
from condyle.passes.dce import dce
from condyle.runtime import machine
from condyle.specification import UNBOUND, Bound

if TYPE_CHECKING:
    from condyle.runtime._tiles import Plan


HEAD = 6
"""Numbers of a plan before those of its ports, see tiles/numbers.h."""


def without_sines(program: Program) -> Program:
    """The same with every sine and cosine an entry of one more input: only products, sums and divisions stay."""
    taken = [k for k, node in enumerate(program.nodes) if node[0] in TRIGONOMETRIC]
    entry = {k: ("input", len(program.inputs), place) for place, k in enumerate(taken)}
    nodes = tuple(entry.get(k, node) for k, node in enumerate(program.nodes))
    return dce(replace(program, inputs=(*program.inputs, Array("sines", (len(taken),))), nodes=nodes))


@dataclass(frozen=True)
class Kernels:
    """A robot's float64 kernels; none where the processor has none, or the function is loops."""

    robot: condyle.Robot
    bound: Bound = UNBOUND

    @cached_property
    def isa(self) -> Isa | None:
        return next(iter(supported()), None)

    @cached_property
    def compiler(self) -> Compiler:
        robot = self.robot
        return Compiler(tree_of(robot, self.bound), Facts(robot.nq, robot.nv, robot.fingerprint, __version__, "robot"))

    def assembled(self, name: str, sines: bool = True) -> Assembled | None:
        """sines: False leaves sines and cosines to the caller, who gives them as one more input."""
        program = self.compiler.code(FUNCTIONS[name])
        if self.isa is None or not isinstance(program, Program):
            return None
        return assemble(program if sines else without_sines(program), self.isa, BITS["float64"])

    def rows(self, made: Assembled) -> Plan:
        """The plan without its kernels: rows are packed into tiles and tiles unpacked into rows, nothing else."""
        assert self.isa is not None
        numbers, ports = made.numbers, HEAD + 4 * (made.numbers[1] + made.numbers[2])
        without = (*numbers[:3], 0, *numbers[4:ports], *numbers[ports + 3 * numbers[3] :])
        bits = BITS["float64"]
        values = packed(made.values, bits)
        return machine.plan(self.isa.name, bits, made.text, made.constants, made.slots, values, without)

    def operations(self, name: str) -> int:
        """Multiplications and additions of one state, a multiply-add as two."""
        return int(self.compiler.best(FUNCTIONS[name]).counts.arithmetic)

    def one_state(self, name: str, arrays: Sequence[Numbers], out: Sequence[Numbers]) -> Call | None:
        """The form for one state, called from C for every row of `arrays`; answers go to the first row of `out`."""
        made = self.assembled(name)
        if made is None or made.single is None or self.isa is None:
            return None
        one, bits = made.single, BITS["float64"]
        code = machine.single(self.isa.name, bits, one.text, one.constants, one.numbers)
        return alone(code, arrays, out)
