"""What the specification of a derivative says: its ports, in the tangent space where they are of configurations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from condyle.specification import F_EXT, Derivative, Function, Port, Size
from condyle.specification.ports import EXTRA

LOOSER = {"jvp": 100.0, "vjp": 100.0, "jacobian": 100.0, "hessian": 1000.0}
"""How much larger the error of a derivative may be than the function's.

A derivative of M^-1 has M^-1 twice, the second one three times, and each brings the condition of M once more; terms are
as many times more, and cancel, as a link is carried by joints.
"""


def tangent_dims(port: Port) -> tuple[str, ...]:
    """Of small changes of a quantity: nv of a configuration, also where there is one for each step of time."""
    return tuple("nv" if dim == "nq" else dim for dim in port.dims)


def _called(function: Function, port: Port) -> str:
    """What an answer is called in the names of derivatives: a quantity's name, else the function's, without forces."""
    name = function.plain.name
    return port.name if len(function.outputs) > 1 or port.given_by == name else function.symbol or name


def _tangent(port: Port) -> Port:
    doc = f"tangent of {port.name}: a direction, in the local tangent of a configuration"
    return Port(f"d{port.name}", tangent_dims(port), port.unit, port.frame, doc)


def _cotangent(port: Port) -> Port:
    doc = f"cotangent of {port.name}: the derivative of a number by it"
    return Port(f"{port.name}_bar", tangent_dims(port), f"1 / ({port.unit})", port.frame, doc)


def _partial(function: Function, output: Port, by: Port) -> Port:
    dims = (*tangent_dims(output), *tangent_dims(by))
    name = f"d{_called(function, output)}_d{by.name}"
    doc = f"derivative of {output.name} by {by.name}, the output's entries first"
    return Port(name, dims, f"({output.unit}) / ({by.unit})", output.frame, doc)


def _factor(function: Function, output: Port) -> Port:
    name = "lam" if len(function.outputs) == 1 else f"lam_{output.name}"
    return Port(name, tangent_dims(output), "1", output.frame, f"factors of the entries of {output.name}")


def _jvp(origin: Derivative) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    return _distinct(origin, map(_tangent, origin.function.inputs)), tuple(map(_tangent, origin.function.outputs))


def _vjp(origin: Derivative) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    return tuple(map(_cotangent, origin.function.outputs)), tuple(map(_cotangent, origin.function.inputs))


def _jacobian(origin: Derivative) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    by = [port for port in origin.function.inputs if port.name in origin.by]
    return (), tuple(_partial(origin.function, output, port) for output in origin.function.outputs for port in by)


def _hessian(origin: Derivative) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    n = " + ".join(" ".join(tangent_dims(port)) or "1" for port in origin.function.inputs)
    doc = "second derivative of the factors times the answers, by all inputs in order"
    return tuple(_factor(origin.function, port) for port in origin.function.outputs), (
        Port("H", (n, n), "1", "tangent", doc, symmetric=True),
    )


def _distinct(origin: Derivative, ports: map[Port]) -> tuple[Port, ...]:
    """With names that no input of the function has: a function may take both v and dv."""
    taken = {port.name for port in origin.function.inputs}
    found: list[Port] = []
    for port in ports:
        while port.name in taken:
            port = replace(port, name=f"d{port.name}")
        taken.add(port.name)
        found.append(port)
    return tuple(found)


_PORTS: Mapping[str, Callable[[Derivative], tuple[tuple[Port, ...], tuple[Port, ...]]]] = {
    "jvp": _jvp,
    "vjp": _vjp,
    "jacobian": _jacobian,
    "hessian": _hessian,
}

EQUATIONS = {
    "jvp": "the derivative of {} along a tangent",
    "vjp": "the derivative of the cotangent times {}, by every input",
    "jacobian": "the derivatives of {} by inputs",
    "hessian": "the symmetric second derivative of lam^T f at e = 0, f being {} of inputs moved by e",
}


def ports_of(origin: Derivative) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    """What it takes behind the inputs of the function, and what it answers."""
    return _PORTS[origin.kind](origin)


def in_words(function: Function) -> str:
    """A function in the equations of its derivatives."""
    extra = [port for port in function.inputs if function.plain is not function and port.name in EXTRA]
    method = function.plain.method.replace("_", " ")
    said = ["external forces" if port.name == F_EXT.name else port.name for port in extra]
    return f"{method} with {' and '.join(said)}" if said else method


def size_of(origin: Derivative) -> Size:
    """About how long straight code is: a coordinate moves what it carries, so that a pair has what a link had."""
    link, pair, triple, row = origin.function.size
    if origin.kind in ("jvp", "vjp"):
        return Size(3 * link, 3 * pair, 3 * triple, 3 * row)
    if origin.kind == "jacobian":
        return Size(link, link, pair + triple, row)
    return Size(3 * link, 3 * link, 3 * (pair + triple), 3 * row)
