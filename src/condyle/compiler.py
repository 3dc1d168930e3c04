"""trace -> passes -> target: the only orchestrator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial

import numpy as np

from condyle.algorithms.reference import evaluate
from condyle.algorithms.routes import ALIASES, BASELINES, routes_of
from condyle.backends.c import build as c_target
from condyle.backends.common.facts import Facts, bits_of
from condyle.backends.cpu import build as cpu_target
from condyle.backends.cpu import keep as cpu_kept
from condyle.backends.cuda.choice import Choice, Size
from condyle.backends.cuda.forms import Form, wish
from condyle.backends.cuda.function import CudaFunction
from condyle.backends.cuda.parts import Part, Parts, grouped, parts, straight
from condyle.errors import BuildError, UnsupportedError
from condyle.ir.count import Counts, count, instructions
from condyle.ir.program import Program
from condyle.ir.sweep import Code
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.passes import pipeline
from condyle.runtime.cuda.driver import gpu
from condyle.runtime.kernel import Kernel
from condyle.runtime.layout import Layouts
from condyle.runtime.numpy_kernel import NumpyKernel
from condyle.signature import FUNCTIONS
from condyle.trace import ROLLED, layout_of, roll, straight_size, trace

LONGEST = 150_000
"""Products and sums above which a function is compiled as loops: straight code is no faster then and takes seconds."""

LONG, MORE = 20_000, 1.1
"""The same for vectors as answers, where loops take at most so many times the operations: they run from near caches."""

HOPELESS = {True: 60_000, False: 4 * LONGEST}
"""Estimated operations above which straight code is not even traced, for vectors and for matrices; rather too many."""

VECTORS = ("id", "fd")

DEEP = 30_000
"""Estimated operations above which only routes that grow least with the depth of the tree are compared."""

LINE = 64
"""Bytes of a column's numbers in one tile where no instruction set says otherwise."""

SHALLOW = {
    "m": ("mminvgen",),
    "minv": ("aba", "mminvgen"),
    "did": ("adjoint", "columns"),
    "dfd": ("minv+",),
    "fd": ("minv",),
}
"""Routes that win on short branches only, or never: the papers' baselines."""


@dataclass(frozen=True)
class Traced:
    """One function by one route, before contraction, and what it counts to."""

    route: str
    code: Code
    counts: Counts


@dataclass
class Compiler:
    """Everything that is compiled for one tree; what was traced is kept."""

    tree: Tree
    facts: Facts
    routes: Mapping[str, str] = field(default_factory=dict[str, str])
    device: int = field(default=0, kw_only=True)
    kernels: Mapping[str, str] = field(default_factory=dict[str, str], kw_only=True)
    """target "cuda": in which form a function runs, in the words of `backends.cuda.forms.wish`"""

    def __post_init__(self) -> None:
        self.routes = {function: checked_route(self.tree, function, route) for function, route in self.routes.items()}
        self.gpu_part = cache(self._gpu_part)
        self.gpu_size = cache(self._gpu_size)
        self.traced = cache(self._traced)
        self.best = cache(self._best)
        self.layouts = cache(self._layouts)

    def _traced(self, function: str, route: str, f_ext: bool) -> Traced:
        program = pipeline.apply(verify(trace(self.tree, function, route, f_ext)), pipeline.CLEAN)
        return Traced(route, program, count(program))

    def candidates(self, function: str) -> Sequence[str]:
        """The routes to compare: the named one, else all; derivatives of fd are built on the best route to did."""
        if function in self.routes:
            return [self.routes[function]]
        names = [name for name in routes_of(function, self.tree.has_shared_coordinates) if name not in BASELINES]
        if function in ("dfd", "difd"):
            derivatives = self.best("did", False).route
            names = [name for name in names if name.split("+")[-1] == derivatives]
        if function == "fd" and straight_size(self.tree, "minv") > LONGEST:
            return [name for name in names if name == "aba"] or names  # factors grow with the cube of the depth
        if straight_size(self.tree, function) <= DEEP:
            return names
        return [name for name in names if not name.startswith(SHALLOW.get(function, "-"))]

    def _best(self, function: str, f_ext: bool) -> Traced:
        """The route with the fewest operations, external forces left out of the comparison; loops for long robots.

        A route that was named is traced as it was asked for.
        """
        if self._is_hopeless(function):
            return self._loops(function, f_ext)
        best = min(
            (self.traced(function, route, False) for route in self.candidates(function)),
            key=lambda traced: (traced.counts.arithmetic, traced.route),
        )
        if self._may_roll(function) and self._rolls(function, best.counts.arithmetic):
            return self._loops(function, f_ext)
        return self.traced(function, best.route, True) if f_ext else best

    def _may_roll(self, function: str) -> bool:
        return function not in self.routes and not self.tree.has_shared_coordinates

    def _is_hopeless(self, function: str) -> bool:
        """Whether it is loops for sure, by an estimate alone."""
        return self._may_roll(function) and straight_size(self.tree, function) > HOPELESS[function in VECTORS]

    def is_rolled(self, function: str) -> bool:
        """Whether its best form is loops."""
        return self._is_hopeless(function) or not isinstance(self.best(function, False).code, Program)

    def _rolls(self, function: str, straight: int) -> bool:
        """Whether loops are the better form, by the operations of straight code."""
        if function not in VECTORS or straight <= LONG:
            return straight > LONGEST
        return self._loops(function, False).counts.arithmetic <= MORE * straight

    def _loops(self, function: str, f_ext: bool) -> Traced:
        rolled = roll(self.tree, function, f_ext)
        return Traced(ROLLED[function].route, rolled, count(rolled))

    def code(self, function: str, f_ext: bool) -> Code:
        """The best route, ready for a target: contracted."""
        code = self.best(function, f_ext).code
        return pipeline.apply(code, pipeline.CODE) if isinstance(code, Program) else code

    def straight(self, function: str, f_ext: bool = False) -> Program:
        """The same where it is straight-line code; UnsupportedError for robots that are too long for it."""
        code = self.code(function, f_ext)
        if not isinstance(code, Program):
            raise UnsupportedError(
                f"target 'cuda': {function} of this robot is too long for it; target 'cpu' serves, and "
                "links='scan' does for up to 1024 links; exported is 'c'"
            )
        return code

    def counts(self, function: str) -> dict[str, str | int]:
        """One row of operation counts: before contraction, and instructions after it."""
        best = self.best(function, False)
        return {
            "function": function,
            "route": best.route if isinstance(best.code, Program) else f"{best.route}, rolled",
            **{name: getattr(best.counts, name) for name in Counts._fields},
            "instructions": instructions(self.code(function, False)),
        }

    def line(self, function: str, target: str, dtype: str, n: int) -> str:
        """What runs for n states, for people: the route, its operations, the target where it is another one.

        The loops of a long robot are not counted, which takes seconds.
        """
        route, work = ROLLED[function].route + ", rolled", f"loops over {len(self.tree.links)} links"
        if not self._is_hopeless(function):
            row = self.counts(function)
            route = str(row["route"])
            work = f"{row['mul']} mul, {row['add']} add, {row['div']} div, {row['sincos']} sincos a state"
        return f"{function:5}{route:24}{work}" + ("" if runs(target) == target else f", target {runs(target)}")

    def build(self, function: str, f_ext: bool, target: str, dtype: str) -> Kernel:
        """The kernel of one function for one target; "cpu" leaves to C what it cannot do."""
        if target == "numpy":
            route = self.reference_route(function)
            run = partial(evaluate, self.tree, function, route)
            return NumpyKernel(run, FUNCTIONS[function].ports(f_ext), np.dtype(dtype), f"NumPy, {route}")
        if target == "cuda":
            device = gpu(self.device)
            return CudaFunction(
                lambda n: self.gpu_form(function, f_ext, dtype, n, device.multiprocessors),
                lambda form: self.gpu_parts(function, f_ext, dtype, form),
                device,
                np.dtype(dtype),
            )
        code = self.code(function, f_ext)
        if runs(target) == "cpu":
            layouts = self.layouts(function, f_ext, target, dtype)
            # a compiler serves where the system forbids new code, and loops that machine code has no form for
            with suppress(BuildError, UnsupportedError):
                made = cpu_target.assembled(code, dtype, layouts=layouts)
                kernel = cpu_target.load(made, layouts)
                cpu_kept.keep(self._key(function, f_ext, dtype), made)
                return kernel
        return c_target.build(code, self.facts, dtype)

    def kept(self, function: str, f_ext: bool, target: str, dtype: str) -> Kernel | None:
        """The kernel that `build` made in an earlier run, if there is one."""
        if target != "cpu":
            return None
        return cpu_kept.find(self._key(function, f_ext, dtype), self.layouts(function, f_ext, target, dtype))

    def _key(self, function: str, f_ext: bool, dtype: str) -> cpu_kept.Key:
        routes = repr(sorted(self.routes.items()))  # a route to one function may decide that of another
        return cpu_kept.Key(self.facts.fingerprint, function, f_ext, routes, dtype)

    def gpu_choice(self, function: str, f_ext: bool) -> Choice:
        """Which form a function runs in on a GPU."""
        return Choice(function, lambda name: self.gpu_size(name, f_ext), wish(function, self.kernels.get(function, "")))

    def gpu_form(self, function: str, f_ext: bool, dtype: str, n: int, multiprocessors: int) -> Form:
        """The best form for n states that fits a GPU; the best of all, for its error, where none does."""
        ranked = self.gpu_choice(function, f_ext).ranked(n, multiprocessors)
        for form in ranked:
            with suppress(UnsupportedError):
                if form.lanes > 1:
                    self.gpu_parts(function, f_ext, dtype, form)
                return form
        return ranked[0]

    def gpu_line(self, function: str, dtype: str, n: int, multiprocessors: int) -> str:
        """`line`, the form, and the estimate of its time."""
        line = self.line(function, "cuda", dtype, n)
        if self.is_rolled(function):
            return f"{line}, too long for a GPU"
        form = self.gpu_form(function, False, dtype, n, multiprocessors)
        us = self.gpu_choice(function, False).us(form, n, multiprocessors)
        return f"{line}, {form}, estimated {us:.0f} us (unmeasured)"

    def gpu_parts(self, function: str, f_ext: bool, dtype: str, form: Form) -> Parts:
        """What to launch on a GPU; UnsupportedError for robots that are too long for it."""
        return parts(
            function,
            lambda name: self.gpu_size(name, f_ext).program,
            lambda name: self.gpu_part(name, f_ext and FUNCTIONS[name].takes_f_ext, dtype, form.lanes),
            bits_of(dtype),
            partition=form.partition,
        )

    def _gpu_part(self, function: str, f_ext: bool, dtype: str, lanes: int) -> Part:
        program = self.gpu_size(function, f_ext).program
        return straight(program, bits_of(dtype)) if lanes == 1 else grouped(program, lanes, bits_of(dtype))

    def _gpu_size(self, function: str, f_ext: bool) -> Size:
        return Size(self.straight(function, f_ext and FUNCTIONS[function].takes_f_ext))

    def lanes(self, target: str, dtype: str) -> int:
        """States that lie side by side in packed arrays of a target."""
        return cpu_target.lanes(dtype) if target == "cpu" else LINE // np.dtype(dtype).itemsize

    def _layouts(self, function: str, f_ext: bool, target: str, dtype: str) -> Layouts:
        """How the inputs and the outputs of a function are packed for a target."""
        lanes = self.lanes(target, dtype)
        signature = FUNCTIONS[function]
        return tuple(layout_of(self.tree, port, lanes) for port in signature.ports(f_ext)), tuple(
            layout_of(self.tree, port, lanes) for port in signature.outputs
        )

    def reference_route(self, function: str) -> str:
        """The route that the reference takes: the named one, else the first that serves the robot."""
        return self.routes.get(function) or routes_of(function, self.tree.has_shared_coordinates)[0]


def runs(target: str) -> str:
    """What computes when this target is asked for: itself, but "c" for "cpu" without machine code."""
    return "c" if target == "cpu" and not cpu_target.supported() else target


def checked_route(tree: Tree, function: str, route: str) -> str:
    """The route by its own name; UnsupportedError for a function or route that is not there, or not for this robot."""
    if function not in FUNCTIONS:
        raise UnsupportedError(f"routes: there is no function {function!r}; there are {', '.join(FUNCTIONS)}")
    names = routes_of(function, tree.has_shared_coordinates)
    known = {**ALIASES, **dict(zip(names, names, strict=True))}
    if not isinstance(route, str) or known.get(route) not in names:  # pyright: ignore[reportUnnecessaryIsInstance]
        shared = " with mimic joints" if tree.has_shared_coordinates else ""
        raise UnsupportedError(
            f"routes: {function!r} has no route {route!r} for a robot{shared}; it has {', '.join(names)}"
        )
    return known[route]
