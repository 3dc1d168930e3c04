"""Derivatives of functions, which are functions again: `vjp(FORWARD_DYNAMICS)` and its kin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

from condyle.derivatives.ports import EQUATIONS, LOOSER, in_words, ports_of, size_of
from condyle.errors import UnsupportedError
from condyle.specification import Accuracy, Closed, Columns, Derivative, Function, Numerics, Port, Route, Ways, names
from condyle.specification.names import DERIVATIVE_KINDS as DERIVATIVE_KINDS


def columns_of(function: Function) -> Columns | None:
    """What gives a column of a Jacobian or of a Hessian; None for other functions."""
    origin = function.origin
    if not isinstance(origin, Derivative) or origin.kind not in ("jacobian", "hessian"):
        return None
    every = [port.name for port in origin.function.inputs]
    if origin.kind == "jacobian":
        return Columns(jvp(origin.function), tuple(map(every.index, origin.by)), False)
    return Columns(jvp(vjp(origin.function)), tuple(range(len(every))), True)


def derivative(kind: str, function: Function, by: Sequence[str] | str | None = None) -> Function:
    """A derivative of a function by some of its inputs, None is all; UnsupportedError for inputs that it has not."""
    every = tuple(port.name for port in function.inputs)
    if function.repeat is not None and function.repeat.until:
        raise UnsupportedError(
            f"{kind}({function.name!r}): an iteration that ends has no such derivative: roll out a fixed number of "
            "steps, or take the derivatives of its function at the last answer"
        )
    if function.repeat is not None and (kind != "vjp" or function.repeat.backwards):
        raise UnsupportedError(
            f"{kind}({function.name!r}): of a rollout there is vjp; roll out the {kind} of its step, say"
        )
    if by is None:
        return _once(Derivative(kind, function, every))
    chosen = (by,) if isinstance(by, str) else tuple(by)
    if not chosen or any(name not in every for name in chosen) or len(set(chosen)) < len(chosen):
        raise UnsupportedError(
            f"{kind}({function.name!r}, by={by!r}): give some of its inputs, each once: {', '.join(every)}"
        )
    return _once(Derivative(kind, function, tuple(name for name in every if name in chosen)))


def taking(function: Function, *ports: Port | str) -> Function:
    """The function that takes these too; of a derivative, the same one of the function that does."""
    origin = function.origin
    if not isinstance(origin, Derivative) or function.repeat is not None:
        return function.taking(*ports)
    return derivative(origin.kind, taking(origin.function, *ports), origin.by if origin.is_partial else None)


def jvp(function: Function) -> Function:
    """The derivative along tangents of the inputs."""
    return derivative("jvp", function)


def vjp(function: Function) -> Function:
    """The derivatives of cotangents times the answers, by every input."""
    return derivative("vjp", function)


def jacobian(function: Function, by: Sequence[str] | str | None = None) -> Function:
    """The derivatives of all answers by some inputs; None is all."""
    return derivative("jacobian", function, by)


def hessian(function: Function) -> Function:
    """The symmetric second derivative of factors times the answers, by all inputs."""
    return derivative("hessian", function)


def _once(origin: Derivative) -> Function:
    return origin.function.once((origin.kind, origin.by), partial(_derived, origin))


def _derived(origin: Derivative) -> Function:
    base, factor = origin.function, LOOSER[origin.kind]
    more, outputs = ports_of(origin)
    accuracy = Accuracy(base.accuracy.float64 * factor, min(base.accuracy.float32 * factor, 0.05))
    said = origin.by if origin.is_partial or (origin.kind == "jacobian" and names.ends_in_ports(base.name)) else ()
    name = names.derivative(origin.kind, base.name, said)
    is_rollout = base.repeat is not None
    return base.another(
        origin,
        name=name,
        method=f"{origin.kind}_{base.method}" + name.removeprefix(f"{origin.kind}_{base.name}"),
        call=f"{origin.kind}_{base.called}",
        equation=EQUATIONS[origin.kind].format(in_words(base)),
        inputs=(*base.inputs, *more),
        outputs=outputs,
        ways=Ways() if is_rollout else Ways(partial(_ways, origin), closed=partial(_closed_ways, origin)),
        numerics=Numerics(size_of(origin), accuracy, base.condition * factor),
        normal_form="exact",
    )


def _ways(origin: Derivative) -> Mapping[str, Route]:
    from condyle.derivatives.code import ways

    return ways(_once(origin), derivative)


def _closed_ways(origin: Derivative) -> Mapping[str, Closed]:
    from condyle.derivatives.second import closed

    return closed(_once(origin))
