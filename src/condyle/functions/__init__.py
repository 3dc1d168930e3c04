"""The functions of a robot: the only place that names them.

`FUNCTIONS` has every function by its short name. A specification is a row of a family, or a file of `added/`;
`registered` adds one for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple

from condyle.functions import contacts, dynamics, kinematics, steps
from condyle.functions.added import ADDED
from condyle.functions.contacts import CONSTRAINED
from condyle.functions.dynamics import DYNAMICS
from condyle.functions.kinematics import KINEMATICS
from condyle.functions.momentum import MOMENTA
from condyle.functions.steps import STEPS
from condyle.ports import OPEN
from condyle.specification import F_EXT, Call, Function, MinusProduct, Port


class NoFunctionError(KeyError):
    """A name that names no function; its argument is the name. Other KeyErrors are faults of the code."""


class Functions(dict[str, Function]):
    """The functions that a robot has, and, by name only, those that are made of them: see `found_by`."""

    makers: ClassVar[list[Callable[[str], Function | None]]] = []

    def __missing__(self, name: str) -> Function:
        for made in (maker(name) for maker in self.makers):
            if made is not None:
                return made
        raise NoFunctionError(name)


def found(name: object) -> Function | None:
    """A function by its short name, also one that is made of another: "vjp_fd"; None for what names none."""
    try:
        return FUNCTIONS[name] if isinstance(name, str) else None
    except NoFunctionError:
        return None


def short_name(name: Any) -> Any:
    """The short name of a function that is named by its method: "fd" of "forward_dynamics", "vjp_fd" of
    "vjp_forward_dynamics"; anything else as it is. All that people name functions by is read here."""
    if not isinstance(name, str) or found(name) is not None:
        return name
    methods = {one.method: one.name for one in FUNCTIONS.values()}
    for method, short in sorted(methods.items(), key=lambda pair: -len(pair[0])):  # the longest that it has
        for start in (k for k in range(len(name)) if name.startswith(method, k)):
            read = name[:start] + short + name[start + len(method) :]
            if found(read) is not None:
                return read
    return name


def found_by(maker: Callable[[str], Function | None]) -> Callable[[str], Function | None]:
    """Makes `FUNCTIONS[name]` ask this for names that it does not have; `in` and loops do not."""
    Functions.makers.append(maker)
    return maker


_FAMILIES = (DYNAMICS, KINEMATICS, MOMENTA, STEPS, CONSTRAINED, ADDED)

FUNCTIONS = Functions({function.name: function for family in _FAMILIES for function in family})

AUXILIARY = {
    function.name: function for family in (dynamics, kinematics, steps, contacts) for function in family.AUXILIARY
}
"""What rules for derivatives call beside these."""

DEFAULT = tuple(function.name for function in DYNAMICS)
"""What an export has where no functions are named."""

OWN = frozenset(FUNCTIONS)
"""The library's own, whose kernels are kept between runs: its version says how they are computed."""


class Variant(NamedTuple):
    """A function as an export has it: by its short name, with external forces or without."""

    of: str
    f_ext: bool = False

    @property
    def function(self) -> Function:
        known = FUNCTIONS[self.of]
        return known.with_forces if self.f_ext else known

    @property
    def name(self) -> str:
        return self.function.name


def variants(functions: Iterable[str]) -> list[Variant]:
    """Each function, and behind it the same with external forces where it takes such."""
    both = [Variant(name, f_ext) for name in functions for f_ext in (False, True)]
    made = [one for one in both if not one.f_ext or FUNCTIONS[one.of].takes_f_ext]
    return list({one.name: one for one in made}.values())


@found_by
def _auxiliary(name: str) -> Function | None:
    return AUXILIARY.get(name)


@found_by
def _with_forces(name: str) -> Function | None:
    """A function with external forces as an input of its own, such as "fd_f_ext"."""
    of = name.removesuffix(f"_{F_EXT.name}")
    known = found(of) if of != name else None
    return known.with_forces if known is not None and known.takes_f_ext else None


@found_by
def _opened(name: str) -> Function | None:
    """A function with numbers of the robot as inputs, such as "fd_f_ext_inertias_gravity"."""
    rest, names = name, list[str]()
    for number in reversed(OPEN):
        if rest.endswith(f"_{number}"):
            rest = rest.removesuffix(f"_{number}")
            names.insert(0, number)
    base = found(rest) if names else None
    if base is None or base.repeat is not None:  # of a rollout the function that is repeated takes them
        return None
    return base.opened(names) if set(names) <= set(base.numbers) else None


def variant(function: str, extra: Iterable[str]) -> str:
    """The name of a function that takes these too, of `condyle.ports.EXTRA`, as far as it depends on them."""
    taken = set(extra)
    return function + "".join(f"_{name}" for name in takes(function) if name in taken)


def takes(function: str) -> tuple[str, ...]:
    """What a function can take behind its own inputs, in order."""
    known = FUNCTIONS[function]
    return (*([F_EXT.name] if known.takes_f_ext else []), *known.numbers)


@found_by
def _repeated(name: str) -> Function | None:
    """A function repeated over time, such as "rollout_50_by_tau_of_step"."""
    if not name.startswith("rollout_"):
        return None
    from condyle.functions.rollouts import specification_of

    return specification_of(name)


@contextmanager
def registered(function: Function) -> Generator[Function]:
    """Makes a function of one's own known to everything: methods, commands, exports."""
    if function.name in FUNCTIONS or any(function.method == known.method for known in FUNCTIONS.values()):
        raise ValueError(f"there is a function {function.name!r} or a method {function.method!r} already")
    FUNCTIONS[function.name] = function
    try:
        yield function
    finally:
        del FUNCTIONS[function.name]


def quantities() -> dict[str, Port]:
    """Every quantity by its name: as the first function has it, where another has zeros elsewhere or no symmetry."""
    every = [port for function in FUNCTIONS.values() for port in (*function.inputs, *function.outputs)]
    first = {port.name: port for port in reversed(every)}
    return {port.name: first[port.name] for port in every} | {port.name: port for port in (F_EXT, *OPEN.values())}


def expanded(function: Function) -> tuple[Call | MinusProduct, ...]:
    """A composition without calls of functions that are compositions themselves."""
    steps: list[Call | MinusProduct] = []
    for step in function.composition:
        inner = FUNCTIONS[step.function] if isinstance(step, Call) else None
        if inner is None or not inner.composition or not isinstance(step, Call):
            steps.append(step)
            continue
        taken = zip((port.name for port in inner.inputs), step.takes or (), strict=False)
        names = {**dict(taken), **dict(zip((port.name for port in inner.outputs), step.gives, strict=True))}
        steps += [_renamed(one, names) for one in expanded(inner)]
    return tuple(steps)


def has_loops(function: str) -> bool:
    """Whether loops over joints can be recorded."""
    return any(route.loops for route in FUNCTIONS[function].routes.values())


def products_of(function: str) -> list[MinusProduct]:
    """The products with M^-1 that a function is made of."""
    return [step for step in expanded(FUNCTIONS[function]) if isinstance(step, MinusProduct)]


def multiplied_by(function: str) -> str:
    """The function whose answers these products multiply."""
    rights = {step.right for step in products_of(function)}
    calls = (step for step in expanded(FUNCTIONS[function]) if isinstance(step, Call))
    return next(call.function for call in calls if rights <= set(call.gives))


def _renamed(step: Call | MinusProduct, names: dict[str, str]) -> Call | MinusProduct:
    def named(name: str) -> str:
        return names.get(name, name)

    if isinstance(step, MinusProduct):
        return MinusProduct(named(step.left), named(step.right), named(step.gives))
    takes = step.takes or tuple(port.name for port in FUNCTIONS[step.function].inputs)
    renamed = tuple(map(named, takes))
    return Call(step.function, tuple(map(named, step.gives)), renamed if renamed != takes or step.takes else ())
