"""What is said of every function, as a text for people; `--update-golden` rewrites it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields

from condyle.derivatives import DERIVATIVE_KINDS, derivative
from condyle.functions import AUXILIARY, FUNCTIONS
from condyle.functions.repeat import iterate, repeat
from condyle.specification import Function
from condyle.specification.ports import CONTROLS, EXTRA, F_EXT, IMPLICIT, INERTIAS, JOINT_IMPULSE, Port
from condyle.specification.routes import Route

WORDS = {"name", "unit", "frame", "doc"}
FLAGS = ("solves", "solves_own", "inverts", "takes_f_ext", "may_take_f_ext", "has_forces", "is_vector")
ROUTE_FLAGS = ("loops", "alone", "shallow", "baseline", "part", "size", "alias", "recorded")


def marks(value: object, names: tuple[str, ...]) -> str:
    """What is not empty of these attributes; of what is true the name alone."""
    there = {name: getattr(value, name) for name in names}
    return " ".join(name if x is True else f"{name}={x}" for name, x in there.items() if x)


def port_row(port: Port) -> str:
    """A port with all that is not the default, without its words."""
    more = {one.name: getattr(port, one.name) for one in fields(port) if one.name not in {*WORDS, "dims"}}
    usual = {one.name: one.default for one in fields(port)}
    said = [f"{name}={x}" for name, x in more.items() if x != usual[name]]
    return f"{port.name}[{','.join(port.dims)}]{'{' + ' '.join(said) + '}' if said else ''}"


def route_row(name: str, route: Route) -> str:
    whole = [part for part in ("factors", "whole") if getattr(route, part) is not None]
    return " ".join(x for x in (name, marks(route, ROUTE_FLAGS), *whole) if x)


def rows(function: Function) -> Iterator[str]:
    yield f"{function.name}: {function.called} {function.normal_form}"
    yield f"  in   {' '.join(map(port_row, function.inputs))}"
    yield f"  out  {' '.join(map(port_row, function.outputs))}"
    yield f"  has  {marks(function, (*FLAGS, 'condition'))}".rstrip()
    yield f"  size {tuple(function.size)} {tuple(function.accuracy)} {tuple(function.needs)}"
    taken = [port.name for port in function.inputs if function.takes_configurations(port)]
    named = [port.name for port in function.named_outputs]
    yield f"  call {function.signature} of configurations {' '.join(taken)} gives {' '.join(named)}"
    if function.origin is not None:
        known = f"{function.root} {function.plain} {function.without_forces}"
        yield f"  made {known}{'' if function.repeat is None else f' rows={function.repeat.rows}'}"
    if function.takes:
        yield f"  take {' '.join(function.takes)} | {' '.join(function.numbers)}"
    if function.outputs_with:
        yield f"  with {' '.join(f'{name}: {port_row(port)}' for name, port in function.outputs_with.items())}"
    if function.composition:
        yield f"  from {' '.join(f'{step!s}' for step in function.composition)}"
    if function.closed:
        yield f"  know {' '.join(sorted(function.closed))}"
    yield from (f"  by   {route_row(name, route)}" for name, route in function.routes.items())


def variants(function: Function) -> Iterator[Function]:
    """A function with forces, with inertias, with controls, with what steps give, with all that it can take."""
    for taken in ((F_EXT,), (INERTIAS,), (CONTROLS,), (CONTROLS, IMPLICIT), function.takes):
        yield function.taking(*taken)


def test_what_is_said_of_every_function(golden: Callable[[str, str], None]) -> None:
    every = [*FUNCTIONS.values(), *AUXILIARY.values()]
    more = [one for function in every for one in variants(function)]
    made = [derivative(kind, FUNCTIONS[name]) for kind in DERIVATIVE_KINDS for name in ("id", "fd", "m", "step")]
    made += [
        derivative("vjp", FUNCTIONS["fd"].taking(F_EXT, INERTIAS)),
        derivative("jacobian", FUNCTIONS["id"], ("q",)),
    ]
    made += [repeat(FUNCTIONS["step"], 7, by_time=("tau",), every=3), repeat(FUNCTIONS["step"], 7, last=True)]
    made += [iterate(FUNCTIONS["ke"], 7, "kinetic_energy")]
    unique = dict.fromkeys([*every, *more, *made])
    ports = [port_row(port) for port in (*EXTRA.values(), JOINT_IMPULSE)]
    golden("functions.txt", "\n".join([*ports, *(row for function in unique for row in rows(function))]) + "\n")
