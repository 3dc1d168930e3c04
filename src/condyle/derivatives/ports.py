"""The specification of a derived function: its ports, in the tangent space where they are of configurations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from condyle.derivatives.names import Name
from condyle.functions import FUNCTIONS
from condyle.model.tree import Tree
from condyle.ports import EXTRA
from condyle.specification import F_EXT, Accuracy, Closed, Columns, Function, Port, Route, Size
from condyle.trace.structure import sizes

LOOSER = {"jvp": 100.0, "vjp": 100.0, "jacobian": 100.0, "hessian": 1000.0}
"""How much larger the error of a derivative may be than the function's.

A derivative of M^-1 has M^-1 twice, the second one three times, and each brings the condition of M once more; terms are
as many times more, and cancel, as a link is carried by joints.
"""


def tangent_dims(port: Port) -> tuple[str, ...]:
    """Of small changes of a quantity: nv of a configuration, also where there is one for each step of time."""
    return tuple("nv" if dim == "nq" else dim for dim in port.dims)


def sizes_of(tree: Tree, ports: Sequence[Port]) -> list[int]:
    """Entries of small changes of ports."""
    return [math.prod(replace(port, dims=tangent_dims(port)).shape(sizes(tree))) for port in ports]


def _called(function: Function, port: Port) -> str:
    """What an answer is called in the names of derivatives: a quantity's name, else the function's, without forces."""
    name = function.variant_of or function.name
    if len(function.outputs) > 1 or port.given_by == name:
        return port.name
    return port.name if any(known.inverse == name for known in FUNCTIONS.values()) else name


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


def _jvp(name: Name) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    return _distinct(name, map(_tangent, name.base.inputs)), tuple(map(_tangent, name.base.outputs))


def _vjp(name: Name) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    return tuple(map(_cotangent, name.base.outputs)), tuple(map(_cotangent, name.base.inputs))


def _jacobian(name: Name) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    by = [port for port in name.base.inputs if port.name in name.by]
    return (), tuple(_partial(name.base, output, port) for output in name.base.outputs for port in by)


def _hessian(name: Name) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
    n = " + ".join(" ".join(tangent_dims(port)) or "1" for port in name.base.inputs)
    doc = "second derivative of the factors times the answers, by all inputs in order"
    return tuple(_factor(name.base, port) for port in name.base.outputs), (
        Port("H", (n, n), "1", "tangent", doc, symmetric=True),
    )


def _distinct(name: Name, ports: map[Port]) -> tuple[Port, ...]:
    """With names that no input of the function has: a function may take both v and dv."""
    taken = {port.name for port in name.base.inputs}
    found: list[Port] = []
    for port in ports:
        while port.name in taken:
            port = replace(port, name=f"d{port.name}")
        taken.add(port.name)
        found.append(port)
    return tuple(found)


_PORTS: Mapping[str, Callable[[Name], tuple[tuple[Port, ...], tuple[Port, ...]]]] = {
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


def _in_words(function: Function) -> str:
    extra = [port for port in function.inputs if function.variant_of and port.name in EXTRA]
    method = function.method.removesuffix("".join(f"_{port.name}" for port in extra)).replace("_", " ")
    said = ["external forces" if port.name == F_EXT.name else port.name for port in extra]
    return f"{method} with {' and '.join(said)}" if said else method


def _size(name: Name) -> Size:
    """About how long straight code is: a coordinate moves what it carries, so that a pair has what a link had."""
    link, pair, triple, row = name.base.size
    if name.kind in ("jvp", "vjp"):
        return Size(3 * link, 3 * pair, 3 * triple, 3 * row)
    if name.kind == "jacobian":
        return Size(link, link, pair + triple, row)
    return Size(3 * link, 3 * link, 3 * (pair + triple), 3 * row)


def _columns(name: Name) -> Columns | None:
    every = [port.name for port in name.base.inputs]
    if name.kind == "jacobian":
        return Columns(f"jvp_{name.of}", tuple(map(every.index, name.by)), False)
    return Columns(f"jvp_vjp_{name.of}", tuple(range(len(every))), True) if name.kind == "hessian" else None


def derived(
    name: Name, ways: Callable[[], Mapping[str, Route]], closed_ways: Callable[[], Mapping[str, Closed]]
) -> Function:
    """The specification."""
    base, factor = name.base, LOOSER[name.kind]
    more, outputs = _PORTS[name.kind](name)
    accuracy = Accuracy(base.accuracy.float64 * factor, min(base.accuracy.float32 * factor, 0.05))
    return replace(
        base,
        name=str(name),
        method=f"{name.kind}_{base.method}" + str(name).removeprefix(f"{name.kind}_{name.of}"),
        call=f"{name.kind}_{base.called}",
        equation=EQUATIONS[name.kind].format(_in_words(base)),
        inputs=(*base.inputs, *more),
        outputs=outputs,
        ways=ways,
        closed_ways=closed_ways,
        size=_size(name),
        columns=_columns(name),
        accuracy=accuracy,
        condition=base.condition * factor,
        normal_form="exact",
        takes_f_ext=False,
        composition=(),
        inverse="",
        parallel_ways=dict,
        numbers=(),
        variant_of="",
        repeat=base.repeat and base.repeat._replace(backwards=True),
    )
