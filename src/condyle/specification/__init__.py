"""What a function of a robot is: its ports, how it is computed, and what a target or a user has to know of it.

`condyle.functions` has the functions themselves. Everything else reads a specification: methods, errors, documents,
C headers, packed layouts, exports, `check`, `explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeAlias

from condyle.specification import names
from condyle.specification.ports import (
    ARMATURE,
    CONTACT_NUMBERS,
    CONTROLS,
    DRIVEN,
    EXTRA,
    F_EXT,
    IMPLICIT,
    INERTIAS,
    NEXT,
    Port,
    by_controls,
)
from condyle.specification.ports import UNBOUND as UNBOUND
from condyle.specification.ports import Bound as Bound
from condyle.specification.ports import Drive as Drive
from condyle.specification.ports import Drives as Drives
from condyle.specification.routes import Route, Size

NormalForm: TypeAlias = Literal["exact", "joint_space"]


class Call(NamedTuple):
    """A step of a composition: another function; the names of its answers, and of its inputs.

    takes: empty where the inputs have the names of the function's own ports.
    """

    function: Function
    gives: tuple[str, ...]
    takes: tuple[str, ...] = ()


class MinusProduct(NamedTuple):
    """A step of a composition: gives = - left right, of joint-space matrices."""

    left: str
    right: str
    gives: str


Composition: TypeAlias = tuple["Call | MinusProduct", ...]
"""A function made of others, in an order in which every quantity is known before it is used."""


class Columns(NamedTuple):
    """A matrix whose columns are a derivative along unit vectors.

    function: takes the same inputs, and behind them a tangent of each. by: numbers of the inputs whose unit vectors
    they are. symmetric: the matrix is one, all answers below each other; else there is one for each answer and input.
    """

    function: Function
    by: tuple[int, ...]
    symmetric: bool


class Taking(NamedTuple):
    """A function with more inputs: names of `condyle.specification.ports.EXTRA`, in the order of `Function.takes`."""

    function: Function
    ports: tuple[str, ...]


class Derivative(NamedTuple):
    """A derivative of a function: jvp, vjp, jacobian or hessian; by: names of the inputs that it is taken by."""

    kind: str
    function: Function
    by: tuple[str, ...]

    @property
    def is_partial(self) -> bool:
        """Whether it is by some of the inputs only."""
        return len(self.by) < len(self.function.inputs)


class Repeat(NamedTuple):
    """A function repeated over time: the next step takes what a step answers.

    function: the function. steps: how many. carried: names of outputs that are inputs of the next step;
    at the first one they are given. by_time: inputs with a value for each step, the time axis first; others are held.
    every: answers are those of every so many steps and of the last one, with a time axis; 0: of the last alone. summed:
    outputs whose answers are sums over all steps, without time axis. backwards: it is the vjp of all that.
    until: an output of one number; the first step that answers more than 0 is the last one of that state, after which
    its answers stay; steps are then the most that are taken, and how many were is one more answer, `iterations`.
    together: such a step ends the loop for all states of a call, which are candidates of one query.
    straight: how many steps are written out where a target has no loops inside functions; 0: all of them.
    """

    function: Function
    steps: int
    carried: tuple[str, ...]
    by_time: tuple[str, ...] = ()
    every: int = 1
    summed: tuple[str, ...] = ()
    backwards: bool = False
    until: str = ""
    together: bool = False
    straight: int = 0

    @property
    def rows(self) -> int:
        """How many steps answers are of, where they have a time axis."""
        return -(-self.steps // self.every) if self.every else 1


Origin: TypeAlias = "Taking | Derivative | Repeat"
"""What a function was made of."""

Closed: TypeAlias = Callable[..., "Mapping[str, Sequence[Any]]"]
"""A derivative in closed form: (calls, inputs) -> the answers by name, each flat. calls.call(function, *inputs) is
another function's answers; inputs: by name, each flat, of the function and of the derivative."""


class Accuracy(NamedTuple):
    """The error allowed, relative to the largest entry of an answer, by number type."""

    float64: float
    float32: float


SOME, ROUNDING = Size(600), Accuracy(1e-12, 2e-5)
"""Of functions that say nothing."""


class Ways(NamedTuple):
    """How a function is computed: tables that are made when they are first needed, so that to describe a function
    imports no algorithm.

    serial: routes by name; the first is the reference's. closed: what is known of derivatives, by kind; others are made
    from the algorithm.
    """

    serial: Callable[[], Mapping[str, Route]] = dict[str, Route]
    closed: Callable[[], Mapping[str, Closed]] = dict[str, Closed]


class Numerics(NamedTuple):
    """size: about how many operations it has. accuracy: what an answer may err by. condition: so many roundings it errs
    by for each unit of the condition number of M, because it is solved with; 0 where it is not.
    """

    size: Size = SOME
    accuracy: Accuracy = ROUNDING
    condition: float = 0.0


class Needs(NamedTuple):
    """What a robot must have, and be compiled with.

    options: what it depends on of `Bound`. reference_frames, contact_kinds: those that it has a meaning for, where
    these are not all. mass: a robot without mass has no such quantity. drives: "forces" or "actuators" of `Drives`.
    joint_rows: with these it has a meaning without contacts.
    """

    options: tuple[str, ...] = ()
    reference_frames: tuple[str, ...] = ()
    contact_kinds: tuple[str, ...] = ()
    mass: bool = False
    drives: str = ""
    joint_rows: bool = False


NO_WAYS, USUAL, NOTHING = Ways(), Numerics(), Needs()
"""Of functions that say nothing."""


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a robot: a value, which others are made of by `taking`, `condyle.derivatives` and
    `condyle.functions.repeat`.

    name, method: the short name and the method of `Dynamics`. inputs, outputs: in calling order. source: where the
    equation or the algorithm is from. takes: names of what can be taken behind the inputs, of
    `condyle.specification.ports.EXTRA`: external forces, numbers of the robot. normal_form: "joint_space" says that
    answers are joint-space quantities alone, so that inertias may be regrouped and link frames turned. composition: of
    functions made of others. inverse: the function that gives the last input back when it takes the answer instead.
    outputs_with: what it answers more when it takes the input of this name. symbol: what names of derivatives call its
    answer, where this is not its own name. call: the method that a user calls, where it is not `method`.
    content: of a user's function, the hash of all that it computes. origin: what it was made of; nothing for those that
    began.

    Two are equal if they are the same, or made alike of the same; no hash of content is computed for that.
    """

    name: str
    method: str
    equation: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ways: Ways = NO_WAYS
    numerics: Numerics = USUAL
    source: str = ""
    takes: tuple[str, ...] = ()
    normal_form: NormalForm = "exact"
    composition: Composition = ()
    inverse: Function | None = None
    outputs_with: Mapping[str, Port] = field(default_factory=dict[str, Port])
    needs: Needs = NOTHING
    symbol: str = ""
    call: str = ""
    content: str = ""
    origin: Origin | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Function) or self.name != other.name:
            return False
        if self.origin is not None:
            return self.origin == other.origin
        return self.content != "" and self.content == other.content

    def __hash__(self) -> int:
        return hash(self.name)

    def __repr__(self) -> str:
        return f"<Function {self.name}>"

    def __str__(self) -> str:
        return self.name

    @cached_property
    def key(self) -> str:
        """sha256 (hex) of the canonical form: what is kept on disk is found by it. Equal in every process."""
        from condyle.identity import digest  # at first use: it needs NumPy

        if self.origin is None:
            return digest(("function", self.name, self.content))
        kind = type(self.origin).__name__.lower()
        return digest((kind, *(part.key if isinstance(part, Function) else part for part in self.origin)))

    @cached_property
    def _others(self) -> dict[object, Function]:
        return {}

    def once(self, how: object, make: Callable[[], Function]) -> Function:
        """What is made of it so: the same value for all who ask, which lives no longer than this function."""
        other = self._others.get(how)
        return self._others.setdefault(how, make()) if other is None else other

    @property
    def called(self) -> str:
        """What a user calls it, for messages: the method, without the inputs that a variant takes by name."""
        return self.call or self.method

    @cached_property
    def closed(self) -> Mapping[str, Closed]:
        return self.ways.closed()

    @cached_property
    def routes(self) -> Mapping[str, Route]:
        return self.ways.serial()

    @property
    def size(self) -> Size:
        return self.numerics.size

    @property
    def accuracy(self) -> Accuracy:
        return self.numerics.accuracy

    @property
    def condition(self) -> float:
        return self.numerics.condition

    @property
    def options(self) -> tuple[str, ...]:
        """What it depends on of `Bound`."""
        return self.needs.options

    @property
    def solves(self) -> bool:
        """Whether its answers are products with M^-1, its own or a given one."""
        return self.condition > 0.0

    @property
    def solves_own(self) -> bool:
        """The same with the inverse of the robot's own M: with other inertias there may be one where it has none."""
        return self.solves and not any(port in self.inputs for port in (INERTIAS, ARMATURE))

    @property
    def inverts(self) -> bool:
        """Whether it needs an inverse of M that it is not given."""
        given = {port.name for port in self.inputs}
        known = any(isinstance(step, MinusProduct) and step.left in given for step in self.composition)
        return self.solves_own and not known

    @property
    def takes_f_ext(self) -> bool:
        """Whether external forces can be taken."""
        return F_EXT.name in self.takes

    @property
    def may_take_f_ext(self) -> bool:
        """Whether external forces can be taken or left out, with the same answers."""
        return self.takes_f_ext and F_EXT.name not in self.outputs_with

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the robot's numbers that can be taken, and of controls."""
        return tuple(name for name in self.takes if name not in (F_EXT.name, IMPLICIT.name))

    @property
    def plain(self) -> Function:
        """The function without what was taken."""
        return self.origin.function if isinstance(self.origin, Taking) else self

    @property
    def has_forces(self) -> bool:
        """Whether external forces are among the inputs."""
        return any(port.name == F_EXT.name for port in self.inputs)

    @property
    def without_forces(self) -> Function:
        """The function without the external forces that were taken."""
        if not isinstance(self.origin, Taking) or F_EXT.name not in self.origin.ports:
            return self
        return self.origin.function.taking(*(name for name in self.origin.ports if name != F_EXT.name))

    @property
    def root(self) -> Function:
        """The function that all that it is made of began with; a rollout is its own."""
        return self.origin.function.root if isinstance(self.origin, (Taking, Derivative)) else self

    @property
    def repeat(self) -> Repeat | None:
        """How a rollout, or what a vjp of one is of, is repeated."""
        if isinstance(self.origin, Derivative):
            repeat = self.origin.function.repeat
            return None if repeat is None else repeat._replace(backwards=True)
        return self.origin if isinstance(self.origin, Repeat) else None

    def takes_configurations(self, port: Port) -> bool:
        """Whether an input is a configuration, or one for each time step."""
        in_time = self.repeat is not None and port.name in self.repeat.by_time
        return port.dims[in_time:] == ("nq",)

    @property
    def named_outputs(self) -> tuple[Port, ...]:
        """The outputs as generated code calls them: none has the name of an input."""
        taken = {port.name for port in self.every_input}
        return tuple(
            replace(port, name=NEXT.format(port.name)) if port.name in taken else port for port in self.outputs
        )

    def taking(self, *ports: Port | str) -> Function:
        """The function that takes these too, as far as it depends on them, behind its inputs.

        With numbers of the robot, bodies are as they are given and nothing is known of them: straight code alone, of
        the exact model. With flags of contacts it depends on these, whose frames are fixed when a robot is compiled.
        """
        asked = {port if isinstance(port, str) else port.name for port in ports}
        more = asked.intersection(self.takes)
        if not more:
            return self
        taken = more.union(self.origin.ports if isinstance(self.origin, Taking) else ())
        names_taken = tuple(name for name in self.plain.takes if name in taken)
        return self.plain.once(names_taken, partial(_taking, self.plain, names_taken))

    def another(self, origin: Origin, **changes: Any) -> Function:
        """A function of other inputs or answers, made of this one: what holds of this one alone is left out."""
        left_out: dict[str, Any] = {"takes": (), "composition": (), "inverse": None, "outputs_with": {}, "symbol": ""}
        return replace(self, **left_out, content="", origin=origin, **changes)

    def straight_ways(self) -> Mapping[str, Route]:
        """Its routes as straight code alone."""
        return {
            name: replace(route, loops=False, factors=None, part="", parts=())
            for name, route in self.routes.items()
            if not route.baseline
        }

    @property
    def is_vector(self) -> bool:
        """Whether its answers grow with the number of joints, not with its square."""
        return all(sum(size in dim for dim in port.dims for size in ("nv", "n_bodies")) < 2 for port in self.outputs)

    @property
    def by_name(self) -> dict[str, Port]:
        """Its ports, with those that external forces add."""
        return {port.name: port for port in (*self.every_input, *self.outputs, *self.outputs_with.values())}

    @property
    def every_input(self) -> tuple[Port, ...]:
        """Its inputs, and external forces if it can take them."""
        return (*self.inputs, F_EXT) if self.takes_f_ext else self.inputs

    @property
    def signature(self) -> str:
        """As NumPy writes those of gufuncs: "(nq),(nv),(nv)->(nv)"."""
        taken, given = (",".join(f"({','.join(port.dims)})" for port in ports) for ports in (self.inputs, self.outputs))
        return f"{taken}->{given}"

    def route_names(self, shared_coordinates: bool) -> list[str]:
        """The routes that serve a robot with or without mimic joints, the baseline ones too."""
        return [name for name, route in self.routes.items() if not (shared_coordinates and route.alone)]


def _taking(function: Function, taken: tuple[str, ...]) -> Function:
    numbers, has_forces = [name for name in taken if name != F_EXT.name], F_EXT.name in taken
    dropped = (*taken, *(() if DRIVEN.keys() >= set(numbers) else (F_EXT.name,)))
    of_bodies, of_contacts = INERTIAS.name in numbers, bool(CONTACT_NUMBERS.keys() & set(numbers))
    more = [("force_frame", has_forces), ("contacts", of_contacts)]
    fixed = [*function.options, *(option for option, depends in more if depends)]
    name = names.taking(function.name, taken)
    opened = replace(
        function,
        name=name,
        method=function.method + name.removeprefix(function.name),
        inputs=_inputs(function, taken),
        outputs=(*_outputs(function, taken), *(port for name, port in function.outputs_with.items() if name in taken)),
        outputs_with={name: port for name, port in function.outputs_with.items() if name not in dropped},
        takes=tuple(port for port in function.takes if port not in dropped),
        needs=function.needs._replace(options=tuple(dict.fromkeys(fixed))),
        inverse=None,
        call=function.called,
        content="",
        origin=Taking(function, taken),
    )
    if not numbers:
        return opened
    return replace(
        opened,
        ways=Ways(function.straight_ways, closed=function.ways.closed),
        composition=(),
        normal_form="exact" if of_bodies else function.normal_form,
        needs=opened.needs._replace(mass=function.needs.mass and not of_bodies),
    )


def _inputs(function: Function, taken: tuple[str, ...]) -> tuple[Port, ...]:
    """Its inputs, controls in place of tau, then what else is taken."""
    controlled = CONTROLS.name in taken
    own = (CONTROLS if controlled and port.name == "tau" else port for port in function.inputs)
    return (*own, *(EXTRA[name] for name in taken if name != CONTROLS.name))


def _outputs(function: Function, taken: tuple[str, ...]) -> tuple[Port, ...]:
    """Its outputs: with controls, derivatives by them, and actuators couple what no body does."""
    if CONTROLS.name not in taken:
        return function.outputs
    return tuple(by_controls(replace(port, zeros="none", symmetric=False)) for port in function.outputs)


def expanded(function: Function) -> tuple[Call | MinusProduct, ...]:
    """A composition without calls of functions that are compositions themselves."""
    steps: list[Call | MinusProduct] = []
    for step in function.composition:
        if not isinstance(step, Call) or not step.function.composition:
            steps.append(step)
            continue
        inner = step.function
        taken = zip((port.name for port in inner.inputs), step.takes or (), strict=False)
        renamed = {**dict(taken), **dict(zip((port.name for port in inner.outputs), step.gives, strict=True))}
        steps += [_renamed(part, renamed) for part in expanded(inner)]
    return tuple(steps)


def _renamed(step: Call | MinusProduct, renamed: Mapping[str, str]) -> Call | MinusProduct:
    def name(port: str) -> str:
        return renamed.get(port, port)

    if isinstance(step, MinusProduct):
        return MinusProduct(name(step.left), name(step.right), name(step.gives))
    before = step.takes or tuple(port.name for port in step.function.inputs)
    takes = tuple(map(name, before))
    return Call(step.function, tuple(map(name, step.gives)), takes if takes != before or step.takes else ())
