"""Whether a GPU computes what target "cpu" does: every function, robot, base, number type and form.

Arrays lie between guards at odd addresses, and all bits of answers are 1 before the call. Rows of the same state must
have the same bits in every form and in a batch of any size.
"""

from __future__ import annotations

import hashlib
import math
import re
import shutil
import subprocess
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from benchmarks import results
from benchmarks.gpu.arrays import PERIOD, Floats, Reference, called, hash_of, hold_rows
from benchmarks.gpu.context import Context, Row
from benchmarks.gpu.prepare import TRAVELS
from benchmarks.robots import FINGERS
from condyle.backends.cuda.kernel import CudaFunction
from condyle.calls.gpu import GpuDynamics
from condyle.cli import main as command
from condyle.cli.bound import contacts_of, frames_of
from condyle.cli.check import solvable, weak
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS, function_of
from condyle.specification import Function
from condyle.specification.ports import F_EXT

ROBOTS = tuple(f"{name}{base}" for name in ("atlas", "tree", "hyq", "iiwa14") for base in ("-floating", ""))
DTYPES = ("float32", "float64")
THREAD, AUTO = "thread", "auto"
FORMS = (THREAD, "group32", AUTO, "group16", "group8", "group4", "group2")
OF_ALL = (THREAD, "group32", AUTO)
PARTITIONS = {
    "dfd": ("thread split", "thread fused", "group8 split", "group32 fused", "group16 completely-fused"),
    "difd": ("thread split", "group4 split", "group32 completely-fused"),
}
DERIVATIVES, ON_CONTACTS = ("vjp_fd", "jvp_fd", "vjp_step"), ("step_active", "dstep_active")
OTHERS = (*(name for name in FUNCTIONS if name not in DEFAULT), *DERIVATIVES, *ON_CONTACTS)
STEPS = 50
MOST_BYTES = 1 << 30
"""Of answers; larger batches are left out."""
NOT_AGAIN = "every_form or named_forms or reference or sanitizer or rollouts"
"""Tests of a GPU that do what the parts here do."""


@dataclass(frozen=True)
class Amount:
    """How much of a robot is checked. forms: of the functions of DEFAULT; all others have those of `of_all`.

    few: numbers of states of forms but thread and auto. names: of functions, by default all.
    """

    forms: Sequence[str] = FORMS
    of_all: Sequence[str] = OF_ALL
    few: Sequence[int] = (1, 33, 300)
    many: Sequence[int] = (1, 31, 33, 300, 4099, 65_537)
    names: Sequence[str] | None = None
    partitions: Mapping[str, Sequence[str]] = field(default_factory=lambda: PARTITIONS)


def robot_of(name: str) -> condyle.Robot:
    """A bundled robot, "tree" (of all types of joints) or a number (a chain of so many links), and "-floating"."""
    plain, floating = name.removesuffix("-floating"), name.endswith("-floating")
    if plain.isdigit():
        return condyle.chain(int(plain), rng=1)
    if plain == "tree":
        return condyle.random_tree(12, 58, floating_base=floating)
    robot = condyle.load(plain, floating_base=floating)
    return robot.lock(FINGERS) if plain == "panda" else robot


@dataclass
class Case:
    """A robot with the frame and the contact at its tip, its functions, and what they should answer."""

    name: str
    names: Sequence[str] | None = None
    robot: condyle.Robot = field(init=False)
    frames: tuple[str, ...] = field(init=False)
    contacts: tuple[condyle.Contact, ...] = field(init=False)
    functions: list[Function] = field(init=False)
    reference: Reference = field(init=False)

    def __post_init__(self) -> None:
        self.robot = robot_of(self.name)
        nothing = Namespace(frames=(), contacts=())
        self.frames, self.contacts = frames_of(self.robot, nothing), contacts_of(self.robot, nothing)
        if self.contacts and weak(self.robot, self.contacts).all():
            self.contacts = ()
        there = [function for function in FUNCTIONS.values() if not function.needs.drives]
        named = [function for function in there if self.contacts or "contacts" not in function.options]
        named += map(function_of, (*DERIVATIVES, *(ON_CONTACTS if self.contacts else ())))
        every = solvable(self.robot, named)  # inputs are drawn for all, so that they are the same whatever is named
        self.functions = [function for function in every if self.names is None or function.name in self.names]
        self.reference = Reference(self.robot, PERIOD, every, self.frames, self.contacts)
        self.reference.load(TRAVELS / "reference" / f"{self.name}.npz")

    def compiled(self, dtype: str, **options: Any) -> GpuDynamics:
        return on_gpu(self.robot, dtype, frames=self.frames, contacts=self.contacts, **options)


def on_gpu(robot: condyle.Robot, dtype: str, **options: Any) -> GpuDynamics:
    dyn = robot.compile(target="cuda", dtype=dtype, **options)
    assert isinstance(dyn, GpuDynamics)
    return dyn


def functions(context: Context, name: str, dtype: str, amount: Amount = Amount()) -> None:
    """Functions of a robot in one number type, by worth; forms of one function must give the same bits."""
    case, bits = Case(name, amount.names), dict[str, list[Floats]]()
    kernels, dyn = None, None
    for function, form, words in variants(case, amount):
        if form == AUTO and context.without_gpu:  # its kernels are those of the others
            continue
        if dyn is None or words != kernels:
            kernels, dyn = words, case.compiled(dtype, kernels=words)
        usual, is_forced = form in (THREAD, AUTO), function.has_forces
        sizes = (1,) if context.without_gpu else amount.many if usual and not is_forced else amount.few
        reference = case.reference
        if is_forced:
            reference = Reference(case.robot, PERIOD, (function,), case.frames, case.contacts)
        said = f"{function.without_forces} f_ext" if is_forced else str(function)
        key = {"what": "function", "robot": name, "dtype": dtype, "function": said, "form": form}
        work = Compared(context, reference, dyn, function, sizes, {} if is_forced else bits)
        context.check(key, work, may_lack=not usual or function.without_forces.name not in DEFAULT)


def variants(case: Case, amount: Amount) -> Iterator[tuple[Function, str, str | dict[str, str]]]:
    """Each function in each form, and the `kernels` to compile for."""

    def in_forms(forms: Iterable[str]) -> Iterator[tuple[Function, str, str]]:
        for form in forms:
            for function in case.functions:
                if function.name in DEFAULT or form in amount.of_all:
                    yield function, form, form

    yield from in_forms(form for form in amount.forms if form in amount.of_all)
    for function in case.functions:
        if function.name in DEFAULT and function.taking(F_EXT).has_forces:
            yield function.taking(F_EXT), THREAD, THREAD
    for word, forms in amount.partitions.items():
        for form in forms if word in map(str, case.functions) else ():
            yield FUNCTIONS[word], form, {word: form}
    yield from in_forms(form for form in amount.forms if form not in amount.of_all)


@dataclass
class Compared:
    """One function in one form, for several numbers of states. bits: first rows of other forms, by function."""

    context: Context
    reference: Reference
    dyn: GpuDynamics
    function: Function
    sizes: Sequence[int]
    bits: dict[str, list[Floats]]

    def __call__(self) -> Row:
        reference, worst, limit, few = self.reference, 0.0, 0.0, list[Floats]()
        state = self.dyn.dtype.itemsize * sum(map(math.prod, reference.shapes(self.function, 1)))
        sizes = [n for n in self.sizes if n * state <= MOST_BYTES]
        for n in sizes:
            answers = reference.in_place(self.dyn, self.context.gpu, self.function, n)
            for array in answers:
                hold_rows(array)
            few = [array[:PERIOD].copy() for array in answers]
            error, limit = reference.limits(self.function, few)
            assert error <= limit, f"{n} states: error {error:.1e}, allowed {limit:.1e}"
            worst = max(worst, error)
            name = f"{self.function.name} in {launches(self.dyn, self.function, n)}"  # sums have other orders
            before = self.bits.get(name, few)
            for a, b in zip(few, before, strict=True):
                rows = min(len(a), len(b))
                assert np.array_equal(a[:rows], b[:rows]), f"{n} states: other bits than in another form or batch"
            if len(few[0]) >= len(before[0]):
                self.bits[name] = few
        answers = {"answers": hash_of(few), "inputs": reference.hash_of_inputs()}
        return {"sizes": sizes, "error": worst, "allowed": limit, **answers}


def launches(dyn: GpuDynamics, function: Function, n: int) -> int:
    """Of how many kernels a call with n states is."""
    kernel = dyn.kernel(function)
    assert isinstance(kernel, CudaFunction)
    return len(kernel.kernel(n).launches)


def near(answers: Sequence[Any], wanted: Sequence[Any], allowed: float) -> Row:
    """The worst difference relative to the largest entry of each answer; AssertionError if it is more than allowed."""
    arrays = [np.asarray(x) for x in answers]
    errors = [
        float(np.abs(x - y).max() / max(1.0, float(np.abs(y).max())))
        for x, y in zip(arrays, map(np.asarray, wanted), strict=True)
    ]
    error = float(np.max(errors))  # unlike max, keeps NaN
    assert error <= allowed, f"error {error:.1e}, allowed {allowed:.1e}"
    return {"error": error, "allowed": allowed, "answers": hash_of(arrays)}


def growing(dtype: str, steps: int = STEPS) -> float:
    """Roundings of steps, each of which later steps may make 100 times as large."""
    return 100.0 * steps * float(np.finfo(dtype).eps)


def rollouts(
    context: Context, dtype: str, robots: Sequence[str] = ("iiwa14", "hyq-floating", "tree"), n: int = 1000
) -> None:
    """The loop over time inside the kernel, beside that of target "cpu"; then the derivatives of one."""
    for name in robots:
        robot, rng = robot_of(name), np.random.default_rng(3)
        q, v = robot.random_state(n, rng)
        tau = rng.uniform(-1, 1, (n, STEPS, robot.nv))
        bars = [rng.normal(size=(n, robot.nv)) for _ in range(2)]
        rolled = Rolled(context, robot, dtype, [x.astype("float32") for x in (q, v, tau, np.full(n, 1e-3), *bars)])
        for kept, axis in (("", (STEPS,)), ("_every_3", (-(-STEPS // 3),)), ("_last", ())):
            function = f"rollout_{STEPS}_by_tau{kept}_of_step"
            key = {"what": "rollout", "robot": name, "dtype": dtype, "function": function, "form": AUTO}
            context.check(key, partial(rolled.forwards, function, axis))
        if name == robots[0]:
            function = f"vjp_rollout_{STEPS}_by_tau_last_of_step"
            key = {"what": "rollout", "robot": name, "dtype": dtype, "function": function, "form": AUTO}
            context.check(key, partial(rolled.back, function))


@dataclass
class Rolled:
    """Rollouts of a robot. inputs: q, v, tau, dt, and cotangents of the last q and v."""

    context: Context
    robot: condyle.Robot
    dtype: str
    inputs: Sequence[Floats]

    def forwards(self, function: str, axis: tuple[int, ...]) -> Row:
        """With guarded arrays on the GPU. axis: that of time of the answers."""
        shapes = [(len(self.inputs[0]), *axis, size) for size in (self.robot.nq, self.robot.nv)]
        dyn = on_gpu(self.robot, self.dtype)
        answers = called(dyn, self.context.gpu, function, exactly(self.inputs[:4], self.dtype), shapes)
        return self.near(answers, function, self.inputs[:4])

    def back(self, function: str) -> Row:
        """Of some states, with arrays of the processor."""
        some = [x[:32] for x in self.inputs]
        answers = on_gpu(self.robot, self.dtype).call(function, exactly(some, self.dtype))
        return self.near(answers, function, some)

    def near(self, answers: Sequence[Floats], function: str, inputs: Sequence[Floats]) -> Row:
        return near(
            answers, self.robot.compile(target="cpu", threads=1).call(function, exactly(inputs)), growing(self.dtype)
        )


def exactly(arrays: Sequence[Floats], dtype: str = "float64") -> list[Floats]:
    """The same numbers in another type."""
    return [x.astype(dtype) for x in arrays]


def links(context: Context, dtype: str, chains: Sequence[int] = (3, 34, 200), sizes: Sequence[int] = (1, 70)) -> None:
    """A lane is a link: several states a warp, one a block, and chunks of a chain."""
    for count in chains:
        robot = robot_of(str(count))
        functions = solvable(robot, [FUNCTIONS[name] for name in DEFAULT])
        reference, dyn = Reference(robot, PERIOD, functions), on_gpu(robot, dtype, links="scan")
        for function in functions:
            key = {
                "what": "links",
                "robot": f"chain {count}",
                "dtype": dtype,
                "function": str(function),
                "form": "scan",
            }
            context.check(key, Compared(context, reference, dyn, function, sizes, {}))


def tracking(at: Any, goal: Any, u: Any) -> dict[str, Any]:
    """A cost, and what an acceleration by the torques is."""
    effort = u - at.generalized_gravity()
    cost = ((at.q - goal) ** 2).sum() + 1e-2 * (at.v**2).sum() + 1e-4 * (effort**2).sum()
    return {"cost": cost, "a": at.forward_dynamics(u)}


def users(context: Context, dtype: str, name: str = "iiwa14", n: int = 1000) -> None:
    """A function in NumPy, its Jacobian and its Hessian."""
    robot, rng = robot_of(name), np.random.default_rng(5)
    q, v = robot.random_state(n, rng)
    inputs = [x.astype("float32") for x in (q, v, rng.normal(size=(n, robot.nq)), rng.normal(size=(n, robot.nv)))]
    tracked = robot.function(tracking, inputs={"q": "nq", "v": "nv", "goal": robot.nq, "u": "nv"})
    cpu, there = tracked.compile(), tracked.compile("cuda", dtype)
    allowed = 1e3 * float(np.finfo(dtype).eps)  # roundings of sums of some hundred numbers
    calls: dict[str, Callable[[Any], Callable[..., Any]]] = {
        "value": lambda f: f,
        "jacobian": lambda f: f.jacobian(by=("q", "u")),
        "hessian": lambda f: f.hessian(of="cost"),
    }
    for word, derived in calls.items():
        key = {"what": "user's function", "robot": name, "dtype": dtype, "function": word, "form": AUTO}

        def work(derived: Callable[[Any], Callable[..., Any]] = derived) -> Row:
            answers, wanted = derived(there)(*exactly(inputs, dtype)), derived(cpu)(*exactly(inputs))
            return near(*(x if isinstance(x, tuple) else (x,) for x in (answers, wanted)), allowed)

        context.check(key, work)


def running(at: Any, u: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [at.q - goal, 0.1 * at.v, 0.01 * u]}


def last(at: Any, goal: Any) -> dict[str, Any]:
    return {"residual": [10.0 * (at.q - goal), at.v]}


def jobs(context: Context, robots: Sequence[str] = ("2", "iiwa14"), knots: int = 10) -> None:
    """Schedules of OptimalControl: plans from two states, and a step after each."""
    for name in robots:
        robot = robot_of(name)
        bounds = {"u": (-20.0, 20.0)} if robot.nv < 3 else {"u": (-300.0, 300.0)}
        settings: dict[str, Any] = {"knots": knots, "dt": 0.05, "inputs": {"goal": robot.nq}, "bounds": bounds}
        job = condyle.OptimalControl(robot, running, last, **settings)
        q, v, goal = np.stack([np.full(robot.nq, x) for x in (0.1, 0.3)]), np.zeros(robot.nv), np.full(robot.nq, 0.4)

        def plans(solver: Any, q: Floats = q, v: Floats = v, goal: Floats = goal) -> list[Any]:
            plan = solver.solve(q, v, goal=goal)
            after = solver.step(plan, q + 0.01, v, goal=goal)
            return [getattr(solved, answer) for solved in (plan, after) for answer in ("q", "v", "u", "cost")]

        def work(job: condyle.OptimalControl = job, plans: Callable[[Any], list[Any]] = plans) -> Row:
            # sums in another order, in some tens of iterations
            return near(plans(job.compile("cuda")), plans(job.compile(threads=1)), 1e-8)

        key = {"what": "schedule", "robot": name, "dtype": "float64", "function": "optimal control", "form": AUTO}
        context.check(key, work)


def header(context: Context, robots: Sequence[str] = ("iiwa14", "hyq")) -> None:
    """The exported header: its example compares all functions with answers that it knows."""
    for name in robots:
        key = {"what": "header", "robot": name, "dtype": "both", "function": "all", "form": "export"}
        context.check(key, lambda name=name: exported(context, name), may_lack=True)


def exported(context: Context, name: str) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        assert command(["export", name, "--target", "cuda", "--out", folder]) == 0
        text = b"".join(path.read_bytes() for path in sorted(Path(folder).rglob("*.cuh")))
        row: Row = {"texts": [hashlib.sha256(text).hexdigest()[:16]]}
        if context.without_gpu:
            return row
        if shutil.which("nvcc") is None:
            raise UnsupportedError("nvcc is not on the PATH; it comes with the CUDA toolkit")
        for words in (
            ["nvcc", "-std=c++17", f"-arch={context.gpu.arch}", "example.cu", "-o", "example"],
            ["./example"],
        ):
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            said = (done.stdout + done.stderr)[-300:]
            assert done.returncode == 0, f"{words[0]}: exit status {done.returncode}: {said}"
        return row


def tests(context: Context) -> None:
    """Streams, graphs, pinned arrays, memory: `pytest -m gpu` without what the other parts check."""
    if not context.without_gpu:
        context.check({"what": "tests", "function": "pytest -m gpu"}, tested)


def tested() -> Row:
    words = ["-m", "pytest", "-q", "-m", "gpu", "-p", "no:cacheprovider", "tests/gpu", "-k", f"not ({NOT_AGAIN})"]
    done = subprocess.run([sys.executable, *words], cwd=results.ROOT, capture_output=True, text=True, check=False)
    said = re.sub(r"\s+", " ", done.stdout[-300:])
    assert done.returncode == 0, f"exit status {done.returncode}: {said}"
    return {"said": said[-100:]}
