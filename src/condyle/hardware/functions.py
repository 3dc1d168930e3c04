"""The functions of an accelerator and the hardware plan of each, as data.

UNITS are traced; SOLVED is M^-1 (tau - c) of two of them. A function whose composition comes down to these has a plan
too, one of the user's own as well. STEPS and GIVEN are functions that only hardware has.

Codes are assigned in the order of `tasks`: the registered functions that have a plan, then their second passes; the
integration steps, then the code between two stages; the functions of a given base, then their second passes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from condyle.backends.fpga.steps import STAGES_OF
from condyle.backends.fpga.tasks import (
    BIAS,
    COLUMNS,
    INVERSE,
    PRODUCTS,
    SOLVED,
    STEP,
    Leaf,
    Task,
    Unit,
    numbered,
)
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, expanded, short_name
from condyle.functions.quantities import MINV, TAU, A, Q, V
from condyle.integrators import METHODS
from condyle.model.robot import Robot
from condyle.specification import Call, Composition, Function, MinusProduct, Port

MASS = Leaf("mass", "M")
UNITS = {
    unit.function.name: unit
    for unit in (
        Unit(BIAS, "R", FUNCTIONS["id"], "rnea"),
        Unit(COLUMNS, "D", FUNCTIONS["did"], "closed_form"),
        Unit(MASS, "M", FUNCTIONS["m"], "crba"),
        Unit(INVERSE, "M", FUNCTIONS["minv"], "ltl"),
    )
}
SOLVES = "fd"
PASSES: Mapping[str, tuple[Leaf, ...]] = {
    **{name: (unit.leaf,) for name, unit in UNITS.items()},
    SOLVES: (BIAS, INVERSE, SOLVED),
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
"""Integration steps: methods of `condyle.integrators`."""
GIVEN = ("minv", "fd", "dfd")
"""What there is for a base whose motion is given too, with the suffix: functions of a floating robot that move its
joints alone (Yang 2023, the root's modes). With the base's rows and columns b, the joints' j:

    minv_given: M_jj^-1    fd_given: a_j = M_jj^-1 (tau_j - c_j(q, v, [a_b; 0]))    dfd_given: -M_jj^-1 dtau_j, M_jj^-1

among zeros, that all have the shapes of the floating robot's. In M^-1 = L^-1 D^-1 L^-T every term of an entry of the
base has an entry of the base's D^-1, and M_jj has the same factors without them: the base is given by taking its D^-1
as zero, a base so heavy that nothing moves it."""


def tasks() -> dict[str, Task]:
    """Every function that has a hardware plan, in the order of the families that have codes."""
    own = {name: task for name, function in FUNCTIONS.items() if (task := _task(function)) is not None}
    steps = [_step(name, METHODS[name].about, STAGES_OF[name]) for name in STEPS]
    return numbered([list(own.values()), steps, [_of_a_given_base(own[name]) for name in GIVEN]])


def library() -> tuple[str, ...]:
    """The registered functions that have a plan."""
    return tuple(name for name in tasks() if name in FUNCTIONS)


def families(robot: Robot) -> tuple[tuple[str, ...], ...]:
    """All that a robot's accelerator can do: the library's functions, the steps, and those of a given base if the base
    floats."""
    given = tuple(f"{name}_given" for name in GIVEN) if robot.joints and robot.joints[0].kind.is_free else ()
    return tuple(family for family in (library(), STEPS, given) if family)


def chosen(functions: Iterable[str]) -> tuple[Task, ...]:
    """Those of the functions, in the order of their codes; UnsupportedError names what has a plan."""
    known, wanted = tasks(), set(map(short_name, functions))
    for name in wanted - set(known):
        there = ", ".join(map(repr, known))
        raise UnsupportedError(f"functions: {name!r} has no hardware plan; those that have one are {there}")
    return tuple(sorted((known[name] for name in wanted), key=lambda task: task.codes))


def _composition(function: Function) -> Composition:
    """The composition of a function down to units; for a unit the call of itself."""
    return expanded(function) or (Call(function.name, tuple(port.name for port in function.outputs)),)


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
        if isinstance(step, Call) and solved & {port.name for port in FUNCTIONS[step.function].inputs}:
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
    outputs = [(call.gives, FUNCTIONS[call.function].outputs) for call in calls]
    return {name: port.name for gives, ports in outputs for name, port in zip(gives, ports, strict=True)}


PRODUCT_NAMES = {
    step.right: step.gives
    for function in FUNCTIONS.values()
    for step in function.composition
    if isinstance(step, MinusProduct)
}
"""What comes of each derivative of inverse dynamics, by its name in the library's own compositions."""


def _step(name: str, said: str, stages: range) -> Task:
    solved = FUNCTIONS[SOLVES]
    function = Function(
        name, "", f"q, v after a step of {said}, tau held", (Q, V, TAU), NEXT, takes_f_ext=True, condition=64.0
    )
    words = {port.name: port.name for port in NEXT}
    return Task(function, _composition(solved), ((*PASSES[SOLVES], STEP),), words, stages)


def _of_a_given_base(task: Task) -> Task:
    function = task.function
    inputs = (*function.inputs, A) if task.solves else function.inputs
    equation = f"{function.equation} of the joints, the motion of the base being given"
    own = replace(function, name=f"{function.name}_given", method="", equation=equation, inputs=inputs)
    return replace(task, function=own, base_given=True)
