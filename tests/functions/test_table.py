"""What every function says of itself, as a text for people; `--update-golden` rewrites it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from functools import cache

import pytest

import condyle
from condyle.algorithms.quadratic_program import Side
from condyle.compile.options import bound_of
from condyle.derivatives import hessian, jacobian, jvp, vjp
from condyle.functions import (
    AUXILIARY,
    FUNCTIONS,
    contact_steps,
    contact_sweeps,
    repeat,
    riccati,
    riccati_accelerations,
)
from condyle.functions.linear_systems import linear_system
from condyle.functions.quadratic_program import Shape, quadratic_program
from condyle.model.placement import Placement
from condyle.model.tree import Tree, tree_of
from condyle.specification import Call, Function, Port, Route
from tests.ground.robots import CORNERS, box

SOLVE = FUNCTIONS["cfric"]

FLAGS = ("symmetric", "is_fraction", "is_positive", "is_shared")
TRAITS = ("solves", "solves_own", "inverts", "takes_f_ext", "may_take_f_ext", "has_forces", "is_vector")


def of_port(port: Port) -> str:
    said = [port.zeros] if port.zeros != "none" else []
    said += [flag for flag in FLAGS if getattr(port, flag)]
    said += [
        f"{word} {value}" for word in ("given_by", "beside", "by", "lanes", "lower") if (value := getattr(port, word))
    ]
    return " ".join([f"{port.name} ({', '.join(port.dims)}) [{port.unit}] {port.frame}", *said])


def of_route(name: str, route: Route) -> str:
    """Its name and all that is not the default but functions of Python, which are there or not."""
    said: list[str] = []
    for field in fields(Route)[1:]:
        value = getattr(route, field.name)
        if value == field.default:
            continue
        if field.name == "parts":
            value = " ".join(map(str, value))
        said.append(field.name if value is True or callable(value) else f"{field.name} {value}")
    return ", ".join([name, *said])


def of_function(function: Function, said_before: set[str]) -> Iterator[str]:
    """said_before: texts of ports, of which the name suffices."""

    def listed(ports: Iterable[Port]) -> str:
        texts = [of_port(port) for port in ports]
        said = [text.split(" ")[0] if text in said_before else text for text in texts]
        said_before.update(texts)
        return "; ".join(said)

    yield f"{function.name}: {function.called} ({function.method}), {function.normal_form}, {function.symbol or '-'}"
    yield f"  takes {listed(function.inputs)}"
    yield f"  gives {listed(function.outputs)}"
    yield from (f"  gives with {name} {listed([port])}" for name, port in function.outputs_with.items())
    yield f"  may take {', '.join(function.takes) or '-'}; as numbers {', '.join(function.numbers) or '-'}"
    turned = [port.name for port in function.inputs if function.takes_configurations(port)]
    yield f"  {function.signature}, configurations {', '.join(turned) or '-'}"
    yield f"  {', '.join(trait for trait in TRAITS if getattr(function, trait)) or '-'}"
    accuracy = ", ".join(f"{x:g}" for x in function.accuracy)
    yield f"  size {tuple(function.size)}, accuracy ({accuracy}), condition {function.condition:g}"
    needs = (f"{key} {value}" for key, value in function.needs._asdict().items() if value)
    yield f"  needs {', '.join(needs) or '-'}; inverse {function.inverse}"
    for step in function.composition:
        yield f"  made of {step.function if isinstance(step, Call) else 'minus product'} {tuple(step)[-2:]}"
    if function.repeat is not None:
        said = (f"{key} {value}" for key, value in function.repeat._asdict().items() if key != "function")
        yield f"  repeated {', '.join(said)}"
    yield from (f"  route {of_route(name, route)}" for name, route in function.routes.items())
    yield f"  derived by {', '.join(function.closed) or '-'}"


def of_size() -> Iterator[Function]:
    """Functions that are made by size."""
    yield from (
        linear_system("solve", 3, 2),
        linear_system("solve_symmetric", 4, 1),
        jvp(linear_system("solve", 30, 3)),
    )
    for turning in (None, (), ((0, 3), (4, 1))):
        yield from riccati.riccati(10, 3, 4, turning)
    yield from riccati_accelerations.functions(5, 4, 0.1).values()
    for place, started in ((1, True), (2, False)):
        yield quadratic_program(Shape(2, 3, 1, (Side(place, 1.0), Side(3, -1.0)), started, 30))
    yield from contact_steps.parts_of(SOLVE, 2, ((True, False, True),))
    for factored in (True, False):
        plan = contact_sweeps.plan_of(contact_tree(2), SOLVE, 3, factored)
        yield from contact_sweeps.parts_of(SOLVE, plan, 6)


@cache
def contact_tree(count: int) -> Tree:
    """A box on so many of its corners."""
    contacts = [condyle.Contact("box", placement=Placement.from_rpy(corner.point)) for corner in CORNERS[:count]]
    return tree_of(box(), bound_of(box(), contacts=contacts))


def table() -> Iterator[str]:
    fd, said_before = FUNCTIONS["fd"], set[str]()
    integrate, mass, forced = FUNCTIONS["integrate"], FUNCTIONS["m"], fd.taking("f_ext")
    derived = (
        *(jvp(fd), vjp(fd), jacobian(fd), jacobian(fd, "v"), hessian(fd)),
        *(jvp(integrate), jvp(jvp(integrate)), vjp(mass), jacobian(mass), hessian(forced), jacobian(forced, "f_ext")),
        *(vjp(FUNCTIONS["dstep"]), jacobian(FUNCTIONS["dfd"], "q"), hessian(FUNCTIONS["cfd"]), vjp(FUNCTIONS["cfd"])),
    )
    repeated = (
        repeat(FUNCTIONS["step"], 7, ("tau",), 3),
        repeat(fd, 1, last=True),
        vjp(repeat(fd, 4, ("q",), summed=("a",))),
    )
    every = (*FUNCTIONS.values(), *AUXILIARY.values())
    whole = (function.taking(*function.takes) for function in every if function.takes)
    for function in (*every, *whole, *derived, *repeated, *of_size()):
        yield from of_function(function, said_before)


def test_what_functions_say_of_themselves(golden) -> None:
    golden("functions.txt", "\n".join(table()) + "\n")


@pytest.mark.parametrize(("contacts", "least"), [(1, 1), (2, 3), (3, 8), (4, None)])
def test_sweeps_go_by_the_shorter_way(contacts: int, least: int | None) -> None:
    """Of n rows and 6 coordinates a sweep takes 12 n products by factors of G, n^2 by G, which takes 3 n (n - 1) once:
    so G is as short from 3 (n - 1) / (12 - n) sweeps on, and never where n is 12."""
    n, tree = 3 * contacts, contact_tree(contacts)
    for sweeps in range(1, 12):
        plan = contact_sweeps.plan_of(tree, SOLVE, sweeps)
        assert plan.factored == (least is None or sweeps < least)
        assert plan.rows == (tuple(range(6 if plan.factored else n)),) * n


def test_long_sweeps_are_loops() -> None:
    """Above 12 000 products: of one contact 9 for a sweep, and 18 before; of four 144, by factors."""
    for contacts, least in ((1, 1332), (4, 84)):
        plans = [contact_sweeps.plan_of(contact_tree(contacts), SOLVE, sweeps) for sweeps in (least - 1, least)]
        assert [plan.loops for plan in plans] == [False, True]
