"""Times of kernels with arrays on a GPU, beside lower bounds and goals.

Microseconds a batch: "us" and "again": means of the calls in a graph, each the median of some launches of it; their
difference is the noise. "floor_us": the most of instructions over the peak rate, bytes over the bandwidth of a copy
measured here, and code over what a multiprocessor can fetch. Inputs and outputs of following calls are others, of
"rotated_mb" together. "pinned_us", "staged_us": whole calls with `dyn.pinned`, and with ordinary NumPy arrays.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

import condyle
from benchmarks import gpu_time, steps_common, steps_ground
from benchmarks.gpu.arrays import upload
from benchmarks.gpu.context import Context, Row, card
from benchmarks.gpu.correct import STEPS, on_gpu, robot_of
from benchmarks.gpu_time import Machine
from benchmarks.robots import Case
from condyle.backends.cuda.kernel import CudaFunction, CudaKernel
from condyle.calls.gpu import GpuDynamics
from condyle.cli.bound import Sampling
from condyle.cli.states import draw
from condyle.compile.gpu import GpuFunction
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS, function_of
from condyle.functions.repeat import repeat
from condyle.ir.count import instructions
from condyle.runtime.cuda.driver import Gpu
from condyle.specification import Function

CASES = {"iiwa14": ("id", "fd", "minv", "did", "dfd"), "hyq": ("id", "dfd"), "atlas": ("id", "fd", "did", "dfd")}
FORMS = {
    "float32": ("thread", "group32", "group16", "group8", "thread split", "group32 split"),
    "float64": ("thread", "group32"),
}
SPLIT = ("dfd", "difd")
SIZES = (1, 16, 128, 256, 1024, 4096, 16_384, 65_536, 1 << 20)
MOST_OF_GROUPS = 65_536
ROTATED, SETS = 150 << 20, 32
"""Bytes of inputs and outputs that are used in turn, three times the second cache of an H200; the most sets of them."""
MOST_BYTES = 20 << 30
STATES = 1 << 22
"""Of a graph, in all calls together."""
PACKAGES = ("condyle", "numpy", "cuda-bindings", "nvidia-nvjitlink", "torch", "jax", "cupy-cuda13x", "mujoco-mjx")
GOALS = {
    ("iiwa14", "id", 1 << 20): 18e3, ("iiwa14", "fd", 1 << 20): 12e3, ("iiwa14", "dfd", 1 << 20): 3e3,
    ("hyq", "dfd", 1 << 20): 1.2e3, ("atlas", "fd", 1 << 20): 2.5e3, ("atlas", "dfd", 1 << 20): 150.0,
    ("iiwa14", "id", 65_536): 10e3, ("iiwa14", "fd", 65_536): 8e3,
}  # fmt: skip
"""Million states a second in float32 that we want of an H100 or H200 at least."""
CHAINS = ("1024", "128", "32", "hyq-floating", "atlas")
ROLLED = {"panda with cost": 1500.0, "hyq on the ground": 500.0}
"""Million steps a second that we want."""
CALL_US = 12.0
"""Microseconds that a call with out= may cost the processor."""


@dataclass(frozen=True)
class Plan:
    """How much is timed."""

    sizes: Sequence[int] = SIZES
    launches: int = 100
    repeats: int = 5
    copied: int = 1 << 30
    cases: Mapping[str, Sequence[str]] = field(default_factory=lambda: CASES)


WHOLE = Plan()


@dataclass(frozen=True)
class Timed:
    """Functions of a robot on a GPU. options: of `compile`."""

    name: str
    gpu: Gpu
    plan: Plan
    dtype: str = "float32"
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @cached_property
    def robot(self) -> condyle.Robot:
        return robot_of(self.name)

    @cached_property
    def dyn(self) -> GpuDynamics:
        return on_gpu(self.robot, self.dtype, **self.options)

    def sized(self, function: str, n: int) -> CudaKernel:
        """What runs n states."""
        chosen = self.dyn.kernel(function_of(function))
        assert isinstance(chosen, CudaFunction)
        return chosen.kernel(n)

    def automatic(self, function: str) -> GpuFunction:
        """It knows the form that would be chosen if none were named."""
        compiler = self.dyn._compiler
        return GpuFunction(compiler.gpu_kernels, function_of(function), self.dtype, self.gpu.multiprocessors)

    def inputs(self, function: str, n: int) -> list[np.ndarray]:
        """Of n states, of which up to 1024 are different."""
        called = FUNCTIONS[function]
        few = draw(self.robot, min(n, 1024), self.dtype, (called,)).arguments(called)
        return [np.resize(array, (n, *array.shape[1:])) for array in few]

    def kernel_us(self, function: str, n: int, sets: int = 1) -> float:
        plan = replace(self.plan, launches=max(2, min(self.plan.launches, STATES // n)))
        return graph_us(self.gpu, self.dyn, function_of(function), self.inputs(function, n), plan, sets)

    def row(self, function: str, n: int, machine: Machine) -> Row:
        """One function of n states."""
        kernel = self.sized(function, n)
        size, code = n * (kernel.sizes.inputs + kernel.sizes.outputs), gpu_time.code_bytes(kernel)
        about: Row = {"n": n}
        if kernel.sizes.resident(n) > MOST_BYTES:
            return {**about, "left_out": f"takes {kernel.sizes.resident(n) >> 20} MiB"}
        sets = max(1, min(SETS, self.plan.launches, -(-ROTATED // size)))
        us, again = (self.kernel_us(function, n, sets) for _ in range(2))
        operations = n * instructions(self.dyn._compiler.code(FUNCTIONS[function]))
        floors = machine.floor_us(operations, size, code, self.dtype)
        about |= {"us": us, "again": again, "million_s": n / us, "gb_s": 1e-3 * size / us}
        about |= {"floor_us": max(floors.values()), "floor_is": max(floors, key=floors.__getitem__)}
        about |= {"kernels": len(kernel.launches), "code_bytes": code, "rotated_mb": 1e-6 * sets * size}
        goal = GOALS.get((self.name, function, n)) if self.dtype == "float32" else None
        return about if goal is None else {**about, "goal_million_s": goal}

    def whole_calls(self, function: str, n: int) -> Row:
        """With arrays of the processor, beside the copies alone."""
        host, sizes, repeats = self.inputs(function, n), self.sized(function, n).sizes, self.plan.repeats
        arrays = self.dyn.pinned(function, n)
        k = len(host)
        for pinned, array in zip(arrays[:k], host, strict=True):
            pinned[...] = array
        out = arrays[k] if len(arrays) == k + 1 else arrays[k:]
        return {
            "copies_us": gpu_time.copies_alone(self.gpu, n * sizes.inputs, n * sizes.outputs, repeats),
            "pinned_us": gpu_time.on_host(lambda: self.dyn.call(function, arrays[:k], out), repeats),
            "staged_us": gpu_time.on_host(lambda: self.dyn.call(function, host), repeats),
        }

    def host_us(self, function: str, n: int) -> Row:
        """Microseconds of the processor of a call with arrays on the GPU, with out= and without."""
        ((arrays, answers),) = placed(self.gpu, self.dyn, function_of(function), self.inputs(function, n), 1)
        with self.gpu.current(), gpu_time.own_stream(self.gpu) as stream:
            on, us = self.dyn.on(stream), dict[str, float]()
            for word, out in (("out_us", answers), ("new_us", None)):
                times: list[float] = []
                for _ in range(self.plan.repeats + 1):  # the first is to warm up
                    begin = time.perf_counter()
                    for _ in range(self.plan.launches):
                        on.call(function, arrays, out)  # type: ignore[arg-type]
                    times.append(1e6 * (time.perf_counter() - begin) / self.plan.launches)
                    self.gpu.driver("cuStreamSynchronize", stream)
                us[word] = min(times[1:])
        return us


def placed(gpu: Gpu, dyn: GpuDynamics, function: Function, host: Sequence[Any], sets: int) -> list[tuple[Any, Any]]:
    """Sets of inputs on the GPU, and of answers, which were computed once."""
    with gpu.current():
        inputs: list[Any] = [[upload(gpu, array) for array in host] for _ in range(sets)]
        sets_there = [(arrays, dyn.call(function, arrays)) for arrays in inputs]
        gpu.driver("cuStreamSynchronize", 0)
    return sets_there


def graph_us(gpu: Gpu, dyn: GpuDynamics, function: Function, host: Sequence[Any], plan: Plan, sets: int = 1) -> float:
    """Microseconds of a call with arrays on the GPU, of several in a graph that take the sets of arrays in turn."""
    turn = itertools.cycle(placed(gpu, dyn, function, host, sets))

    def work(stream: int) -> None:
        arrays, answers = next(turn)
        dyn.on(stream).call(function, arrays, answers if len(answers) > 1 else answers[0])

    return gpu_time.in_graph(gpu, work, plan.launches, plan.repeats)


def start(context: Context, plan: Plan = WHOLE) -> None:
    """What the machine can do, and the packages on it."""
    machine = machine_of(context.gpu, plan)
    rates = {"copy_gb_s": machine.bandwidth / 1e9, "empty_kernel_us": gpu_time.empty_kernel(context.gpu, plan.launches)}
    context.say({"what": "machine", **rates, "versions": {name: _version(name) for name in PACKAGES}})


def machine_of(gpu: Gpu, plan: Plan) -> Machine:
    with gpu.current():
        return Machine.of(gpu, plan.copied)


def forms(context: Context, name: str, dtype: str, plan: Plan = WHOLE) -> None:
    """Every form and size of the functions of a robot that matter; large batches first. "auto": the form it chooses."""
    machine = machine_of(context.gpu, plan)
    for function, form in itertools.product(plan.cases[name], FORMS[dtype]):
        if "split" in form and function not in SPLIT:
            continue
        timed = Timed(name, context.gpu, plan, dtype, {"kernels": {function: form}})
        about = {"what": "kernel", "robot": name, "dtype": dtype, "function": function, "form": form}
        try:
            timed.sized(function, 1)
        except UnsupportedError as error:
            context.say({**about, "left_out": str(error)[:200]})
            continue
        for n in sorted(plan.sizes, reverse=True):
            if not form.startswith("group") or n <= MOST_OF_GROUPS:
                auto = str(timed.automatic(function).form(n))
                with context.alone():
                    row = timed.row(function, n, machine)
                    clocks = card(context.gpu) if n == max(plan.sizes) else {}  # while it is warm
                context.say({**about, "auto": auto, **row, **clocks})


def calls(
    context: Context,
    plan: Plan = WHOLE,
    sizes: Sequence[int] = (256, 65_536),
    subject: tuple[str, Sequence[str]] = ("iiwa14", ("id", "dfd")),
) -> None:
    """What a call costs the processor, and whole calls with arrays of the processor. subject: a robot and functions."""
    timed = Timed(subject[0], context.gpu, plan)
    for function, n in itertools.product(subject[1], sizes):
        about = {"what": "call", "robot": subject[0], "dtype": "float32", "function": function, "n": n}
        timed.sized(function, n)
        with context.alone():
            row = {**about, **timed.host_us(function, n), "goal_out_us": CALL_US}
            context.say({**row, **timed.whole_calls(function, n)})


def links(context: Context, plan: Plan = WHOLE, robots: Sequence[str] = CHAINS) -> None:
    """One state of a long chain with its links in parallel, beside one core of the processor."""
    for name, function in itertools.product(robots, DEFAULT):
        timed = Timed(name, context.gpu, plan, options={"links": "scan"})
        core = timed.robot.compile(target="cpu", links="auto", dtype="float32", threads=1).function(function)
        host, _ = timed.inputs(function, 1), timed.sized(function, 1)
        with context.alone():
            us = timed.kernel_us(function, 1)
            cpu = gpu_time.on_host(lambda core=core, host=host: core(*host), plan.launches)
        about = {"what": "links", "robot": name, "dtype": "float32", "function": function, "n": 1}
        context.say(
            {**about, "us": us, "cpu_us": cpu, "ratio": cpu / us, "goal_ratio": 5.0 if name == CHAINS[0] else 0.0}
        )


def rollouts(context: Context, plan: Plan = WHOLE, n: int = 65_536) -> None:
    """Rollouts of which the last state is kept: a panda with its cost inside, a quadruped on the smooth ground."""
    arm, legs = robot_of("panda"), steps_common.Plan(Case("hyq-floating", "hyq", True), Sampling())
    q, v = arm.random_state(min(n, 1024), 0)
    tau = np.random.default_rng(1).uniform(-1.0, 1.0, (len(q), STEPS, arm.nv))
    with_cost = arm.function(tracked, inputs={"q": "nq", "v": "nv", "tau": arm.nv, "dt": ()})
    on_ground = steps_ground.PLANE.step(legs.robot)
    for name, step, summed, arrays in (
        ("panda with cost", with_cost, ("cost",), (q, v, tau)),
        ("hyq on the ground", on_ground, (), steps_ground.standing(legs)),
    ):
        dyn: Any = step.compile("cuda", "float32").dynamics
        function = repeat(step.specification, STEPS, ("tau",), last=True, summed=summed)
        host = [np.resize(x, (n, *x.shape[1:])).astype("float32") for x in arrays]
        dyn.kernel(function).kernel(n)
        with context.alone():
            us = graph_us(context.gpu, dyn, function, [*host, np.full(1, 1e-3, "float32")], replace(plan, launches=3))
        row = {"what": "rollout", "robot": name, "dtype": "float32", "n": n, "steps": STEPS, "us": us}
        context.say({**row, "million_s": n * STEPS / us, "goal_million_s": ROLLED[name]})


def tracked(at: Any, tau: Any, dt: Any) -> dict[str, Any]:
    """A step, and a quadratic cost of state and torques."""
    after = at.step(tau, dt)
    cost = (at.q**2).sum() + 0.1 * (at.v**2).sum() + 1e-3 * (tau**2).sum()
    return {"q": after.q, "v": after.v, "cost": cost}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
