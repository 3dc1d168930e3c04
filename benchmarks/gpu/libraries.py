"""Calls on arrays of PyTorch, JAX and CuPy, held to target "cpu" and timed, and rollouts beside MJX."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from statistics import median
from typing import Any

import numpy as np

from benchmarks.gpu.arrays import Floats
from benchmarks.gpu.context import Context, Row
from benchmarks.gpu.correct import STEPS, near, on_gpu, robot_of
from benchmarks.gpu.times import WHOLE, Timed, graph_us
from condyle.cli.rivals.mujoco_c import frames, mjcf
from condyle.cli.rivals.numbers import numbers_of
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import repeat

FEW, MANY = 513, 65_536
TOLERANCE, GRADIENT = 1e-9, 1e-8
"""Of answers in float64, and of gradients, whose sums are over many entries."""
DT = 1e-3


def library(name: str) -> Any:
    """A package; UnsupportedError where it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise UnsupportedError(f"{name} is not installed here: {error}") from error


class Case:
    """Forward dynamics of an arm at some states, by target "cpu" and by a GPU."""

    def __init__(self, context: Context, what: str, name: str = "iiwa14", n: int = FEW) -> None:
        self.context, self.what, self.name, robot = context, what, name, robot_of(name)
        rng = np.random.default_rng(0)
        q, v = robot.random_state(n, rng)
        self.inputs: list[Floats] = [q, v, rng.normal(size=v.shape)]
        self.cpu, self.gpu = robot.compile(target="cpu"), on_gpu(robot, "float64")
        self.wanted = self.cpu.forward_dynamics(*self.inputs)

    def check(self, function: str, work: Callable[[], Any], wanted: Any = None, tolerance: float = TOLERANCE) -> None:
        key = {"what": self.what, "robot": self.name, "dtype": "float64", "function": function}
        exact = self.wanted if wanted is None else wanted
        self.context.check(key, lambda: near([work()], [exact], tolerance), may_lack=True)

    def time(self, call: Callable[[Any, list[Floats]], float]) -> None:
        """Microseconds of a call of `dyn` with many states in float32, beside the kernel alone."""
        key = {"what": self.what, "robot": self.name, "dtype": "float32", "function": "fd", "n": MANY}

        def work() -> Row:
            timed = Timed(self.name, self.context.gpu, WHOLE)
            inputs = timed.inputs("fd", MANY)
            us, kernel = call(timed.dyn, inputs), timed.kernel_us("fd", MANY)
            return {"us": us, "kernel_us": kernel, "ratio": us / kernel, "goal_ratio": 1.1}

        self.context.check(key, work, may_lack=True)


def rounds(call: Callable[[], Any], wait: Callable[[], Any], count: int = 100) -> float:
    """Microseconds of a call, of many that are waited for together: the median of some rounds."""
    call()
    wait()
    times: list[float] = []
    for _ in range(5):
        begin = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        times.append(1e6 * (time.perf_counter() - begin) / count)
    return median(times)


def pytorch(context: Context) -> None:
    """The default stream, one of PyTorch's, a graph, gradients."""
    case = Case(context, "PyTorch")

    def tensors(grad: bool = False, arrays: list[Floats] = case.inputs) -> list[Any]:
        return [library("torch").from_numpy(x).cuda().requires_grad_(grad) for x in arrays]

    def plain() -> Any:
        return case.gpu.forward_dynamics(*tensors()).numpy()  # type: ignore[union-attr]

    def other_stream() -> Any:
        torch, inputs = library("torch"), tensors()
        torch.cuda.synchronize()
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            moved = [x * 1.0 for x in inputs]
            answer = torch.from_dlpack(case.gpu.on(stream).forward_dynamics(*moved)) * 2.0
        stream.synchronize()
        return answer.cpu() / 2.0

    def graph() -> Any:
        torch, inputs = library("torch"), tensors()
        out, stream = torch.full_like(inputs[1], float("nan")), torch.cuda.Stream()
        on = case.gpu.on(stream)
        torch.cuda.synchronize()
        on.forward_dynamics(*inputs, out=out)
        torch.cuda.synchronize()
        recorded = torch.cuda.CUDAGraph()
        with torch.cuda.graph(recorded, stream=stream):
            on.forward_dynamics(*inputs, out=out)
        out.fill_(float("nan"))
        recorded.replay()
        torch.cuda.synchronize()
        return out.cpu()

    def gradients() -> Any:
        inputs = tensors(grad=True)
        import_module("condyle.interop.torch").wrap(case.gpu).forward_dynamics(*inputs).square().sum().backward()
        return np.concatenate([x.grad.cpu().numpy() for x in inputs], axis=-1)

    case.check("default stream", plain)
    case.check("another stream", other_stream)
    case.check("graph", graph)
    by = case.cpu.forward_dynamics_derivatives(*case.inputs)
    wanted = np.concatenate([2.0 * np.einsum("nij,ni->nj", D, case.wanted) for D in by], axis=-1)
    case.check("gradients", gradients, wanted, GRADIENT)

    def timed(dyn: Any, inputs: list[Floats]) -> float:
        torch = library("torch")
        there, far = tensors(arrays=inputs), import_module("condyle.interop.torch").wrap(dyn)
        return rounds(lambda: far.forward_dynamics(*there), torch.cuda.synchronize)

    case.time(timed)


def jax(context: Context) -> None:
    """jit, a gradient, a loop of calls inside a program."""
    case = Case(context, "JAX")
    q, v, tau = case.inputs

    def far(dyn: Any = case.gpu) -> tuple[Any, Any]:
        jax = library("jax")
        jax.config.update("jax_enable_x64", True)
        return jax, import_module("condyle.interop.jax").wrap(dyn)

    def jitted() -> Any:
        jax, wrapped = far()
        return jax.jit(wrapped.forward_dynamics)(q, v, tau)

    def gradient() -> Any:
        jax, wrapped = far()
        return jax.jit(jax.grad(lambda x: (wrapped.forward_dynamics(q, x, tau) ** 2).sum()))(v)

    def scanned() -> Any:
        jax, wrapped = far()

        def run(begin: Any) -> Any:
            step = lambda x, _: (x + DT * wrapped.forward_dynamics(q, x, tau), None)  # noqa: E731
            return jax.lax.scan(step, begin, None, length=20)[0]

        return jax.jit(run)(v)

    case.check("jit", jitted)
    by_v = case.cpu.forward_dynamics_derivatives(q, v, tau)[1]
    case.check("gradient", gradient, 2.0 * np.einsum("nij,ni->nj", by_v, case.wanted), GRADIENT)
    x = v
    for _ in range(20):
        x = x + DT * case.cpu.forward_dynamics(q, x, tau)
    case.check("scan", scanned, x, GRADIENT)

    def timed(dyn: Any, inputs: list[Floats]) -> float:
        jax, wrapped = far(dyn)
        call, there = jax.jit(wrapped.forward_dynamics), [jax.numpy.asarray(x) for x in inputs]
        return rounds(lambda: call(*there), lambda: call(*there).block_until_ready())

    case.time(timed)


def cupy(context: Context) -> None:
    """Arrays and a stream of CuPy, read and written in place."""
    case = Case(context, "CuPy")

    def plain() -> Any:
        cp = library("cupy")
        return cp.asnumpy(cp.from_dlpack(case.gpu.forward_dynamics(*map(cp.asarray, case.inputs))))

    def written() -> Any:
        cp = library("cupy")
        inputs, out = [cp.asarray(x) for x in case.inputs], cp.full(case.wanted.shape, np.nan)
        cp.cuda.Device().synchronize()
        stream = cp.cuda.Stream(non_blocking=True)
        case.gpu.on(stream).forward_dynamics(*inputs, out=out)
        stream.synchronize()
        return cp.asnumpy(out)

    def timed(dyn: Any, inputs: list[Floats]) -> float:
        cp = library("cupy")
        there, out, stream = [cp.asarray(x) for x in inputs], cp.empty_like(cp.asarray(inputs[1])), cp.cuda.Stream()
        on = dyn.on(stream)
        return rounds(lambda: on.forward_dynamics(*there, out=out), stream.synchronize)

    case.check("from_dlpack", plain)
    case.check("a stream and out", written)
    case.time(timed)


def mjx(context: Context, robots: tuple[str, ...] = ("panda", "hyq-floating"), n: int = 8192) -> None:
    """Rollouts by torques in float32, the last state kept: ours, and MJX in one program with its loop inside.

    Contacts, constraints and passive forces of MuJoCo are off. The last velocities are compared.
    """
    for name in robots:
        key = {"what": "rollout beside MJX", "robot": name, "dtype": "float32", "n": n, "steps": STEPS}
        context.check(key, lambda name=name: beside_mjx(context, name, n), may_lack=True)


def beside_mjx(context: Context, name: str, n: int) -> Row:
    """Million steps a second of both, and how far the last velocities are apart, of the largest of each robot."""
    jax, mujoco, module = library("jax"), library("mujoco"), library("mujoco.mjx")
    robot, rounded = robot_of(name), np.float32
    q, v = robot.random_state(n, 0)
    tau, dyn, maps = 0.1 * np.ones_like(v), on_gpu(robot, "float32"), frames(robot, q, v)
    inputs = [rounded(x) for x in (q, v, tau, np.full(1, DT))]
    function = repeat(FUNCTIONS["step"], STEPS, (), last=True)
    ours, us = dyn.call(function, inputs), graph_us(context.gpu, dyn, function, inputs, replace(WHOLE, launches=3))
    model = mujoco.MjModel.from_xml_string(mjcf(numbers_of(robot, "MuJoCo")))
    model.opt.timestep = DT
    model = module.put_model(model)
    data = module.make_data(model)

    def run(q: Any, v: Any, tau: Any) -> Any:
        begin = data.replace(qpos=q, qvel=v, qfrc_applied=tau)
        return jax.lax.scan(lambda d, _: (module.step(model, d), None), begin, None, length=STEPS)[0].qvel

    call = jax.jit(jax.vmap(run))
    turned = (maps.q, *(np.einsum("nij,nj->ni", maps.T, x) for x in (v, tau)))
    there = [jax.numpy.asarray(rounded(x)) for x in turned]
    theirs = np.asarray(call(*there))
    other = rounds(lambda: call(*there), lambda: call(*there).block_until_ready(), 3)
    row: Row = {"us": us, "mjx_us": other, "million_s": n * STEPS / us, "ratio": other / us}
    if robot.nq == robot.nv:  # velocities of free bodies are in other axes
        row["differs"] = float(np.abs(theirs - ours[1]).max() / np.abs(ours[1]).max())
    return row
