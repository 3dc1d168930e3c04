"""What a function of a robot is: its ports, how it is computed, and what a target or a user has to know of it.

`condyle.functions` has the functions themselves. Everything else reads a specification: methods, errors, documents,
C headers, packed layouts, exports, `check`, `explain`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

from condyle.ports import ARMATURE, CONTACT_NUMBERS, F_EXT, INERTIAS, NEXT, OPEN, Port
from condyle.routes import ParallelRoute, Route, Size

NormalForm: TypeAlias = Literal["exact", "joint_space"]


class Bound(NamedTuple):
    """What is fixed when a robot is compiled.

    frames: names of the robot's frames, in the order of the answers. reference_frame: the axes and the point of
    velocities, accelerations and Jacobians of frames. force_frame: the axes of external forces, "local" for those of
    the body's frame, "local_world_aligned" for the world's at its origin, which they keep when q varies. integrator:
    how steps of time are made (`condyle.integrators`). contacts: frames that are held, in the order of their
    flags, each a `condyle.Contact`.
    """

    frames: tuple[str, ...] = ()
    reference_frame: str = "local"
    force_frame: str = "local"
    integrator: str = "semi_implicit_euler"
    contacts: tuple[Any, ...] = ()


UNBOUND = Bound()
"""What `compile` takes by default."""


class Call(NamedTuple):
    """A step of a composition: another function, by its short name; the names of its answers, and of its inputs.

    takes: empty where the inputs have the names of the function's own ports.
    """

    function: str
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

    function: str
    by: tuple[int, ...]
    symmetric: bool


class Repeat(NamedTuple):
    """A function repeated over time: the next step takes what a step answers.

    of: the function, by its short name. steps: how many. carried: names of outputs that are inputs of the next step;
    at the first one they are given. by_time: inputs with a value for each step, the time axis first; others are held.
    every: answers are those of every so many steps and of the last one, with a time axis; 0: of the last alone. summed:
    outputs whose answers are sums over all steps, without time axis. backwards: it is the vjp of all that.
    """

    of: str
    steps: int
    carried: tuple[str, ...]
    by_time: tuple[str, ...] = ()
    every: int = 1
    summed: tuple[str, ...] = ()
    backwards: bool = False

    @property
    def rows(self) -> int:
        """How many steps answers are of, where they have a time axis."""
        return -(-self.steps // self.every) if self.every else 1


Closed: TypeAlias = Callable[..., "Mapping[str, Sequence[Any]]"]
"""A derivative in closed form: (at, given) -> the answers by name, each flat. at.call(function, *inputs) is another
function; given: the inputs by name, each flat, of the function and of the derivative."""


class Accuracy(NamedTuple):
    """The error allowed, relative to the largest entry of an answer, by number type."""

    float64: float
    float32: float


SOME, ROUNDING = Size(600), Accuracy(1e-12, 2e-5)
"""Of functions that say nothing."""


@dataclass(frozen=True)
class Function:
    """A function of a robot.

    name, method: the short name and the method of `Dynamics`. inputs, outputs: in calling order. ways: gives the routes
    by name when they are first needed, so that to describe a function imports no algorithm; the first is the
    reference's. source: where the equation or the algorithm is from. takes_f_ext: whether external forces can be given.
    condition: so many roundings an answer errs by for each unit of the condition number of M, because it is solved
    with; 0 where it is not. normal_form: "joint_space" says that answers are joint-space quantities alone, so that
    inertias may be regrouped and link frames turned. composition: of functions made of others. inverse: the
    function that gives the last input back when it takes the answer instead. parallel_ways: the same as ways, with all
    links side by side; the first is taken unless another is named. options: what it depends on of what is fixed when a
    robot is compiled (`Bound`). reference_frames: those in which it has a meaning, where these are not all.
    contact_kinds: those of contacts that it has a meaning for, where these are not all.
    divides_by_mass: a robot without mass has no such quantity. closed_ways: gives what is known of its derivatives, by
    kind; the others are made from its algorithm. kept: of functions that are not the library's own: the name says all
    that is computed, so that kernels may be kept between runs by it. columns: of a Jacobian or a Hessian, what gives a
    column. forced: the function that is called instead, with external forces as its last input, where these are given
    and have answers of their own. repeat: of a function that is another one repeated over time; it has no routes.
    numbers: those of the robot that it depends on, of `condyle.ports.OPEN`. variant_of: the function that takes
    fewer inputs. call: the method that a user calls, where it is not `method`.
    """

    name: str
    method: str
    equation: str
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    ways: Callable[[], Mapping[str, Route]] = dict[str, "Route"]
    size: Size = SOME
    accuracy: Accuracy = ROUNDING
    source: str = ""
    takes_f_ext: bool = False
    condition: float = 0.0
    normal_form: NormalForm = "exact"
    composition: Composition = ()
    inverse: str = ""
    parallel_ways: Callable[[], Mapping[str, ParallelRoute]] = dict[str, ParallelRoute]
    options: tuple[str, ...] = ()
    reference_frames: tuple[str, ...] = ()
    contact_kinds: tuple[str, ...] = ()
    divides_by_mass: bool = False
    closed_ways: Callable[[], Mapping[str, Closed]] = dict[str, Closed]
    kept: bool = False
    columns: Columns | None = None
    forced: str = ""
    repeat: Repeat | None = None
    numbers: tuple[str, ...] = ()
    variant_of: str = ""
    call: str = ""

    @property
    def called(self) -> str:
        """What a user calls it, for messages: the method, without the inputs that a variant takes by name."""
        return self.call or self.method

    @cached_property
    def closed(self) -> Mapping[str, Closed]:
        return self.closed_ways()

    @cached_property
    def routes(self) -> Mapping[str, Route]:
        return self.ways()

    @cached_property
    def parallel(self) -> Mapping[str, ParallelRoute]:
        return self.parallel_ways()

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

    def ports(self, f_ext: bool) -> tuple[Port, ...]:
        """The inputs of the variant with or without external forces."""
        return (*self.inputs, F_EXT) if f_ext else self.inputs

    def takes_configurations(self, port: Port) -> bool:
        """Whether an input is a configuration, or one for each time step."""
        in_time = self.repeat is not None and port.name in self.repeat.by_time
        return port.dims[in_time:] == ("nq",)

    @property
    def named_outputs(self) -> tuple[Port, ...]:
        """The outputs as generated code calls them: none has the name of an input."""
        taken = {port.name for port in self.ports(self.takes_f_ext)}
        return tuple(
            replace(port, name=NEXT.format(port.name)) if port.name in taken else port for port in self.outputs
        )

    def depends_on(self, f_ext: bool) -> tuple[str, ...]:
        """What the variant with or without external forces depends on of `Bound`."""
        return (*self.options, "force_frame") if f_ext else self.options

    @property
    def with_forces(self) -> Function:
        """The variant with external forces as a function of its own: what exports have beside it."""
        options = (*self.options, "force_frame")
        return replace(self._taking((F_EXT,)), takes_f_ext=False, options=options)

    def opened(self, names: Sequence[str]) -> Function:
        """The variant that takes some of the robot's numbers, in the order of `numbers`.

        Bodies are as they are given then, and nothing is known of them: straight code alone, of the exact model.
        With flags of contacts it depends on these, whose frames are fixed when a robot is compiled.
        """
        of_bodies, of_contacts = "inertias" in names, bool(CONTACT_NUMBERS.keys() & set(names))
        return replace(
            self._taking([OPEN[name] for name in names]),
            options=tuple(dict.fromkeys((*self.options, *(("contacts",) if of_contacts else ())))),
            numbers=tuple(name for name in self.numbers if name not in names),
            ways=self._straight_ways,
            parallel_ways=dict,
            composition=(),
            takes_f_ext=False,
            normal_form="exact" if of_bodies else self.normal_form,
            divides_by_mass=self.divides_by_mass and not of_bodies,
        )

    def _taking(self, ports: Sequence[Port]) -> Function:
        end = "".join(f"_{port.name}" for port in ports)
        inputs, plain = (*self.inputs, *ports), self.variant_of or self.name
        return replace(
            self,
            name=self.name + end,
            method=self.method + end,
            inputs=inputs,
            inverse="",
            variant_of=plain,
            call=self.called,
        )

    def _straight_ways(self) -> Mapping[str, Route]:
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
        """Its ports."""
        return {port.name: port for port in (*self.ports(self.takes_f_ext), *self.outputs)}

    @property
    def signature(self) -> str:
        """As NumPy writes those of gufuncs: "(nq),(nv),(nv)->(nv)"."""
        taken, given = (",".join(f"({','.join(port.dims)})" for port in ports) for ports in (self.inputs, self.outputs))
        return f"{taken}->{given}"

    @property
    def made_of(self) -> tuple[str, ...]:
        """The functions that its composition calls."""
        return tuple(step.function for step in self.composition if isinstance(step, Call))

    def route_names(self, shared_coordinates: bool) -> list[str]:
        """The routes that serve a robot with or without mimic joints, the baseline ones too."""
        return [name for name, route in self.routes.items() if not (shared_coordinates and route.alone)]
