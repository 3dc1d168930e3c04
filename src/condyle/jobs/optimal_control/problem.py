"""What an optimal control problem is made of, as functions of one knot: motion, costs, limits, and bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from condyle.derivatives import derivative
from condyle.derivatives.code import program_of
from condyle.errors import ShapeError, UnsupportedError
from condyle.functions.steps import STEP
from condyle.ir.expr import Expr
from condyle.ir.program import input_of
from condyle.model.robot import Robot
from condyle.model.tree import Tree, tree_of
from condyle.specification import Bound, Function, Port
from condyle.symbolic import Symbols
from condyle.symbolic.arrays import entries_of
from condyle.trace.straight import sizes
from condyle.user.ports import Asked, Sizes, Tracer, answers_of, inputs_of
from condyle.user.state import State
from condyle.user.traced import needed, traced

Reals = NDArray[np.float64]
Answers = Mapping[str, Any]
ANSWERS = ("residual", "cost", "equal", "below")
"""What users' functions may answer."""
TORQUE = "torque"
"""What inverse dynamics answers, where the controls are accelerations."""
TAKEN = re.compile(
    "residual|cost|equal|below|torque|[quv]|state|search|asked|free|slack|multiplier|price|d(slack|multiplier|price)|"
    "gradient|facts|moves|accepted|done|reg|d[xu]|[FM][xu]|H[xuQVU]|Q[xuQVU]|[VK][QV]?|[EJLSY]|costate|unit|curves?|cost_factor|"
    "(after|new|next|last|start|zero|given|all|by|each)_.*|.*_(bar|weight)"
)
"""Names that no input may have: those of our own arrays."""


class Side(NamedTuple):
    """A bound: sign (z - limit) / scale <= 0, z an entry of "q", "v", "u" or TORQUE; tangent: of its tangent."""

    quantity: str
    entry: int
    tangent: int
    sign: float
    limit: float
    scale: float


@dataclass(frozen=True)
class Rules:
    """Functions of one knot, each (q, v, u, inputs) -> answers, without u at the last knot; None: nothing is asked.

    costs: "residual" and "cost". curvature: "cost" alone. limits: "equal" and "below". sides: bounds, which are rows of
    limits too, behind those of "below". lengths: of answers. of_state, equal_of_state: rows that do not depend on u.
    """

    costs: Function | None
    curvature: Function | None
    limits: Function | None
    sides: tuple[Side, ...]
    lengths: Mapping[str, int]
    of_state: tuple[bool, ...]
    equal_of_state: tuple[bool, ...]

    @property
    def below(self) -> int:
        """Rows that are at most 0."""
        return self.lengths.get("below", 0) + len(self.sides)

    @property
    def equal(self) -> int:
        return self.lengths.get("equal", 0)

    @property
    def has_given_rows(self) -> bool:
        """Whether the first knot, whose state is given, is not asked of some rows."""
        return any(self.of_state) or any(self.equal_of_state)


def function_of(
    robot: Robot, bound: Bound, name: str, inputs: Mapping[str, Any], f: Callable[..., Answers]
) -> Function:
    """A function of `f(call, values)` run on symbols; call(function, ...) computes another one, such as a derivative.

    inputs: names, and sizes as of a user's function. With sparse=True of a call, answers that are 0 whatever the state
    are plain zeros.
    """
    tree = tree_of(robot, bound)
    known = sizes(tree)
    tracer, ports = Tracer(known), inputs_of(inputs, Sizes.joined(known, None))
    symbols = {port.name: tracer.input(port) for port in ports}

    def call(function: Function, *arguments: Any, sparse: bool = False) -> Sequence[Any]:
        answers = tracer.call(function, arguments, "")
        return (
            [without(x, places) for x, places in zip(answers, _zeros(tree, function), strict=True)]
            if sparse
            else answers
        )

    def without(answer: Symbols, places: list[int]) -> Symbols:
        entries = answer.entries.copy()
        entries.flat[places] = 0.0
        return Symbols(entries, tracer)

    answers = f(call, symbols)
    outputs = {key: Symbols(entries_of(value, tracer), tracer) for key, value in answers.items()}
    return traced(name, f"user_{name}", ports, outputs, tracer, bound.frames)[0]


def _zeros(tree: Tree, function: Function) -> list[list[int]]:
    """Of each answer of a derivative, flat, the places of entries that are 0 whatever the state."""
    program = program_of(tree, function, derivative)
    other = {(output.array, output.index) for output in program.outputs}
    return [[i for i in range(array.size) if (k, i) not in other] for k, array in enumerate(program.arrays)]


@dataclass(frozen=True)
class Written:
    """A function that a user wrote of one knot. names: what it takes beside the state. lengths: of what it answers.

    of_state: of each entry of an answer, whether it does not depend on u. frames: those that it asks for. dt: [s] of
    the robot's own step, where that is all it answers, else 0.
    """

    f: Callable[..., Any]
    name: str
    names: tuple[str, ...]
    lengths: Mapping[str, int]
    of_state: Mapping[str, tuple[bool, ...]]
    frames: tuple[str, ...]
    dt: float = 0.0

    def part(self, robot: Robot, bound: Bound, inputs: Mapping[str, Any], names: Sequence[str]) -> Function | None:
        """The function of some answers; None where there are none of them. inputs: of all functions of this knot."""
        asked = [name for name in names if name in self.lengths]
        if not asked:
            return None
        tracer, ports = Tracer(sizes(tree_of(robot, bound))), inputs_of(inputs, _sizes(robot, bound))
        answers = _run(robot, bound, self.f, self.name, self.names, ports, tracer)
        some = {name: answers[name] for name in asked}
        return traced(self.name, f"user_{asked[0]}", ports, some, tracer, bound.frames)[0]


NOTHING = Written(dict, "last", (), {}, {}, ())
"""Nothing is asked."""


def written(
    robot: Robot,
    bound: Bound,
    what: str,
    f: Callable[..., Any],
    inputs: Mapping[str, Any],
    names: tuple[str, ...],
    allowed: Sequence[str],
) -> Written:
    """A user's function, run once to see what it answers. names: of inputs that it takes. allowed: what it may answer.

    UnsupportedError for another answer; ShapeError for a cost that is no number.
    """
    name = getattr(f, "__name__", what)
    tracer, ports = Tracer(sizes(tree_of(robot, bound))), inputs_of(inputs, _sizes(robot, bound))
    answers = _run(robot, bound, f, name, names, ports, tracer)
    wrong = [key for key in answers if key not in allowed]
    if wrong:
        raise UnsupportedError(f"{name}: it answers {wrong[0]!r}; allowed is {', '.join(map(repr, ANSWERS))}")
    if "cost" in answers and answers["cost"].shape != (1,):
        raise ShapeError(f"{name}: cost has {answers['cost'].shape[0]} entries, expected one number")
    frames = traced(name, "user_function", ports, answers, tracer)[1]
    controls = [k for k, port in enumerate(ports) if port.name == "u"]

    def is_of_state(value: Any) -> bool:
        nodes = needed(tracer.graph, len(ports), tracer.asked, [(value,)])
        leaves = [tracer.graph.nodes[k] for k in nodes if tracer.graph.nodes[k][0] == "input"]
        return not any(input_of(leaf)[0] in controls for leaf in leaves)

    of_state = {key: tuple(map(is_of_state, value.entries)) for key, value in answers.items()}
    lengths = {key: value.shape[0] for key, value in answers.items()}
    dt = _dt(tracer, ports, answers) if what == "dynamics" else 0.0
    return Written(f, name, names, lengths, of_state, frames, dt)


def _dt(tracer: Tracer, ports: Sequence[Port], answers: Mapping[str, Symbols]) -> float:
    """dt of the robot's step from q, v, where "q" and "v" are its answers and dt is a number; else 0."""
    names = [port.name for port in ports]

    def are(values: Sequence[Any], port: int) -> bool:
        leaves = [tracer.graph.input(port, k) for k in range(len(values))]
        return all(isinstance(x, Expr) and x.index == leaf.index for x, leaf in zip(values, leaves, strict=True))

    after = [x for name in ("q", "v") if name in answers for x in answers[name].entries]
    for port, asked in enumerate(tracer.asked, len(ports)):  # the port of its answers
        if isinstance(asked, Asked) and asked.function.outputs == STEP.outputs and are(after, port):
            before = {port.name: values for port, values in zip(asked.function.inputs, asked.arguments, strict=True)}
            (dt,) = before["dt"]
            return dt if isinstance(dt, float) and all(are(before[x], names.index(x)) for x in ("q", "v")) else 0.0
    return 0.0


def _sizes(robot: Robot, bound: Bound) -> Sizes:
    return Sizes.joined(sizes(tree_of(robot, bound)), None)


def _run(
    robot: Robot,
    bound: Bound,
    f: Callable[..., Any],
    name: str,
    names: Sequence[str],
    ports: Sequence[Port],
    tracer: Tracer,
) -> dict[str, Symbols]:
    """The answers of a user's function at symbols, each one axis."""
    symbols = {port.name: tracer.input(port) for port in ports}
    state = State({key: symbols[key] for key in ("q", "v")}, tracer, robot, bound)

    def flat(answers: Any) -> Any:
        if not isinstance(answers, dict):
            return answers
        return {
            key: Symbols(np.concatenate([part.ravel() for part in _parts(value, tracer)]), tracer)
            for key, value in cast("dict[str, Any]", answers).items()
        }

    return answers_of(name, lambda: flat(f(state, **{key: symbols[key] for key in names})), tracer)


def _parts(value: Any, tracer: Tracer) -> list[Any]:
    """The entries of an array, or of a list of arrays of any lengths."""
    if isinstance(value, (list, tuple)):
        return [entries for part in cast("Sequence[Any]", value) for entries in _parts(part, tracer)]
    return [entries_of(value, tracer)]
