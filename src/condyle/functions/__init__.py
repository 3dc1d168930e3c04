"""The functions of a robot: the registry of their short names.

`FUNCTIONS` has every function of the library by its short name. A specification is a row of a family, or a file of
`added/`; `registered` adds one for a while. `function_of` reads a name that a person wrote.
"""

from __future__ import annotations

import copyreg
from collections.abc import Generator
from contextlib import contextmanager
from difflib import get_close_matches

from condyle.derivatives import derivative
from condyle.errors import UnsupportedError
from condyle.functions import contacts, dynamics, kinematics
from condyle.functions.added import ADDED
from condyle.functions.contacts import CONSTRAINED
from condyle.functions.dynamics import DRIVE_FORCES, DYNAMICS
from condyle.functions.kinematics import KINEMATICS
from condyle.functions.momentum import MOMENTA
from condyle.functions.repeat import iterate, repeat
from condyle.functions.steps import STEPS
from condyle.specification import F_EXT, Call, Function, MinusProduct, Port, expanded
from condyle.specification.names import Reader
from condyle.specification.ports import OPEN

_FAMILIES = (DYNAMICS, KINEMATICS, MOMENTA, STEPS, CONSTRAINED, DRIVE_FORCES, ADDED)

FUNCTIONS = {function.name: function for family in _FAMILIES for function in family}

AUXILIARY = {function.name: function for family in (dynamics, kinematics, contacts) for function in family.AUXILIARY}
"""What rules for derivatives call beside these."""

DEFAULT = tuple(function.name for function in DYNAMICS)
"""What an export has where no functions are named."""

LIBRARY = frozenset(FUNCTIONS.values())
"""The library's own, whose kernels are kept between runs: its version says how they are computed."""


def function_or_none(name: object) -> Function | None:
    """The function of a name that a person wrote: a short name, that of a method, or that of what is made of one, such
    as "vjp_forward_dynamics" (see `condyle.specification.names`). None for what names none; a function is given back.
    """
    if isinstance(name, Function):
        return name
    if not isinstance(name, str):
        return None
    return FUNCTIONS.get(name) or Reader(AUXILIARY | FUNCTIONS, derivative, repeat, iterate).read(name)


def function_of(name: object) -> Function:
    """The same; UnsupportedError for what names none."""
    function = function_or_none(name)
    if function is None:
        methods = {function.method: function.name for function in FUNCTIONS.values()}
        if name == "rollout":
            raise UnsupportedError("there is no function 'rollout'; one of 50 steps is 'rollout_50_by_tau_of_step'")
        close = get_close_matches(name, methods, 1, 0.75) if isinstance(name, str) else []
        cure = f"did you mean {methods[close[0]]!r}, {close[0]}?" if close else f"there are {', '.join(FUNCTIONS)}"
        raise UnsupportedError(f"there is no function {name!r}; {cure}")
    return function


def _pickled(function: Function) -> tuple[object, tuple[str]]:
    """A pickle has the name; UnsupportedError for what is made of a user's function, which no name says."""
    if function_or_none(function.name) != function:
        raise UnsupportedError(f"{function.called}: a user's function has no pickle of its own; pickle what it is of")
    return function_of, (function.name,)


copyreg.pickle(Function, _pickled)  # pyright: ignore[reportArgumentType]


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


def has_joint_loops(function: Function) -> bool:
    """Whether loops over joints can be recorded."""
    return any(route.loops for route in function.routes.values())


def products_of(function: Function) -> list[MinusProduct]:
    """The products with M^-1 that a function is made of."""
    return [step for step in expanded(function) if isinstance(step, MinusProduct)]


def multiplied_by(function: Function) -> Function:
    """The function whose answers these products multiply."""
    rights = {step.right for step in products_of(function)}
    calls = (step for step in expanded(function) if isinstance(step, Call))
    return next(call.function for call in calls if rights <= set(call.gives))
