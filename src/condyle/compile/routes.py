"""Which route answers a function, as straight code or as loops: traced, counted, compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, cast
from weakref import WeakValueDictionary

from condyle.backends.common.facts import Facts
from condyle.compile.kernels.composed import multiplied, refused
from condyle.compile.options import SHOWN, checked_route, unbound
from condyle.derivatives import columns_of, derivative
from condyle.errors import SingularError, UnsupportedError
from condyle.functions import FUNCTIONS, LIBRARY, has_joint_loops, multiplied_by, products_of
from condyle.ir.count import Counts, count, instructions
from condyle.ir.loops import Code, Rolled
from condyle.ir.program import Program, verify
from condyle.ir.segments import Segmented
from condyle.model.checks import idle_coordinates
from condyle.model.robot import Robot
from condyle.model.tree import Tree
from condyle.specification import UNBOUND, Columns, Function, Route, Size
from condyle.specification.ports import DRIVEN
from condyle.text import few
from condyle.trace.straight import product_size, products, straight_size, written

LONGEST = 150_000
"""Products and sums above which a function is compiled as loops: straight code is no faster then and takes seconds."""

LONG, MORE = 20_000, 1.1
"""The same for vectors as answers, where loops take at most so many times the operations: they run from near caches."""

HOPELESS = {True: 60_000, False: 4 * LONGEST}
"""Estimated operations above which straight code is not even traced, for vectors and for matrices; rather too many."""

LARGEST = 6 * LONGEST
"""The same for functions of contacts and those made of others, derivatives and users': all else is slower by far."""

AMPLE = 1.25
"""The same in products of matrices by the tree alone, which has up to a tenth too many entries."""

SURELY = 1.05
"""So many times LONGEST, counted by the entries of did: a little more than straight code has."""


def form_of(code: Code) -> str:
    """What is said of a form beside the route."""
    if not isinstance(code, Segmented):
        return ", rolled" if isinstance(code, Rolled) else ""
    iterations = [f"a loop of at most {part.most} times" for part in code.iterations]
    products = ["products rolled"] if any(code.products) else []
    return "".join(f", {words}" for words in (*products, *iterations))


NOTHING = Size(0)

DEEP = 30_000
"""Estimated operations above which only routes that grow least with the depth of the tree are compared."""


@dataclass(frozen=True)
class Traced:
    """One function by one route, before contraction, and what it counts to."""

    route: str
    code: Code
    counts: Counts


_TRACED: WeakValueDictionary[tuple[Tree, Function, str], Traced] = WeakValueDictionary()
"""What routers in use have traced: another one of an equal tree takes it, such as that of the other number type."""


@dataclass
class Router:
    """The functions of one tree before any target; what was traced is kept.

    A route is chosen without external forces, then traced with those that a function takes.
    """

    tree: Tree
    facts: Facts
    routes: Mapping[Function, str] = field(default_factory=dict[Function, str])

    def __post_init__(self) -> None:
        self.routes = {function: checked_route(self.tree, function, route) for function, route in self.routes.items()}
        self.traced = cache(self._traced)
        self.best = cache(self._best)
        self.estimate = cache(self._estimate)

    @property
    def functions(self) -> list[Function]:
        """Those that can be compiled, see `checks.check_bound`."""
        return [function for function in FUNCTIONS.values() if not unbound(self.tree, function)]

    def _traced(self, function: Function, route: str) -> Traced:
        key = (self.swept(function), function, route)
        known = _TRACED.get(key)
        if known is None:
            known = _TRACED[key] = self._trace(function, route)
        return known

    def _trace(self, function: Function, route: str) -> Traced:
        from condyle.passes import pipeline
        from condyle.trace.straight import trace

        program = pipeline.apply(verify(trace(self.swept(function), function, route)), pipeline.CLEAN)
        return Traced(route, program, count(program))

    def candidates(self, function: Function) -> Sequence[str]:
        """The routes to compare: the named one, else all that can be the best.

        A function that is made of another one by products takes the best route to it.
        """
        if self.named(function):
            return [self.named(function)]
        routes = function.routes
        names = [name for name in self.serving(function) if not routes[name].baseline]
        if products_of(function):
            part = self._part(function)
            names = [name for name in names if routes[name].part == part] or names
        sized = [name for name in names if self.estimate(routes[name].size or NOTHING) <= LONGEST]
        if len(sized) < len(names):
            return sized or names
        if self._size(function) <= DEEP:
            return names
        return [name for name in names if not routes[name].shallow]

    def named(self, function: Function) -> str:
        """The route that was named for a function, or for the plain one; none for most."""
        if not self.routes:
            return ""
        route = self.routes.get(function) or self.routes.get(function.plain, "")
        return route if route in function.routes else ""

    def serving(self, function: Function) -> list[str]:
        """The routes that serve the robot."""
        return function.route_names(self.tree.has_shared_coordinates)

    def _estimate(self, size: Size) -> int:
        return straight_size(self.tree, size)

    def _size(self, function: Function) -> int:
        return self.estimate(function.size)

    def _part(self, function: Function) -> str:
        """The best route to what products multiply; where there is but one to compare, nothing is traced to find it."""
        right = multiplied_by(function)
        names = self.candidates(right)
        return names[0] if len(names) == 1 else self.best(right).route

    def _best(self, function: Function) -> Traced:
        """The route with the fewest operations; loops for long robots. A named route is traced as it was asked for."""
        whole = self._whole(function)
        if whole is not None:
            return whole
        columns = self.by_columns(function)
        if columns is not None:
            raise refused(function, columns)
        if self.is_hopeless(function):
            return self._joint_loops(function)
        if not self._is_surely_long(function):
            return self._straight(function)
        return self._joint_loops(function) if self._has_joint_loops(function) else self._multiplied(function)

    def _whole(self, function: Function) -> Traced | None:
        """By a route with large products, which stay what they are."""
        for name, route in function.routes.items():
            if route.whole is not None or route.recorded:
                made = cast(Code, route.whole(self.tree)) if route.whole else self._recorded(function, route)
                return Traced(name, replace(made, name=function.name), count(made))
        return None

    def _recorded(self, function: Function, route: Route) -> Code:
        from condyle.derivatives.code import code

        return code(self.swept(function), function, cast(Any, route.run).record, derivative)

    def _straight(self, function: Function) -> Traced:
        """The same, unless it is longer by far; loops where they may be."""
        chosen = function.without_forces
        best = min(
            (self.traced(chosen, route) for route in self.candidates(chosen)),
            key=lambda traced: (traced.counts.arithmetic, traced.route),
        )
        loops = self._may_roll(function) and self._has_joint_loops(function)
        if loops and self._rolls(function, best.counts.arithmetic):
            return self._joint_loops(function)
        return self.traced(function, best.route)

    def _may_roll(self, function: Function) -> bool:
        return not self.named(function) and not self.tree.has_shared_coordinates

    def is_hopeless(self, function: Function) -> bool:
        """Whether it is loops for sure, by estimates alone."""
        driven, recorded = self.is_driven(function), any(route.recorded for route in function.routes.values())
        if function.without_forces not in LIBRARY or "contacts" in function.options or driven or recorded:
            return self._size(function) > LARGEST and (driven or not has_joint_loops(function))
        most = HOPELESS[function.is_vector] if has_joint_loops(function) else LONGEST
        long = self._size(function) > most or self._multiplies_long(function)
        return long and self._may_roll(function)

    def by_columns(self, function: Function) -> Columns | None:
        """What is called for every column where straight code of all columns is too long."""
        return columns_of(function) if self.is_hopeless(function) else None

    def parts(self, function: Function) -> tuple[Function, ...]:
        """The functions whose kernels are called one after the other, for one of them is loops; none for most."""
        if self.named(function):
            return ()
        parts = function.routes[self.serving(function)[0]].parts
        long = [part for part in parts if self._size(part) > LONG]
        return parts if any(self.is_hopeless(part) or self.is_rolled(part) for part in long) else ()

    def is_too_long(self, function: Function) -> bool:
        """Whether it has no form for this robot but the reference: too long for straight code, and without loops."""
        hopeless = self.is_hopeless(function) and not self._has_joint_loops(function)
        return hopeless and self.by_columns(function) is None

    def _has_joint_loops(self, function: Function) -> bool:
        """Whether loops serve the robot; they take no forces in the world's axes, nor of joints."""
        known = has_joint_loops(function) and not self.tree.has_shared_coordinates
        return known and not self.is_driven(function) and not (function.has_forces and self.tree.has_world_forces)

    def is_driven(self, function: Function) -> bool:
        """Whether joint forces or actuators act in it, which loops over joints and scans do not have."""
        act = self.tree.drives.forces or any(port.name in DRIVEN for port in function.inputs)
        return "drives" in function.options and bool(act)

    def swept(self, function: Function) -> Tree:
        """The tree, without drives where the function has none: its code then is that of the robot without any."""
        has_drives = "drives" in function.options or function.root not in LIBRARY
        return self.tree if has_drives or self.tree.drives == UNBOUND.drives else self._undriven

    @cached_property
    def _undriven(self) -> Tree:
        return replace(self.tree, drives=UNBOUND.drives)

    def is_long_straight(self, function: Function) -> bool:
        """Whether it is straight code for want of loops, and long, by estimates alone."""
        return not has_joint_loops(function) and self._size(function) > LONG

    def _multiplies_long(self, function: Function) -> bool:
        """Whether products of matrices alone are too long, by the tree; further zeros of their entries do not count."""
        return bool(products_of(function)) and product_size(self.tree, function.inverts) > AMPLE * LONGEST

    def _is_surely_long(self, function: Function) -> bool:
        """Whether products of matrices and what they multiply are too long: those are not traced."""
        if not products_of(function) or self.named(function):
            return False
        if self._multiplies_long(function):
            return True
        rights = self.best(multiplied_by(function))
        if not isinstance(rights.code, Program):
            return True
        size = rights.counts.arithmetic + products(function.inverts, *written(rights.code))
        return size > SURELY * LONGEST

    def is_rolled(self, function: Function) -> bool:
        """Whether its best form is loops."""
        return self.is_hopeless(function) or isinstance(self.best(function.without_forces).code, Rolled)

    def _rolls(self, function: Function, straight: int) -> bool:
        """Whether loops are the better form, by the operations of straight code."""
        if not function.is_vector or straight <= LONG:
            return straight > LONGEST
        return self._joint_loops(function.without_forces).counts.arithmetic <= MORE * straight

    def _joint_loops(self, function: Function) -> Traced:
        from condyle.trace.loops import roll, rolled_route

        if not has_joint_loops(function) or self.is_driven(function):
            having = ", ".join(name for name, other in FUNCTIONS.items() if has_joint_loops(other))
            raise UnsupportedError(
                f"{function} has no form of loops over joints, which robots as long as this need; {having} do"
            )
        rolled = roll(self.tree, function)
        return Traced(rolled_route(function), rolled, count(rolled))

    def _multiplied(self, function: Function) -> Traced:
        """Products as loops: the form of long robots whose joints share coordinates."""
        from condyle.trace.straight import multiply

        part, routes = self._part(function), function.routes
        route = next(name for name, one in routes.items() if one.part == part and one.factors)
        made = multiply(self.tree, function, route)
        return Traced(route, made, count(made))

    def code(self, function: Function) -> Code:
        """The best route, ready for a target: contracted."""
        from condyle.passes import pipeline

        code = self.best(function).code
        if isinstance(code, Segmented):
            return code.rewritten(lambda program: pipeline.apply(program, pipeline.CODE))
        return pipeline.apply(code, pipeline.CODE) if isinstance(code, Program) else code

    def straight(self, function: Function) -> Program:
        """The same as straight-line code; UnsupportedError for robots that are too long for it."""
        from condyle.passes import pipeline

        code = None if self.is_too_long(function) else self.best(function).code
        if isinstance(code, Segmented) and count(code).arithmetic <= LARGEST:
            code = self._straight(function).code
        if not isinstance(code, Program):
            raise UnsupportedError(
                f"target 'cuda': {function.without_forces} of this robot is too long for it; target 'cpu' serves, and "
                "links='scan' where the function has a scan (condyle functions); exported is 'c'"
            )
        return pipeline.apply(code, pipeline.CODE)

    def counts(self, function: Function) -> dict[str, str | int]:
        """One row of operation counts: before contraction, and instructions after it; zeros for what `is_too_long`."""
        columns = self.by_columns(function)
        if columns is not None:
            return multiplied(self.counts(columns.function), function, self.tree, columns)
        if self.is_too_long(function) or self.parts(function):
            none = dict.fromkeys((*Counts._fields, "instructions"), 0)
            said = ", ".join(map(str, self.parts(function))) or f"{self.reference_route(function)}, in NumPy"
            return {"function": function.name, "route": said, **none}
        return {**self.work(function), "instructions": instructions(self.code(function))}

    def work(self, function: Function) -> dict[str, str | int]:
        """The same without instructions, for which the code would be contracted: half of the time."""
        best = self.best(function)
        return {
            "function": function.name,
            "route": best.route + form_of(best.code),
            **{name: getattr(best.counts, name) for name in Counts._fields},
        }

    def compared(self, function: Function) -> dict[str, int]:
        """The routes that were compared and their products and sums, fewest first; none where estimates said enough."""
        if self.is_hopeless(function) or self._is_surely_long(function):
            return {}
        chosen = function.without_forces
        found = {route: self.traced(chosen, route).counts.arithmetic for route in self.candidates(chosen)}
        return dict(sorted(found.items(), key=lambda item: (item[1], item[0])))

    def reference_route(self, function: Function) -> str:
        """The route that the reference takes: the named one, else the first that serves the robot."""
        return self.named(function) or self.serving(function)[0]


# Whether the mass matrix of a robot has an inverse, for functions that need it: before anything is compiled.


def check_invertible(robot: Robot) -> None:
    """SingularError if M(q) has no inverse for any q."""
    idle = idle_coordinates(robot, robot.random_state(4, 0).q)
    if not idle:
        return
    still = [joint for joint in robot.joints if any(joint.v_index <= k < joint.v_index + joint.nv for k in idle)]
    names = [repr(joint.name) for joint in still]
    lone = f"joint {names[0]} moves no inertia of its own"
    which = lone if len(names) == 1 else f"joints {few(names, SHOWN)} move no inertia of their own"
    behind = robot.bodies[robot.joints.index(still[-1])].name
    raise SingularError(
        f"{which}, so the mass matrix has no inverse. Lock what moves none, robot.lock({{{names[-1]}: q}}), or give it "
        f"armature, or give mass to the bodies that it carries (from {behind!r} on); functions that need no inverse, "
        "such as inverse_dynamics, work as it is"
    )


def check_solvable(robot: Robot, functions: Iterable[Function]) -> None:
    """SingularError if one of the functions has to do with an inverse of the mass matrix that there is for no q."""
    if any(function.solves_own for function in functions):
        check_invertible(robot)
