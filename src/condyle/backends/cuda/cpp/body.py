"""Steps -> the text of one function for one thread: straight-line CUDA C++ with numbered names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from condyle.backends.common.forms import Dialect
from condyle.backends.cuda.steps import Compute, Flush, Group, Load, Lowered, Put, SinCos, Step, Take, Wait
from condyle.errors import UnsupportedError
from condyle.ir.program import constant_of, input_of, operands
from condyle.text import Emitter

Joints = Mapping[str, Sequence[int]]
"""{input: the joint of each of its entries}, for inputs in joint space."""

DIALECT = Dialect("T(1)", "sqrt", "op_")

UNIT = 4
"""Steps count bytes of float32 numbers; the text counts numbers, of either type."""


def widths(low: Lowered) -> tuple[list[int], list[int]]:
    """The width of the tiles of each input and of each output."""
    groups: list[dict[int, Group]] = [{}, {}]
    for step in low.steps:
        if isinstance(step, (Load, Flush)):
            groups[isinstance(step, Flush)][step.group.array] = step.group
    sizes = len(low.program.inputs), len(low.program.arrays)
    inputs, outputs = (
        [found[k].width if k in found else 1 for k in range(n)] for found, n in zip(groups, sizes, strict=True)
    )
    return inputs, outputs


def number(value: float) -> str:
    """A constant as text that float and double both round; UnsupportedError if it is not finite in float."""
    with np.errstate(over="ignore"):
        if not math.isfinite(np.float32(value)):
            raise UnsupportedError(f"the constant {value} cannot stand in generated code")
    return f"T({value!r})"


class Body:
    """Writes the lines of one function. names: the identifier of each value. inputs, outputs: names of the arrays."""

    def __init__(self, e: Emitter, low: Lowered, inputs: Sequence[str], outputs: Sequence[str], joints: Joints) -> None:
        self.e, self.low, self.nodes = e, low, low.program.nodes
        self.inputs, self.outputs, self.joints = inputs, outputs, joints
        self.names: dict[int, str] = {}
        self.joint = -1

    def write(self) -> None:
        for step in self.low.steps:
            self._step(step)

    def _step(self, step: Step) -> None:
        if isinstance(step, Compute):
            node = self.nodes[step.node]
            names = [self._operand(used) for used in operands(node)]
            self.names[step.node] = f"t{step.node}"
            self.e(f"const T t{step.node} = {DIALECT.spell(node[0], names)};")
        elif isinstance(step, Take):
            self._take(step)
        elif isinstance(step, Put):
            self._put(step)
        elif isinstance(step, SinCos):
            self._sine_cosine(step)
        elif isinstance(step, (Load, Flush)):
            self._staged(step)
        elif isinstance(step, Wait):
            self.e(f"{self.outputs[0]}.wait();")

    def _operand(self, index: int) -> str:
        node = self.nodes[index]
        return number(constant_of(node)) if node[0] == "const" else self.names[index]

    def _take(self, step: Take) -> None:
        if step.node in self.names:
            return
        array, entry = input_of(self.nodes[step.node])
        joints = self.joints.get(self.inputs[array], ())
        if entry < len(joints) and joints[entry] != self.joint:
            self.joint = joints[entry]
            self.e(f"// joint {self.joint}")
        self.names[step.node] = name = f"{self.inputs[array]}{entry}"
        self.e(f"const T {name} = {self.inputs[array]}.get({entry}, {step.offset // UNIT});")

    def _put(self, step: Put) -> None:
        shape = self.low.program.arrays[step.array].shape
        value = "T(0)" if step.node < 0 else self._operand(step.node)
        note = f"  // [{step.entry // shape[1]}][{step.entry % shape[1]}]" if len(shape) == 2 else ""
        self.e(f"{self.outputs[step.array]}.put({step.entry}, {step.offset // UNIT}, {value});{note}")

    def _sine_cosine(self, step: SinCos) -> None:
        found = {"sin": step.sine, "cos": step.cosine}
        wanted = {op: node for op, node in found.items() if node is not None}
        (angle,) = operands(self.nodes[next(iter(wanted.values()))])
        x = self._operand(angle)
        label = f"t{angle}" if self.nodes[angle][0] == "const" else x
        self.names.update({node: f"{op}_{label}" for op, node in wanted.items()})
        if len(wanted) == 2:
            self.e(f"T sin_{label}, cos_{label};", f"sine_cosine({x}, sin_{label}, cos_{label});")
        else:
            (op,) = wanted
            self.e(f"const T {op}_{label} = {op}({x});")

    def _staged(self, step: Load | Flush) -> None:
        group = step.group
        if isinstance(step, Load):
            self.e(f"{self.inputs[group.array]}.load({group.start}, {group.count}, {step.offset // UNIT});")
        elif step.offset < 0:
            self.e(f"{self.outputs[group.array]}.zero({group.start}, {group.count});")
        else:
            self.e(f"{self.outputs[group.array]}.flush({group.start}, {group.count}, {step.offset // UNIT});")
