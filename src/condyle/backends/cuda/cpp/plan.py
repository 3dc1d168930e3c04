"""The contents of a header: kernels, one for each called function, and the launches of every exported function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from condyle.backends.common.facts import IN_C, LONG, argument_names, checked_name
from condyle.backends.cuda import launches
from condyle.backends.cuda.launches import Composed, Part, Parts, Text, parts
from condyle.backends.cuda.lower import lower
from condyle.backends.cuda.target import TARGET
from condyle.backends.cuda.thread_steps import Lowered
from condyle.ir.program import Array, Program
from condyle.specification import Function
from condyle.text import Emitter

ENDLESS = 1 << 30
UNBOUNDED = replace(TARGET, values32=ENDLESS, values64=ENDLESS, trust=1.0, whole_rows=False)
"""The C++ compiler allocates registers; orders are chosen as for PTX."""

PRODUCT = launches.NAME


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
    if _clash([*inputs, *outputs]):
        inputs, outputs = ([f"{way}{k}_" for k in range(len(x))] for way, x in (("in", inputs), ("out", outputs)))
    return Kernel(low, tuple(inputs), tuple(outputs))


_IN_BODIES = re.compile(r"t\d*|(sin|cos|op)(_.*)?|sqrt|floor|rint|sine_cosine|(In|Out)\d+")
"""What bodies call, and what they call their numbers, but for entry 3 of x, which is x3."""


def _clash(names: Sequence[str]) -> bool:
    """Whether a body with these arguments would give one name to two things."""
    return any(map(_IN_BODIES.fullmatch, names)) or any(
        name.startswith(other) and name[len(other) :].isdigit() for name in names for other in names
    )


# The host side of a header: launches on device pointers, buffers in host and device memory, calls with copies.


def buffers(plan: Plan) -> dict[str, int]:
    """{name of a buffer: numbers of a state}, the largest of all functions with an array of that name."""
    sizes: dict[str, int] = {}
    for function in plan.functions:
        for name, size in (*function.takes, *function.answers):
            sizes[name] = max(size, sizes.get(name, 0))
    return sizes


def write_launch(e: Emitter, function: Exported) -> None:
    """Writes the launches of one function, in order in a stream."""
    name = function.name
    arguments = [f"Rows<T> {given}" for given in function.inputs] + [f"T *{given}" for given in function.outputs]
    if function.composed:
        e(f"/* `scratch` has n * {name.upper()}_SCRATCH numbers in device memory. */")
        e(f"inline constexpr size_t {name.upper()}_SCRATCH = {function.scratch};")
        arguments.append("T *scratch")
    e("/* Arrays in device memory, outputs without gaps between rows. Asynchronous. */", "template <typename T>")
    head = ", ".join(["size_t n", *arguments, "cudaStream_t stream = 0"])
    with e.block(f"cudaError_t {name}_launch({head})\n{{"):
        if function.composed and not function.split:
            e("(void)scratch;")
        _write_launches(e, function)
    e("")


def _write_launches(e: Emitter, function: Exported) -> None:
    places, offset = dict[str, str](), 0
    for array in function.parts.scratch:
        places[array.name] = f"own_{array.name}"
        e(f"T *const own_{array.name} = scratch + {offset} * n;")
        offset += array.size
    outputs = dict(zip((array.name for array in function.parts.outputs), function.outputs, strict=True))
    inputs = dict(zip((array.name for array in function.parts.inputs), function.inputs, strict=True))
    made = {**places, **outputs}

    def rows(array: Array) -> str:
        return inputs[array.name] if array.name in inputs else f"Rows<T>{{{made[array.name]}, {array.size}}}"

    calls: list[str] = []
    for part in function.parts.launches:
        kernel, writes = part.texts[0].name, [made[array.name] for array in part.writes]
        if kernel == PRODUCT:
            rights = [made[array.name] for array in part.reads[1:]]
            for k in range(0, len(rights), 2):  # two in a launch; the last of an odd number is computed twice
                last = min(k + 1, len(rights) - 1)
                given = [rows(part.reads[0]), rights[k], rights[last], writes[k], writes[last]]
                kernel = f"product_kernel<T, {part.writes[0].shape[0]}>"
                calls.append(f"launch<T>({kernel}, n, 0, stream, n, {', '.join(given)})")
        else:
            given = [*(rows(array) for array in part.reads), *writes]
            pool = f"{kernel.upper()}_POOL"
            calls.append(f"launch<T>({kernel}_kernel<T>, warps_of(n), {pool}, stream, n, {', '.join(given)})")
    _write_chain(e, calls)
    e("return status;")


def _write_chain(e: Emitter, calls: Sequence[str]) -> None:
    """Writes the calls in order, until one fails."""
    for k, call in enumerate(calls):
        if k == 0:
            e(f"cudaError_t status = {call};")
        else:
            with e.block("if (status == cudaSuccess) {"):
                e(f"status = {call};")


def write_data(e: Emitter, plan: Plan) -> None:
    """Writes the buffers in host and device memory, and their allocation."""
    sizes = buffers(plan)
    scratch = max((function.scratch for function in plan.functions), default=0)
    e("/* Arrays of `capacity` rows, one for each state: h_ in page-locked host memory, d_ in device memory.")
    e(" * Matrices are stored row by row. The comments are the numbers in a row. */")
    e("template <typename T>")
    with e.block("struct Data {", "};"):
        e("size_t capacity;", *(f"T *h_{name}, *d_{name};  // {size}" for name, size in sizes.items()))
        e(f"T *d_scratch;  // {scratch}", "void *host, *device;  // the two allocations")
    e("")
    e("template <typename T>")
    with e.block("void carve_data(Data<T> *data, Carver<T> *host, Carver<T> *device)\n{"):
        for name, size in sizes.items():
            e(f"data->h_{name} = host->take({size} * data->capacity);")
            e(f"data->d_{name} = device->take({size} * data->capacity);")
        e(f"data->d_scratch = device->take({scratch} * data->capacity);")
    e("")
    total = sum(sizes.values()) + scratch
    e(_DATA.replace("TOTAL", str(total)).replace("BUFFERS", str(len(sizes) + 1)))


_DATA = """\
/* Allocates. After an error there is no memory to free, and every pointer is null. Call free_data before
 * a second call. */
template <typename T>
cudaError_t init_data(Data<T> *data, size_t capacity)
{
    *data = Data<T>();
    if (capacity > (size_t(-1) / sizeof(T) - 256 * BUFFERS) / TOTAL) {
        return cudaErrorMemoryAllocation;
    }
    data->capacity = capacity;
    Carver<T> host = {nullptr, 256}, device = {nullptr, 256};
    carve_data(data, &host, &device);
    cudaError_t status = cudaMalloc(&data->device, device.used);
    if (status == cudaSuccess) {
        status = cudaMallocHost(&data->host, host.used);
        if (status != cudaSuccess) {
            cudaFree(data->device);
        }
    }
    if (status != cudaSuccess) {
        *data = Data<T>();
        return status;
    }
    host = {static_cast<unsigned char *>(data->host), 0};
    device = {static_cast<unsigned char *>(data->device), 0};
    carve_data(data, &host, &device);
    return cudaSuccess;
}

/* Waits for the GPU and frees the memory. Returns the first error. Data without memory is left as it is. */
template <typename T>
cudaError_t free_data(Data<T> *data)
{
    const cudaError_t device = cudaFree(data->device), host = cudaFreeHost(data->host);
    *data = Data<T>();
    return device != cudaSuccess ? device : host;
}
"""


def write_calls(e: Emitter, function: Exported) -> None:
    """Writes the calls for the first n states of a Data: without copies, and with copies to the GPU and back."""
    name = function.method
    given = [f"{{data->d_{taken}, {size}}}" for taken, size in function.takes]
    given += [f"data->d_{answer}" for answer, _ in function.answers]
    if function.composed:
        given.append("data->d_scratch")
    head = "(Data<T> *data, size_t n, cudaStream_t stream = 0)"
    e("/* From d_ arrays to d_ arrays. Asynchronous. */", "template <typename T>")
    with e.block(f"cudaError_t {name}_compute_only{head}\n{{"):
        with e.block("if (n > data->capacity) {"):
            e("return cudaErrorInvalidValue;")
        e(f"return {function.name}_launch<T>(n, {', '.join([*given, 'stream'])});")
    e("", "/* From h_ arrays to h_ arrays. Returns when the results are there. */", "template <typename T>")
    with e.block(f"cudaError_t {name}{head}\n{{"):
        with e.block("if (n > data->capacity) {"):
            e("return cudaErrorInvalidValue;")
        calls = [f"upload(data->d_{taken}, data->h_{taken}, n * {size}, stream)" for taken, size in function.takes]
        calls.append(f"{name}_compute_only(data, n, stream)")
        calls += [f"download(data->h_{made}, data->d_{made}, n * {size}, stream)" for made, size in function.answers]
        calls.append("cudaStreamSynchronize(stream)")
        _write_chain(e, calls)
        e("return status;")
    e("")
