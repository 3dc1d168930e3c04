"""The functions of an accelerator and the hardware plan of each, as data.

UNITS are traced; SOLVED is M^-1 (tau - c) of two of them. A function whose composition comes down to these has a plan
too, one of the user's own as well. STEPS and GIVEN are functions that only hardware has.

Codes are assigned in the order of `tasks`: the registered functions that have a plan, then their second passes; the
integration steps, then the code between two stages; the functions of a given base, then their second passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache

from condyle.errors import UnsupportedError
from condyle.fpga.rtl.accelerator import (
    BIAS,
    COLUMNS,
    INVERSE,
    PRODUCTS,
    SOLVED,
    STAGES_OF,
    STEP,
    Leaf,
    Task,
    Unit,
    numbered,
)
from condyle.functions import FUNCTIONS, expanded, function_or_none
from condyle.functions.dynamics import (
    FORWARD_DYNAMICS,
    FORWARD_DYNAMICS_DERIVATIVES,
    INVERSE_DYNAMICS,
    INVERSE_DYNAMICS_DERIVATIVES,
    MASS_MATRIX,
    MASS_MATRIX_INVERSE,
)
from condyle.functions.quantities import MINV, TAU, A, Q, V
from condyle.model.robot import Robot
from condyle.specification import Call, Composition, Function, MinusProduct, Numerics, Port
from condyle.specification.integrators import METHODS
from condyle.specification.ports import F_EXT

MASS = Leaf("mass", "M")
UNITS = {
    unit.function: unit
    for unit in (
        Unit(BIAS, "R", INVERSE_DYNAMICS, "rnea"),
        Unit(COLUMNS, "D", INVERSE_DYNAMICS_DERIVATIVES, "closed_form"),
        Unit(MASS, "M", MASS_MATRIX, "crba"),
        Unit(INVERSE, "M", MASS_MATRIX_INVERSE, "ltl"),
    )
}
PASSES: Mapping[Function, tuple[Leaf, ...]] = {
    **{function: (unit.leaf,) for function, unit in UNITS.items()},
    FORWARD_DYNAMICS: (BIAS, INVERSE, SOLVED),
}
"""The groups that a called function passes through."""
WIRED = {frozenset(leaves) for leaves in PASSES.values()} | {frozenset((COLUMNS, PRODUCTS))}
"""The passes that the top module has wires for."""
TAKEN = {port.name for port in (Q, V, A, TAU, MINV)}
"""The words of a task without external forces."""
NEXT = (
    Port("q_next", ("nq",), Q.unit, Q.frame, "configuration after the step"),
    Port("v_next", ("nv",), V.unit, V.frame, "velocity after the step"),
)
STEPS = tuple(STAGES_OF)
"""Integration steps: methods of `condyle.specification.integrators`."""
OF_GIVEN_BASE = (MASS_MATRIX_INVERSE, FORWARD_DYNAMICS, FORWARD_DYNAMICS_DERIVATIVES)
"""What there is for a base whose motion is given too, with the suffix: functions of a floating robot that move its
joints alone (Yang 2023, the root's modes). With the base's rows and columns b, the joints' j:

    minv_given: M_jj^-1    fd_given: a_j = M_jj^-1 (tau_j - c_j(q, v, [a_b; 0]))    dfd_given: -M_jj^-1 dtau_j, M_jj^-1

among zeros, that all have the shapes of the floating robot's. In M^-1 = L^-1 D^-1 L^-T every term of an entry of the
base has an entry of the base's D^-1, and M_jj has the same factors without them: the base is given by taking its D^-1
as zero, a base so heavy that nothing moves it."""


def tasks() -> dict[str, Task]:
    """Every function that has a hardware plan, by name, in the order of the families that have codes."""
    own = {function: task for function in FUNCTIONS.values() if (task := _task(function)) is not None}
    return numbered([list(own.values()), list(map(_step, STEPS)), [_of_a_given_base(own[of]) for of in OF_GIVEN_BASE]])


def library() -> tuple[str, ...]:
    """The registered functions that have a plan."""
    return tuple(name for name in tasks() if name in FUNCTIONS)


def task_name(function: object) -> str:
    """What a function is called in an accelerator. function: a value, or a short name or a method's, as people say it;
    what names no function is given back."""
    if isinstance(function, str) and function in tasks():
        return function
    known = function_or_none(function)
    return str(function) if known is None else known.name


def families(robot: Robot) -> tuple[tuple[str, ...], ...]:
    """All that a robot's accelerator can do: the library's functions, the steps, and those of a given base if the base
    floats."""
    given = (
        tuple(_with_given_base(of).name for of in OF_GIVEN_BASE)
        if robot.joints and robot.joints[0].kind.is_free
        else ()
    )
    return tuple(family for family in (library(), STEPS, given) if family)


def chosen(functions: Iterable[str]) -> tuple[Task, ...]:
    """Those of these names, in the order of their codes; UnsupportedError names what has a plan."""
    known, wanted = tasks(), set(functions)
    for name in wanted - set(known):
        there = ", ".join(map(repr, known))
        raise UnsupportedError(f"functions: {name!r} has no hardware plan; those that have one are {there}")
    return tuple(sorted((known[name] for name in wanted), key=lambda task: task.codes))


def _composition(function: Function) -> Composition:
    """The composition of a function down to units; for a unit the call of itself."""
    return expanded(function) or (Call(function, tuple(port.name for port in function.outputs)),)


def _task(function: Function) -> Task | None:
    """A function's plan, or None if the arrays and their wires cannot compute it."""
    composition = _composition(function)
    calls = [step for step in composition if isinstance(step, Call)]
    inputs = {port.name for port in function.inputs}
    if (
        any(call.function not in PASSES or call.takes for call in calls)
        or not inputs <= TAKEN
        or {"a", "tau"} <= inputs
    ):
        return None
    passes, words = _passes(composition), _words(calls)
    products = [step for step in composition if isinstance(step, MinusProduct)]
    words |= {step.gives: PRODUCT_NAMES.get(words.get(step.right, ""), "") for step in products}
    outputs = {port.name: words.get(port.name, "") for port in function.outputs}
    return Task(function, composition, passes, outputs) if _is_wired(passes) and all(outputs.values()) else None


def _passes(composition: Composition) -> tuple[tuple[Leaf, ...], ...]:
    """The passes of a composition; a solved acceleration that is an input of a later call is fed back."""
    passes: list[list[Leaf]] = [[]]
    solved: set[str] = set()
    for step in composition:
        if isinstance(step, Call) and solved & {port.name for port in step.function.inputs}:
            passes.append([])
        leaves = PASSES[step.function] if isinstance(step, Call) else (PRODUCTS,)
        passes[-1] += [leaf for leaf in leaves if leaf not in passes[-1]]
        if SOLVED in leaves and isinstance(step, Call):
            solved |= set(step.gives)
    return tuple(tuple(leaves) for leaves in passes)


def _is_wired(passes: tuple[tuple[Leaf, ...], ...]) -> bool:
    fed_back = len(passes) == 1 or (len(passes) == 2 and passes[0][-1] == SOLVED and passes[1][-1] == PRODUCTS)
    return fed_back and all(frozenset(leaves) in WIRED for leaves in passes)


def _words(calls: Iterable[Call]) -> dict[str, str]:
    """Of what calls give the names that the called functions have for it."""
    outputs = [(call.gives, call.function.outputs) for call in calls]
    return {name: port.name for gives, ports in outputs for name, port in zip(gives, ports, strict=True)}


PRODUCT_NAMES = {
    step.right: step.gives
    for function in FUNCTIONS.values()
    for step in function.composition
    if isinstance(step, MinusProduct)
}
"""What comes of each derivative of inverse dynamics, by its name in the library's own compositions."""


def _step(method: str) -> Task:
    words = {port.name: port.name for port in NEXT}
    passes = ((*PASSES[FORWARD_DYNAMICS], STEP),)
    return Task(_stepping(method), _composition(FORWARD_DYNAMICS), passes, words, STAGES_OF[method], method=method)


@cache
def _stepping(method: str) -> Function:
    equation = f"q, v after a step of {METHODS[method].about}, tau held"
    return Function(
        method,
        method,
        equation,
        (Q, V, TAU),
        NEXT,
        numerics=Numerics(condition=64.0),
        takes=(F_EXT.name,),
    )


def _of_a_given_base(task: Task) -> Task:
    return replace(task, function=_with_given_base(task.function), base_given=True)


@cache
def _with_given_base(function: Function) -> Function:
    """The same of the joints alone."""
    name = f"{function.name}_given"
    inputs = (*function.inputs, A) if TAU in function.inputs else function.inputs
    equation = f"{function.equation} of the joints, the motion of the base being given"
    return replace(function, name=name, method=name, equation=equation, inputs=inputs)
