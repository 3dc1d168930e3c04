"""The contents of a header: kernels, one for each called function, and the launches of every exported function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from condyle.backends.common.describe import argument_names
from condyle.backends.common.facts import LONG, checked_name
from condyle.backends.common.words import IN_C
from condyle.backends.cuda import product
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.parts import Composed, Part, Parts, Text, parts
from condyle.backends.cuda.steps import Lowered
from condyle.backends.cuda.target import TARGET
from condyle.ir.program import Program
from condyle.specification import Function

ENDLESS = 1 << 30
UNBOUNDED = replace(TARGET, values32=ENDLESS, values64=ENDLESS, trust=1.0)
"""The C++ compiler allocates registers; orders are chosen as for PTX."""

PRODUCT = product.NAME


@dataclass(frozen=True, slots=True)
class Kernel:
    """One straight-line function, and the names of its arguments."""

    low: Lowered
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.low.program.name

    @property
    def program(self) -> Program:
        return self.low.program

    @property
    def pool(self) -> int:
        """Numbers of shared memory for each warp."""
        return self.low.pool // 4


@dataclass(frozen=True, slots=True)
class Exported:
    """One exported function, and the names of its arguments."""

    implementation: Composed
    parts: Parts
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.implementation.function.name

    @property
    def method(self) -> str:
        """The name of the host call with copies."""
        return self.implementation.function.method

    @property
    def composed(self) -> bool:
        """Whether it has an argument `scratch`: it can be several launches. Whether it is: see `split`."""
        return bool(self.implementation.function.composition)

    @property
    def split(self) -> bool:
        return len(self.implementation.steps) > 1

    @property
    def takes(self) -> list[tuple[str, int]]:
        """Name and size of each input."""
        return [(name, array.size) for name, array in zip(self.inputs, self.parts.inputs, strict=True)]

    @property
    def answers(self) -> list[tuple[str, int]]:
        """Name and size of each output."""
        return [(name, array.size) for name, array in zip(self.outputs, self.parts.outputs, strict=True)]

    @property
    def scratch(self) -> int:
        """Numbers of scratch for each state."""
        return sum(array.size for array in self.parts.scratch)


@dataclass(frozen=True, slots=True)
class Plan:
    """The contents of a header: every kernel once, and the launches of each function."""

    kernels: tuple[Kernel, ...]
    functions: tuple[Exported, ...]

    @property
    def product(self) -> bool:
        return any(function.split for function in self.functions)


def plan(functions: Sequence[Composed], programs: Mapping[Function, Program]) -> Plan:
    """The plan of these functions. programs: of all called functions, in the order of their first launch."""
    texts = {one: (Text(checked_name(one.name, IN_C, LONG), "", 0, 32, "", 0),) for one in programs}
    kernels = {one: Part(texts[one], program.inputs, program.arrays) for one, program in programs.items()}
    found: list[Exported] = []
    for made in functions:
        arguments = tuple(argument_names(made.inputs, "in")), tuple(argument_names(made.outputs, "out"))
        found.append(Exported(made, parts(made, kernels, 32), *arguments))
    return Plan(tuple(_kernel(program) for program in programs.values()), tuple(found))


def _kernel(program: Program) -> Kernel:
    (low,) = lower(program, 32, UNBOUNDED)
    inputs, outputs = argument_names(program.inputs, "in"), argument_names(program.arrays, "out")
    return Kernel(low, tuple(inputs), tuple(outputs))
