"""A user's function run once on symbols, and what it became: a specification with an algorithm, as any other."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite
from typing import Any, cast

from condyle.backends.common.facts import NAME as SYMBOL
from condyle.backends.common.facts import RESERVED
from condyle.derivatives import derivative
from condyle.derivatives.code import code
from condyle.derivatives.composed import Composed
from condyle.derivatives.products import entries, multiplied, shaped
from condyle.derivatives.recording import Recording, is_composed
from condyle.errors import UnsupportedError
from condyle.functions import function_or_none
from condyle.functions.repeat import iterate
from condyle.identity import Parts, digest, whole
from condyle.ir.expr import Expr, Graph, Value
from condyle.ir.program import constant_of, input_of, operands
from condyle.operations import Node
from condyle.scalar import Scalar, operation
from condyle.specification import F_EXT, Accuracy, Function, Needs, Numerics, Port, Route, Size, Ways
from condyle.symbolic import Symbols
from condyle.user.ports import Asked, Multiplied, Tracer, Values, outputs_of

LONGEST = 20
"""Letters of a function's name in an export, which adds some for derivatives."""


def renamed(function: Function, name: str) -> Function:
    """A user's function by its own name, if generated text may have it, else by "function": for exports."""
    own = name.lower()
    if not SYMBOL.fullmatch(own) or len(own) > LONGEST or own in RESERVED or function_or_none(own) is not None:
        own = "function"
    outputs = tuple(replace(port, given_by=own) for port in function.outputs)
    return replace(function, name=own, method=f"user_{own}", outputs=outputs, content="")


def iterated(function: Function, options: Mapping[str, Any]) -> Function:
    """A function repeated until it is done, as one without a loop around it: for exports. UnsupportedError."""
    if not set(options) <= {"until", "most"}:
        raise UnsupportedError(f"iterate={dict(options)!r}: allowed are 'until' and 'most'")
    loop = iterate(function, options.get("most", 50), options.get("until", "done"))
    names = [port.name for port in loop.inputs]
    run = Composed(lambda recording, inputs: recording.call(loop, *(inputs[name] for name in names)))
    ways, name = Ways(lambda: {"loop": Route(run, recorded=True)}), f"iterate_{function.name}"
    return replace(loop, name=name, method=name, call="", ways=ways, origin=None)


@dataclass(frozen=True, eq=False)
class Traced:
    """What a function does with its inputs: nodes in order, what they ask, and which are its answers.

    needed: the nodes that answers depend on. frames: names, in the order in which a tree is bound with them.
    """

    nodes: tuple[Node, ...]
    inputs: tuple[Port, ...]
    asked: tuple[Asked | Multiplied, ...]
    answers: tuple[tuple[Value, ...], ...]
    needed: tuple[int, ...]
    frames: tuple[str, ...]

    def __call__(self, sweeps: Any) -> tuple[object, ...]:
        """The route: on the scalars that a sweep has."""
        at = Recording(sweeps.tree, derivative)
        given = {port.name: at.leaves(len(sweeps.inputs[port.name])) for port in self.inputs}
        answers = self.record(at, given)
        known: dict[int, Value] = {}
        for name, leaves in given.items():
            known.update((cast(Expr, x).index, value) for x, value in zip(leaves, sweeps.inputs[name], strict=True))
        flat = iter(at.opened([value for answer in answers for value in answer], known))
        return tuple([next(flat) for _ in answer] for answer in answers)

    def record(self, recording: Recording, inputs: Mapping[str, Values]) -> list[list[Value]]:
        """The answers in a recording, where what is asked stays closed."""
        ports: list[Values] = [inputs[port.name] for port in self.inputs]
        ports += [()] * len(self.asked)
        values: dict[int, Value] = {}

        def value_of(value: Value) -> Value:
            return values[value.index] if isinstance(value, Expr) else value

        for k in self.needed:
            node = self.nodes[k]
            if node[0] == "input":
                port, entry = input_of(node)
                asked = port - len(self.inputs)
                if asked >= 0 and not ports[port]:
                    one = self.asked[asked]
                    parts = [[value_of(x) for x in part] for part in one.arguments]
                    ports[port] = (
                        self._called(recording, one, parts)
                        if isinstance(one, Asked)
                        else _product(recording, one, parts)
                    )
                values[k] = ports[port][entry]
            elif node[0] == "const":
                values[k] = constant_of(node)
            else:
                values[k] = cast(Value, operation(node[0], [cast(Scalar, values[x]) for x in operands(node)]))
        return [[value_of(value) for value in answer] for answer in self.answers]

    def _called(self, recording: Recording, asked: Asked, arguments: Sequence[Values]) -> list[Value]:
        """All answers, flat, of a function of frames those of one frame."""
        parts = recording.call(asked.function, *arguments)
        if asked.frame:
            k, n = self.frames.index(asked.frame), len(self.frames)
            parts = tuple(part[k * len(part) // n : (k + 1) * len(part) // n] for part in parts)
        return [value for part in parts for value in part]

    def parts(self) -> dict[str, str]:
        """Hashes of all that says what is computed: inputs, operations, and the constants in them."""
        constants: list[float] = []

        def plain(value: Value) -> int | None:
            if isinstance(value, Expr):
                return value.index
            constants.append(float(value))
            return None

        nodes: list[object] = []
        for k in self.needed:
            node = self.nodes[k]
            is_constant = node[0] == "const"
            nodes.append((k, plain(constant_of(node)) if is_constant else node))
        asked: list[object] = []
        for one in self.asked:
            key = one.function.key if isinstance(one, Asked) else None
            asked.append((key, [[plain(x) for x in part] for part in one.arguments], one[2]))
        answers = [[plain(x) for x in answer] for answer in self.answers]
        inputs = [(port.name, port.dims) for port in self.inputs]
        made = {"inputs": inputs, "operations": (nodes, asked, answers, self.frames), "constants": constants}
        return {name: digest(value) for name, value in made.items()}


def _product(recording: Recording, product: Multiplied, arguments: Sequence[Values]) -> list[Value]:
    """A large product in a recording: as it keeps such, else sums of products."""
    m, inner, n = product.shape
    left, right = shaped(arguments[0], (m, inner)), shaped(arguments[1], (inner, n))
    return entries(multiplied(recording, left, right))


def needed(graph: Graph, first: int, asked: Sequence[Asked | Multiplied], answers: Sequence[Values]) -> list[int]:
    """The nodes that answers depend on, ascending; first: the port behind those of inputs."""
    waiting = [value.index for answer in answers for value in answer if isinstance(value, Expr)]
    found: set[int] = set()
    met: set[int] = set()
    while waiting:
        k = waiting.pop()
        if k in found:
            continue
        found.add(k)
        node = graph.nodes[k]
        waiting += operands(node)
        port = input_of(node)[0] - first if node[0] == "input" else -1
        if port >= 0 and port not in met:
            met.add(port)
            waiting += (x.index for part in asked[port].arguments for x in part if isinstance(x, Expr))
    return sorted(found)


def traced(
    name: str,
    method: str,
    inputs: tuple[Port, ...],
    outputs: Mapping[str, Symbols],
    tracer: Tracer,
    frames: Sequence[str] = (),
) -> tuple[Function, tuple[str, ...], Parts]:
    """The specification of a function that was run on symbols, the frames that it asks for, and what identifies it.

    Its content is the hash of these parts, which its name has too. frames: stand before those that it asks for.
    """
    answers = [tuple(cast("list[Value]", of.entries.ravel().tolist())) for of in outputs.values()]
    kept = needed(tracer.graph, len(inputs), tracer.asked, answers)
    _check_finite(name, [constant_of(tracer.graph.nodes[k]) for k in kept if tracer.graph.nodes[k][0] == "const"])
    _check_finite(name, [x for answer in answers for x in answer if isinstance(x, float)])
    used = {input_of(tracer.graph.nodes[k])[0] - len(inputs) for k in kept if tracer.graph.nodes[k][0] == "input"}
    asked_frames = [one.frame for one in tracer.asked if isinstance(one, Asked) and one.frame]
    every_frame = tuple(dict.fromkeys([*frames, *asked_frames]))
    nodes = tuple(tracer.graph.nodes)
    made = Traced(nodes, inputs, tuple(tracer.asked), tuple(answers), tuple(kept), every_frame)
    shapes = {key: of.shape for key, of in outputs.items()}
    parts = {"name": digest(method), "outputs": digest([*shapes.items()]), **made.parts()}
    content = whole(parts)
    inputs = _ranged(inputs, [tracer.asked[k] for k in used if k >= 0], nodes)
    function = _function(
        content,
        method,
        inputs,
        outputs_of(shapes, inputs, tracer.sizes, _name(content)),
        made,
        sorted(k for k in used if k >= 0),
    )
    return function, made.frames, parts


def _name(content: str) -> str:
    return f"user_{content}"


def alone(name: str, method: str, ports: tuple[Port, ...], output: Mapping[str, Symbols], tracer: Tracer) -> Function:
    """A function with one of its outputs."""
    return traced(name, f"{method}_{next(iter(output))}", ports, output, tracer)[0]


def check_same(name: str, first: Function, second: Function) -> None:
    """UnsupportedError where a function became another one when it was run again."""
    if first != second:
        raise UnsupportedError(
            f"{name} is not the same when it is run again: it has random numbers, the time, or what else changes from "
            "run to run, and the compiled function would keep the first. Make such numbers inputs, compute them "
            "once, outside, or draw them with condyle.random"
        )


def _ranged(inputs: Sequence[Port], asked: Iterable[Asked | Multiplied], nodes: Sequence[Node]) -> tuple[Port, ...]:
    """The inputs; positive are those that are passed on, as they are, for what must be above 0."""
    handed: list[Value] = []
    for one in asked:
        if isinstance(one, Asked):
            pairs = zip(one.function.inputs, one.arguments, strict=True)
            handed += [x for port, part in pairs if port.is_positive for x in part]
    found = [nodes[x.index] for x in handed if isinstance(x, Expr)]
    positive = {input_of(node)[0] for node in found if node[0] == "input"}
    return tuple(replace(port, is_positive=True) if k in positive else port for k, port in enumerate(inputs))


def _check_finite(name: str, constants: Sequence[float]) -> None:
    if not all(map(isfinite, constants)):
        raise UnsupportedError(
            f"{name}: a constant is infinite or no number (np.inf, np.nan, a division by 0); use a large number"
        )


def _function(
    content: str, method: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...], traced: Traced, used: Sequence[int]
) -> Function:
    every = [traced.asked[k] for k in used]
    asked = [one.function for one in every if isinstance(one, Asked)]
    seen = [one.needs.reference_frames for one in asked if one.needs.reference_frames]

    def ways() -> dict[str, Route]:
        keeps = len(asked) < len(every) or any(map(is_composed, asked))
        whole = partial(code, function=function, record=traced.record, derive=derivative) if keeps else None
        return {"traced": Route(traced, whole=whole)}

    sizes = [one.size for one in asked]
    numerics = Numerics(
        Size(*(sum(parts) for parts in zip(*sizes, strict=True))) if asked else Size(0),
        Accuracy(1e-9, 1e-3),
        max((one.condition for one in asked), default=0.0),
    )
    needs = Needs(
        tuple(dict.fromkeys(option for one in asked for option in one.taking(F_EXT).options)),
        tuple(frame for frame in (seen[0] if seen else ()) if all(frame in frames for frames in seen)),
        next((one.needs.contact_kinds for one in asked if one.needs.contact_kinds), ()),
        any(one.needs.mass for one in asked),
        joint_rows=all(one.root.needs.joint_rows for one in asked if "contacts" in one.options),
    )
    function = Function(
        _name(content),
        method,
        "a user's function",
        inputs,
        outputs,
        Ways(ways),
        numerics,
        needs=needs,
        call=method.removeprefix("user_"),
        content=content,
    )
    return function
