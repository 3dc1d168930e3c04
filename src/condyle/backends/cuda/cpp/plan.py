"""What a header holds: kernels of one function each, and for every exported function its launches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from condyle.backends.common.describe import argument_names
from condyle.backends.common.facts import checked_name
from condyle.backends.cuda import product
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.parts import Part, Parts, Text, parts
from condyle.backends.cuda.steps import Lowered
from condyle.backends.cuda.target import TARGET
from condyle.ir.program import Array, Program

ENDLESS = 1 << 30
UNBOUNDED = replace(TARGET, values32=ENDLESS, values64=ENDLESS, trust=1.0)
"""The compiler of C++ decides what is in a register; its orders are chosen as those of PTX are."""

PRODUCT = product.NAME


@dataclass(frozen=True, slots=True)
class Kernel:
    """One straight-line function; names of its arguments."""

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
        """Numbers of shared memory a warp."""
        return self.low.pool // 4


@dataclass(frozen=True, slots=True)
class Function:
    """One exported function; names of its arguments and of each launch, "scratch NAME" for what lies in scratch."""

    parts: Parts
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.parts.function

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
        """Numbers of scratch a state."""
        return sum(array.size for array in self.parts.scratch)

    @property
    def split(self) -> bool:
        return len(self.parts.launches) > 1


@dataclass(frozen=True, slots=True)
class Plan:
    """What a header holds: every kernel once, and the launches of each function."""

    kernels: tuple[Kernel, ...]
    functions: tuple[Function, ...]

    @property
    def product(self) -> bool:
        return any(function.split for function in self.functions)


def plan(names: Sequence[str], code: Callable[[str], Program]) -> Plan:
    """Kernels in the order in which they are first launched; code: the Program of any function."""
    needed: dict[str, Program] = {}

    def one(name: str) -> Part:
        program = needed[name] = code(checked_name(name))
        return Part((Text(name, "", 0, 32, "", 0),), program.inputs, program.arrays)

    functions = [parts(name, code, one, 32) for name in dict.fromkeys(names)]
    return Plan(tuple(_kernel(program) for program in needed.values()), tuple(_function(found) for found in functions))


def _kernel(program: Program) -> Kernel:
    (low,) = lower(program, 32, UNBOUNDED)
    return Kernel(low, _named(program.inputs, "in"), _named(program.arrays, "out"))


def _function(found: Parts) -> Function:
    return Function(found, _named(found.inputs, "in"), _named(found.outputs, "out"))


def _named(arrays: Sequence[Array], way: str) -> tuple[str, ...]:
    return tuple(argument_names(arrays, way))
