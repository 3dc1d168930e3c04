"""Runs the kernels of a function on the interpreter, launch after launch, as a GPU would."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle import Contact
from condyle.api import Robot
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.launches import Part, Parts, Text
from condyle.backends.cuda.target import TARGET, Form, Target
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.ir.program import Program
from condyle.model.tree import tree_of
from condyle.specification import Bound
from tests.backends.cuda.interpret import launch, parse
from tests.backends.cuda.memory import Memory
from tests.forces import function_with

Floats = NDArray[np.floating]


@cache
def robot(name: str, floating: bool = False) -> Robot:
    return condyle.load(name, floating_base=floating)


@cache
def compiler(one: Robot, frames: tuple[str, ...] = (), contacts: tuple[Contact, ...] = ()) -> Compiler:
    return Compiler(tree_of(one, Bound(frames, contacts=contacts)), Facts(one.nq, one.nv), {})


@cache
def code(one: Robot, function: str, f_ext: bool) -> Program:
    program = compiler(one).code(function_with(function, f_ext))
    assert isinstance(program, Program)
    return program


@cache
def kernels(
    one: Robot, target: Target = TARGET, frames: tuple[str, ...] = (), contacts: tuple[Contact, ...] = ()
) -> GpuKernels:
    return GpuKernels(compiler(one, frames, contacts), target)


def kernel(one: Robot, function: str, bits: int, f_ext: bool, target: Target) -> Part:
    """One kernel; those of split functions are those of the plain ones."""
    return kernels(one, target).part(function_with(function, f_ext), f"float{bits}", 1)


def on_gpu(one: Robot, function: str, bits: int, f_ext: bool = False, target: Target = TARGET) -> GpuFunction:
    """The function on a GPU of 132 multiprocessors."""
    return GpuFunction(kernels(one, target), function_with(function, f_ext), f"float{bits}", 132)


def made(
    one: Robot,
    function: str,
    bits: int,
    f_ext: bool = False,
    target: Target = TARGET,
    frames: tuple[str, ...] = (),
    contacts: tuple[Contact, ...] = (),
) -> Parts:
    """A thread a state."""
    known, forced = kernels(one, target, frames, contacts), function_with(function, f_ext)
    form = Form(1, known.usual(forced))
    return GpuFunction(known, forced, f"float{bits}", 132).launches(form)


def simulate(
    what: Parts, inputs: Sequence[Floats], block: int = 64, choice: int = 0, before: int = 0, after: int = 0
) -> list[Floats]:
    """The outputs, each (n, size), for inputs (n or 1, size); choice: which text of a part, where it has several.

    before, after: states of the same launches that have no memory and are not computed; the n rows are whole blocks.
    """
    memory, dtype = Memory(), np.dtype(f"f{what.bits // 8}")
    n = max(len(array) for array in inputs)
    addresses: dict[str, int] = {}
    strides: dict[str, int] = {}
    for array, rows in zip(what.inputs, inputs, strict=True):
        addresses[array.name] = memory.adopt(np.ascontiguousarray(rows, dtype).view(np.uint8).reshape(-1))
        strides[array.name] = array.size * dtype.itemsize if len(rows) == n else 0
    for array in (*what.outputs, *what.scratch):
        addresses[array.name] = memory.allocate(n * array.size * dtype.itemsize)
        strides[array.name] = array.size * dtype.itemsize
    shifted = {name: address - before * strides[name] for name, address in addresses.items()}
    for part in what.launches:
        text = part.texts[min(choice, len(part.texts) - 1)]
        run_part(part, text, (before, n, after), block, shifted, strides, memory)
    return [memory.blocks[addresses[array.name]].view(dtype).reshape(n, array.size) for array in what.outputs]


def run_part(
    part: Part,
    text: Text,
    states: tuple[int, int, int],
    block: int,
    addresses: dict[str, int],
    strides: dict[str, int],
    memory: Memory,
) -> None:
    """states: before those that are computed, these, and after them."""
    values = [sum(states), 0]
    for array in part.reads:
        values += [addresses[array.name], strides[array.name]]
    values += [addresses[array.name] for array in part.writes]
    if part.constants:
        values.append(memory.adopt(np.frombuffer(part.constants, np.uint8)))
    values += part.numbers
    block = text.block or block
    start, grid = (text.blocks(number, block) for number in (states[0], states[0] + states[1]))
    launch(parse(text.ptx)[text.name], grid, block, text.shared_bytes(block), values, memory, start=start)
