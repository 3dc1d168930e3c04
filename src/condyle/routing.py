"""Which route answers a function, as straight code or as loops: traced, counted, compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from condyle.backends.common.facts import Facts
from condyle.errors import UnsupportedError
from condyle.ir.count import Counts, count, instructions
from condyle.ir.program import Program
from condyle.ir.sweep import Code, Multiplied, Rolled
from condyle.ir.verify import verify
from condyle.model.tree import Tree
from condyle.signature import FUNCTIONS
from condyle.trace.structure import DERIVED, product_size, products, straight_size, written

LONGEST = 150_000
"""Products and sums above which a function is compiled as loops: straight code is no faster then and takes seconds."""

LONG, MORE = 20_000, 1.1
"""The same for vectors as answers, where loops take at most so many times the operations: they run from near caches."""

HOPELESS = {True: 60_000, False: 4 * LONGEST}
"""Estimated operations above which straight code is not even traced, for vectors and for matrices; rather too many."""

VECTORS = ("id", "fd")

AMPLE = 1.25
"""The same in products of matrices by the tree alone, which has up to a tenth too many entries."""

SURELY = 1.05
"""So many times LONGEST, counted by the entries of did: a little more than straight code has."""

FORMS: Mapping[type, str] = {Program: "", Rolled: ", rolled", Multiplied: ", products rolled"}
"""What is said of a form beside the route."""

DEEP = 30_000
"""Estimated operations above which only routes that grow least with the depth of the tree are compared."""

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
class Router:
    """The functions of one tree before any target; what was traced is kept."""

    tree: Tree
    facts: Facts
    routes: Mapping[str, str] = field(default_factory=dict[str, str])

    def __post_init__(self) -> None:
        self.routes = {function: checked_route(self.tree, function, route) for function, route in self.routes.items()}
        self.traced = cache(self._traced)
        self.best = cache(self._best)

    def _traced(self, function: str, route: str, f_ext: bool) -> Traced:
        from condyle.passes import pipeline
        from condyle.trace.straight import trace

        program = pipeline.apply(verify(trace(self.tree, function, route, f_ext)), pipeline.CLEAN)
        return Traced(route, program, count(program))

    def candidates(self, function: str) -> Sequence[str]:
        """The routes to compare: the named one, else all; derivatives of fd are built on the best route to did."""
        if function in self.routes:
            return [self.routes[function]]
        from condyle.algorithms.routes import BASELINES, routes_of

        names = [name for name in routes_of(function, self.tree.has_shared_coordinates) if name not in BASELINES]
        if function in DERIVED:
            derivatives = self._derivatives()
            names = [name for name in names if name.split("+")[-1] == derivatives]
        if function == "fd" and straight_size(self.tree, "minv") > LONGEST:
            return [name for name in names if name == "aba"] or names  # factors grow with the cube of the depth
        if straight_size(self.tree, function) <= DEEP:
            return names
        return [name for name in names if not name.startswith(SHALLOW.get(function, "-"))]

    def _derivatives(self) -> str:
        """The best route to did; where there is but one to compare, nothing is traced to find it."""
        names = self.candidates("did")
        return names[0] if len(names) == 1 else self.best("did", False).route

    def _best(self, function: str, f_ext: bool) -> Traced:
        """The route with the fewest operations, external forces left out of the comparison; loops for long robots.

        A route that was named is traced as it was asked for.
        """
        if self.is_hopeless(function):
            return self._loops(function, f_ext)
        if not self._is_surely_long(function):
            return self._straight(function, f_ext)
        made = self._multiplied if self.tree.has_shared_coordinates else self._loops
        return made(function, f_ext)

    def _straight(self, function: str, f_ext: bool) -> Traced:
        """The same, unless it is longer by far; loops where they may be."""
        best = min(
            (self.traced(function, route, False) for route in self.candidates(function)),
            key=lambda traced: (traced.counts.arithmetic, traced.route),
        )
        if self._may_roll(function) and self._rolls(function, best.counts.arithmetic):
            return self._loops(function, f_ext)
        return self.traced(function, best.route, True) if f_ext else best

    def _may_roll(self, function: str) -> bool:
        return function not in self.routes and not self.tree.has_shared_coordinates

    def is_hopeless(self, function: str) -> bool:
        """Whether it is loops for sure, by estimates alone."""
        long = straight_size(self.tree, function) > HOPELESS[function in VECTORS] or self._multiplies_long(function)
        return long and self._may_roll(function)

    def _multiplies_long(self, function: str) -> bool:
        """Whether products of matrices alone are too long, by the tree; further zeros of their entries do not count."""
        return product_size(self.tree, function) > AMPLE * LONGEST

    def _is_surely_long(self, function: str) -> bool:
        """Whether derivatives of inverse dynamics and the products with them are too long: those are not traced."""
        if function not in DERIVED or function in self.routes:
            return False
        if self._multiplies_long(function):
            return True
        derivatives = self.best("did", False)
        if not isinstance(derivatives.code, Program):
            return True
        size = derivatives.counts.arithmetic + products(function, *written(derivatives.code))
        return size > SURELY * LONGEST

    def is_rolled(self, function: str) -> bool:
        """Whether its best form is loops."""
        return self.is_hopeless(function) or isinstance(self.best(function, False).code, Rolled)

    def _rolls(self, function: str, straight: int) -> bool:
        """Whether loops are the better form, by the operations of straight code."""
        if function not in VECTORS or straight <= LONG:
            return straight > LONGEST
        return self._loops(function, False).counts.arithmetic <= MORE * straight

    def _loops(self, function: str, f_ext: bool) -> Traced:
        from condyle.trace.rolled import ROLLED, roll

        rolled = roll(self.tree, function, f_ext)
        return Traced(ROLLED[function].route, rolled, count(rolled))

    def _multiplied(self, function: str, f_ext: bool) -> Traced:
        """Products as loops: the form of long robots whose joints share coordinates."""
        from condyle.trace.multiplied import multiply

        route = self._derivatives()
        made = multiply(self.tree, function, route, f_ext)
        return Traced(route if function == "difd" else f"ltl+{route}", made, count(made))

    def code(self, function: str, f_ext: bool) -> Code:
        """The best route, ready for a target: contracted."""
        from condyle.passes import pipeline

        code = self.best(function, f_ext).code
        if isinstance(code, Multiplied):
            return replace(code, head=pipeline.apply(code.head, pipeline.CODE))
        return pipeline.apply(code, pipeline.CODE) if isinstance(code, Program) else code

    def straight(self, function: str, f_ext: bool = False) -> Program:
        """The same as straight-line code; UnsupportedError for robots that are too long for it."""
        from condyle.passes import pipeline

        code = self.best(function, f_ext).code
        if isinstance(code, Multiplied):
            code = self._straight(function, f_ext).code
        if not isinstance(code, Program):
            raise UnsupportedError(
                f"target 'cuda': {function} of this robot is too long for it; target 'cpu' serves, and "
                "links='scan' does for up to 1024 links; exported is 'c'"
            )
        return pipeline.apply(code, pipeline.CODE)

    def counts(self, function: str) -> dict[str, str | int]:
        """One row of operation counts: before contraction, and instructions after it."""
        return {**self.work(function), "instructions": instructions(self.code(function, False))}

    def work(self, function: str) -> dict[str, str | int]:
        """The same without instructions, for which the code would be contracted: half of the time."""
        best = self.best(function, False)
        return {
            "function": function,
            "route": best.route + FORMS[type(best.code)],
            **{name: getattr(best.counts, name) for name in Counts._fields},
        }

    def reference_route(self, function: str) -> str:
        """The route that the reference takes: the named one, else the first that serves the robot."""
        from condyle.algorithms.routes import routes_of

        return self.routes.get(function) or routes_of(function, self.tree.has_shared_coordinates)[0]


def checked_route(tree: Tree, function: str, route: str) -> str:
    """The route by its own name; UnsupportedError for a function or route that is not there, or not for this robot."""
    if function not in FUNCTIONS:
        raise UnsupportedError(f"routes: there is no function {function!r}; there are {', '.join(FUNCTIONS)}")
    from condyle.algorithms.routes import ALIASES, routes_of

    names = routes_of(function, tree.has_shared_coordinates)
    known = {**ALIASES, **dict(zip(names, names, strict=True))}
    if not isinstance(route, str) or known.get(route) not in names:  # pyright: ignore[reportUnnecessaryIsInstance]
        shared = " with mimic joints" if tree.has_shared_coordinates else ""
        raise UnsupportedError(
            f"routes: {function!r} has no route {route!r} for a robot{shared}; it has {', '.join(names)}"
        )
    return known[route]
