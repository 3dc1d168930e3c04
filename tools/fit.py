"""Fits what a function's row may leave out at first: `size`, `accuracy` and `condition` (`condyle.specification`).

python tools/fit.py fmass            prints what to write into the row
python tools/fit.py fd vjp_fd        more functions, derivatives too
python tools/fit.py --all            every function of the library; takes a minute

The second line of a function is what its row says now.

size: products and sums of the straight code of random chains and trees of revolute joints; for functions of contacts,
of robots on their feet.

accuracy: the largest error at random states of several robots, relative to the largest entry of an answer, times
`MARGIN`. Both number types are compared with long double, by every route, in NumPy.

condition: the error in float64 of chains whose links become heavier towards the tip, in roundings for each unit of the
condition number of M, times `MARGIN`; 0 where errors do not grow with that number. A number above 0 also says that the
function needs an inverse of M: one that does, and that does not err by more on these chains, still has to say it.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle import Contact, Robot
from condyle.algorithms.normal_form import normal_form
from condyle.cli.check import independent, worst_of
from condyle.cli.states import States, draw
from condyle.compile.routes import Router
from condyle.errors import CondyleError, UnsupportedError
from condyle.exports.exporting import facts_of
from condyle.functions import FUNCTIONS, function_of
from condyle.functions.dynamics import MASS_MATRIX
from condyle.model.physical import parameters
from condyle.model.tree import Tree, tree_of
from condyle.specification import Accuracy, Bound, Function, Size
from condyle.trace.reference import evaluate
from condyle.trace.straight import straight_size

Array: TypeAlias = "NDArray[np.floating]"

MARGIN = 10.0
"""Other targets add in another order and have sines of their own; other robots are longer."""

STATES = 16
LONGEST = 20_000
"""Operations above which no longer robot is traced."""

LENGTHS = (10, 14, 20, 28, 40)
CLOSE = 1.3
"""A factor within which an estimate is good: it chooses between forms that differ by more."""

RATIOS = (1.0, 30.0, 1e3, 3e4, 1e6)
"""The mass of the last link by that of the first, beside what they have."""

GROWS = 0.5
"""Exponent of the condition number from which errors are said to grow with it: between 0 and 1."""


@dataclass(frozen=True)
class Case:
    """A robot and what it is compiled for."""

    robot: Robot
    contacts: tuple[Contact, ...] = ()

    def tree(self, function: Function) -> Tree:
        return tree_of(self.robot, Bound(self.frames(function), contacts=self.contacts))

    def frames(self, function: Function) -> tuple[str, ...]:
        """One of the root, one between, one at a tip, where the function has frames."""
        names = tuple(self.robot.frames)
        return (names[0], names[len(names) // 2], names[-1]) if "frames" in function.options else ()


@cache
def standing(name: str, feet: tuple[str, ...], kind: str) -> Case:
    """A robot of the library on its feet."""
    return Case(condyle.load(name, floating_base=True), tuple(Contact(foot, kind) for foot in feet))


def stands(function: Function) -> bool:
    """Whether it is a function of contacts."""
    return "contacts" in function.options


def on_feet(function: Function) -> Iterator[Case]:
    """The robots for functions of contacts."""
    feet = ("lf_foot", "rh_foot", "rf_foot", "lh_foot")
    for count in (1, 2, 4):
        yield standing("hyq", feet[:count], "point")
    kinds = function.needs.contact_kinds
    kind = "plane" if not kinds or "plane" in kinds else "point"
    for count in (1, 2):
        yield standing("atlas", ("l_foot", "r_foot")[:count], kind)


def of_length(function: Function) -> Iterator[Sequence[Case]]:
    """Robots of more and more links, a chain and a tree of each length."""
    if stands(function):
        yield from ([case] for case in on_feet(function))
        return
    for n in LENGTHS:
        yield Case(condyle.chain(n, n)), Case(condyle.random_tree(n, n, types=("revolute",)))


def robots(function: Function) -> Iterator[Case]:
    """Those whose errors are measured."""
    if stands(function):
        yield from on_feet(function)
        return
    yield Case(condyle.chain(8, 1))
    yield Case(condyle.random_tree(8, 1))
    yield Case(condyle.load("iiwa14"))
    yield Case(condyle.load("hyq", floating_base=True))


def uneven(function: Function) -> Iterator[Case]:
    """A chain whose links become heavier towards the tip, by each of `RATIOS`; contacts hold a point of the tip."""
    chain = condyle.chain(7, 1)
    contacts = (Contact(tuple(chain.frames)[-1]),) if stands(function) else ()
    bodies = parameters(chain)
    for ratio in RATIOS:
        heavier = np.power(ratio, np.linspace(0.0, 1.0, len(bodies)))
        yield Case(chain.with_inertias(bodies * heavier[:, None]), contacts)


# Size


def operations(case: Case, function: Function) -> int:
    """Products and sums of its straight code by the best route."""
    router = Router(case.tree(function), facts_of(case.robot, "robot"))
    compared = router.compared(function)
    return min(compared.values()) if compared else router.best(function).counts.arithmetic


def size_of(function: Function) -> Size:
    """The estimate that lies closest to what is counted."""
    trees: list[Tree] = []
    counts: list[int] = []
    for cases in of_length(function):
        for case in cases:
            trees.append(case.tree(function))
            counts.append(operations(case, function))
        if max(counts) > LONGEST and not stands(function):
            break
    return fitted(trees, counts)


def fitted(trees: Sequence[Tree], counts: Sequence[int]) -> Size:
    """The fewest terms that are `CLOSE` to all counts, else those that are closest; least squares of relative errors.

    More terms than that fit short robots better, and long ones worse.
    """
    units = (Size(1), Size(0, 1), Size(0, 0, 1), Size(0, 0, 0, 1))
    terms = np.array([[straight_size(tree, unit) for unit in units] for tree in trees], np.float64)
    relative = terms / np.maximum(counts, 1)[:, None]
    best, least = Size(1), math.inf
    for number in range(1, len(units) + 1):
        for chosen in combinations(range(len(units)), number):
            columns = list(chosen)
            solution = np.linalg.lstsq(relative[:, columns], np.ones(len(counts)), rcond=None)[0]
            if np.any(solution <= 0.0):
                continue
            numbers = np.zeros(len(units), np.int64)
            numbers[columns] = [two_digits(x) for x in solution]
            error = float(np.max(np.abs(np.log(relative @ numbers))))
            if error < least:
                best, least = Size(*numbers.tolist()), error
        if least < math.log(CLOSE):
            break
    return best


# Accuracy


def errors(case: Case, function: Function) -> tuple[Accuracy, float]:
    """The largest errors of all routes, and the largest condition number of M."""
    tree = case.tree(function)
    states = drawn(case, function)
    given = {port.name: x for port, x in zip(function.inputs, states.arguments(function), strict=True)}
    swept = normal_form(tree, function.normal_form)

    def answers(of: Tree, route: str, dtype: type[np.floating]) -> list[Array]:
        rows = {name: np.reshape(x.astype(dtype), (STATES, -1)) for name, x in given.items()}
        return evaluate(of, function, route, rows)

    worst: dict[str, list[float]] = {"float64": [0.0], "float32": [0.0]}
    for route in function.route_names(tree.has_shared_coordinates):
        if function.routes[route].baseline:
            continue
        exact = answers(tree, route, np.longdouble)
        double, single = answers(swept, route, np.float64), answers(swept, route, np.float32)
        worst["float64"] += worst_of(function, double, exact)
        worst["float32"] += worst_of(function, single, exact)
    largest = Accuracy(float(np.max(worst["float64"])), float(np.max(worst["float32"])))  # np.max keeps NaN
    if not all(error < 1.0 for error in largest):
        digits = ", ".join(f"{error:.0e}" for error in largest)
        raise UnsupportedError(
            f"{function}: at random states of {case.robot.name!r} answers have no digits, or are zero or not finite "
            f"(errors of float64, float32: {digits}); fit it by hand, or mend its algorithm"
        )
    return largest, condition_number(case.robot, states)


def drawn(case: Case, function: Function) -> States:
    """Random states; rows of contacts do not depend on each other there."""
    frames = len(case.frames(function))
    states = draw(case.robot, STATES, "float64", (function, MASS_MATRIX), frames=frames, contacts=case.contacts)
    return independent(case.robot, case.contacts, states)


def condition_number(robot: Robot, states: States) -> float:
    """The largest one of M."""
    q = states.quantities["q"]
    (entries,) = evaluate(tree_of(robot), MASS_MATRIX, "crba", {"q": q})
    return float(np.max(np.linalg.cond(np.reshape(entries, (len(q), robot.nv, robot.nv)))))


def accuracy_of(function: Function) -> Accuracy:
    """`MARGIN` times the worst of some robots."""
    found = [errors(case, function)[0] for case in robots(function)]
    double, single = (max(column) for column in zip(*found, strict=True))
    return Accuracy(one_two_five(MARGIN * double), one_two_five(MARGIN * single))


def condition_of(function: Function) -> float:
    """`MARGIN` times the worst, as a power of two; 0 where errors do not grow with the condition number."""
    eps = float(np.finfo(np.float64).eps)
    found = [errors(case, function) for case in uneven(function)]
    error = np.array([max(accuracy.float64, 0.1 * eps) for accuracy, _ in found])
    condition = np.array([number for _, number in found])
    exponent = np.polyfit(np.log(condition), np.log(error), 1)[0]
    if exponent < GROWS:
        return 0.0
    return float(2.0 ** max(0, math.ceil(math.log2(MARGIN * float(np.max(error / condition)) / eps))))


# Rounding up


def two_digits(x: float) -> int:
    """The next whole number of two digits and zeros."""
    unit = 10 ** max(0, math.floor(math.log10(x)) - 1)
    return unit * math.ceil(x / unit - 1e-9)


def one_two_five(x: float) -> float:
    """The next of 1, 2 and 5 times a power of ten; of nothing, a rounding of float64."""
    x = max(x, float(np.finfo(np.float64).eps))
    power = math.floor(math.log10(x))
    digit = next(digit for digit in (1, 2, 5, 10) if x <= digit * 10.0**power)
    return float(f"{digit}e{power}")


# What is printed


def row(size: Size, accuracy: Accuracy, condition: float) -> str:
    """As it stands in a specification."""
    numbers = list(size)
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    digits = ", ".join(f"{x:.0e}".replace("e-0", "e-") for x in accuracy)
    more = f", condition={condition:.1f}" if condition else ""
    return f"Size({', '.join(map(str, numbers))}), Accuracy({digits}){more}"


def lines(function: Function) -> Iterator[str]:
    """What to write, and what is written. UnsupportedError for a rollout: its step has the row."""
    if function.repeat is not None:
        raise UnsupportedError(f"{function}: a rollout has no row of its own; fit {function.repeat.function}")
    yield f"{function.name}: {row(size_of(function), accuracy_of(function), condition_of(function))}"
    yield f"    now {row(function.size, function.accuracy, function.condition)}"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python tools/fit.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="functions, as `condyle check --functions` takes them")
    parser.add_argument("--all", action="store_true", help="every function of the library")
    options = parser.parse_args(arguments)
    if bool(options.names) == options.all:
        parser.error("give names of functions, or --all")
    if np.finfo(np.longdouble).eps >= np.finfo(np.float64).eps:
        parser.error("long double has no more digits than float64 on this machine, so errors cannot be measured here")
    try:
        for function in FUNCTIONS.values() if options.all else [function_of(name) for name in options.names]:
            for line in lines(function):
                print(line, flush=True)
    except CondyleError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
