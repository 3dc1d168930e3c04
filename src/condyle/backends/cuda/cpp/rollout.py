"""Rollouts in a header: a kernel with the loop inside, around the repeated function, with a thread for each state."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from condyle.backends.common.facts import Vectors
from condyle.backends.common.forms import Dialect
from condyle.backends.cuda.cpp.plan import Exported
from condyle.backends.cuda.thread_steps import Compute, Flush, Group, Load, Lowered, Put, SinCos, Step, Take, Wait
from condyle.errors import UnsupportedError
from condyle.ir.program import constant_of, input_of, operands
from condyle.text import Emitter


@dataclass(frozen=True, slots=True)
class Rollout:
    """A function of the header, repeated.

    carried: pairs of output and input, by number; by_time: inputs; summed: outputs. equation: for people.
    """

    name: str
    function: Exported
    carried: tuple[tuple[int, int], ...]
    by_time: frozenset[int]
    summed: frozenset[int]
    equation: str

    @property
    def shapes(self) -> list[tuple[str, str]]:
        """Each argument, and its numbers a state as C++ text."""
        inputs = [
            (x, f"steps * {size}" if k in self.by_time else str(size))
            for k, (x, size) in enumerate(self.function.takes)
        ]
        return inputs + [
            (x, str(size) if k in self.summed else f"rows * {size}")
            for k, (x, size) in enumerate(self.function.answers)
        ]


def write_rollout(e: Emitter, rollout: Rollout) -> None:
    """The kernel."""
    of = rollout.function
    e(f"/* {rollout.name}: {rollout.equation}", " * The output X_next of a step is the input X of the next step.")
    e(*(f" * {name}[n][{size.replace(' * ', '][')}]" for name, size in rollout.shapes))
    e(" * Rows: the results of steps number every, 2 every, ... and of the last step, so rows = ceil(steps / every);")
    e(" * with every = 0 only the last step, rows = 1. */")
    arguments = [f"Rows<T> {name}" for name in of.inputs] + [f"T *{name}" for name in of.outputs]
    head = f"{rollout.name}_kernel(size_t n, size_t steps, size_t every, {', '.join(arguments)})"
    with e.block(f"template <typename T>\n__global__ void __launch_bounds__(128) {head}\n{{"):
        e("const size_t k_ = size_t(blockIdx.x) * blockDim.x + threadIdx.x;")
        e("const size_t rows = every == 0 ? 1 : (steps + every - 1) / every;")
        with e.block("if (k_ >= n) {"):
            e("return;")
        for number, (name, size) in enumerate(of.takes):
            if number not in rollout.by_time:
                _each(
                    e,
                    f"T now_{name}_[{max(1, size)}]",
                    size,
                    f"now_{name}_[e_] = {name}.data[k_ * {name}.stride + e_];",
                )
        for number, (name, size) in enumerate(of.answers):
            e(f"T then_{name}_[{max(1, size)}];")
            if number in rollout.summed:
                e(f"T sum_{name}_[{max(1, size)}] = {{}};")
        with e.block("for (size_t t_ = 0; t_ < steps; t_++) {"):
            _write_step(e, rollout)
        for number, (name, size) in enumerate(of.answers):
            if number in rollout.summed:
                _each(e, "", size, f"{name}[k_ * {size} + e_] = sum_{name}_[e_];")
    e("")


def _write_step(e: Emitter, rollout: Rollout) -> None:
    of = rollout.function
    given = [
        f"{name}.data + k_ * {name}.stride + t_ * {size}" if number in rollout.by_time else f"now_{name}_"
        for number, (name, size) in enumerate(of.takes)
    ]
    e(f"{of.name}_inner<T>({', '.join([*given, *(f'then_{name}_' for name in of.outputs)])});")
    kept = [pair for number, pair in enumerate(of.answers) if number not in rollout.summed]
    with e.block("if (t_ + 1 == steps || (every != 0 && (t_ + 1) % every == 0)) {"):
        e("const size_t row_ = k_ * rows + (every == 0 ? 0 : t_ / every);", "(void)row_;")
        for name, size in kept:
            _each(e, "", size, f"{name}[row_ * {size} + e_] = then_{name}_[e_];")
    for output, taken in rollout.carried:
        name, size = of.takes[taken]
        _each(e, "", size, f"now_{name}_[e_] = then_{of.outputs[output]}_[e_];")
    for number, (name, size) in enumerate(of.answers):
        if number in rollout.summed:
            _each(e, "", size, f"sum_{name}_[e_] += then_{name}_[e_];")


def _each(e: Emitter, declared: str, size: int, line: str) -> None:
    if declared:
        e(f"{declared};")
    if size:
        with e.block(f"for (int e_ = 0; e_ < {size}; e_++) {{"):
            e(line)


def write_rollout_launch(e: Emitter, rollout: Rollout) -> None:
    """Writes the launch on arrays in device memory."""
    of = rollout.function
    arguments = [f"Rows<T> {name}" for name in of.inputs] + [f"T *{name}" for name in of.outputs]
    head = ", ".join(["size_t n, size_t steps, size_t every", *arguments, "cudaStream_t stream = 0"])
    e("/* Arrays in device memory, outputs without gaps between rows. Asynchronous. */", "template <typename T>")
    with e.block(f"cudaError_t {rollout.name}_launch({head})\n{{"):
        with e.block("if (steps == 0) {"):
            e("return cudaErrorInvalidValue;")
        values = ", ".join(["n, steps, every", *of.inputs, *of.outputs])
        e(f"return launch<T>({rollout.name}_kernel<T>, warps_of(n), 0, stream, {values});")
    e("")


def write_rollout_case(e: Emitter, rollout: Rollout, robot: str, case: Vectors) -> None:
    """Writes `run_NAME` of the example: a rollout on states with known results."""
    of, (steps, every) = rollout.function, case.times
    inputs = len(of.inputs)
    names = [name for name, _ in rollout.shapes]
    sizes = [size.replace("steps", str(steps)).replace("rows", str(-(-steps // every))) for _, size in rollout.shapes]
    e("template <typename T>")
    with e.block(f"bool run_{rollout.name}(size_t n)\n{{"):
        e(f"const size_t sizes[] = {{{', '.join(sizes)}}};")
        e(f"const double *const known[] = {{{', '.join(f'{rollout.name}_{name}' for name in names)}}};")
        said = ", ".join(f'"{rollout.name} {name}"' for name in names)
        e(f"const char *const said[] = {{{said}}};")
        allowed = ", ".join(repr(case.tolerance_of(k)) for k in range(len(of.outputs)))
        e(f"const double allowed[] = {{{allowed}}};")
        e(f"T *host[{len(names)}], *device[{len(names)}];", "bool right = true;")
        with e.block(f"for (int k = 0; k < {len(names)}; k++) {{"):
            e("host[k] = device[k] = nullptr;")
            e('right = check(cudaMalloc(&device[k], n * sizes[k] * sizeof(T)), "cudaMalloc") && right;')
            e('right = check(cudaMallocHost(&host[k], n * sizes[k] * sizeof(T)), "cudaMallocHost") && right;')
        with e.block(f"for (int k = 0; k < {inputs} && right; k++) {{"):
            e("fill(host[k], n, known[k], sizes[k]);")
            e(f'right = check({robot}::upload(device[k], host[k], n * sizes[k], cudaStream_t(0)), "upload");')
        values = [f"{{device[{k}], sizes[{k}]}}" for k in range(inputs)]
        values += [f"device[{k}]" for k in range(inputs, len(names))]
        call = f"{robot}::{rollout.name}_launch<T>(n, {steps}, {every}, {', '.join(values)})"
        e(f'right = right && check({call}, "{rollout.name}_launch");')
        with e.block(f"for (int k = {inputs}; k < {len(names)} && right; k++) {{"):
            with e.block("for (size_t e = 0; e < n * sizes[k]; e++) {"):
                e("host[k][e] = T(0);")
            e(f'right = check({robot}::download(host[k], device[k], n * sizes[k], cudaStream_t(0)), "download");')
        e('right = right && check(cudaStreamSynchronize(0), "cudaStreamSynchronize");')
        with e.block(f"for (int k = {inputs}; k < {len(names)} && right; k++) {{"):
            e(f"right = compare(said[k], host[k], n, known[k], sizes[k], allowed[k - {inputs}]);")
        with e.block(f"for (int k = 0; k < {len(names)}; k++) {{"):
            e('right = check(cudaFreeHost(host[k]), "cudaFreeHost") && right;')
            e('right = check(cudaFree(device[k]), "cudaFree") && right;')
        e("return right;")
    e("")


# Steps -> the text of one function for one thread: straight-line CUDA C++ with numbered names.


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
