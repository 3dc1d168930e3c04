"""Every pass keeps the notes of a Program: each node has one, and the bounds in it hold."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from math import inf

import pytest
from hypothesis import given, settings

import condyle.passes
from condyle.backends.common.forms import alone
from condyle.backends.cpu import operations
from condyle.ir.program import Note, Output, Program, verify
from condyle.operations import LEAVES
from condyle.passes.contract import contract
from condyle.passes.dce import absorb_signs, dce, renumbered
from condyle.passes.elementary.expand import ELEMENTARY, expand
from tests.ir.programs import POINTS, STEPS, built, exactly

PASSES: dict[str, Callable[[Program], Program]] = {
    "contract": contract,
    "dce": dce,
    "absorb_signs": absorb_signs,
    "renumbered": lambda program: renumbered(program, range(len(program))),
    "expand": lambda program: expand(program, 64),
}


def test_no_pass_is_missing_here() -> None:
    """A function from a Program to a Program in `condyle.passes` is a pass."""
    folder = pkgutil.walk_packages(condyle.passes.__path__, "condyle.passes.")
    modules = [importlib.import_module(module.name) for module in folder]
    signatures = {
        name: inspect.signature(function)
        for module in modules
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__.startswith("condyle.passes.") and not name.startswith("_")
    }
    passes = {
        name
        for name, signature in signatures.items()
        if signature.return_annotation == "Program"
        and [parameter.annotation for parameter in signature.parameters.values()][:1] == ["Program"]
    }
    assert passes - {"apply"} == set(PASSES)


def noted(program: Program, values: Sequence[Fraction]) -> Program:
    """Each node with its number as the stage, and the magnitude that it has as its bound."""
    return replace(program, notes=tuple(Note(str(k), float(abs(value))) for k, value in enumerate(values)))


def with_every_node(program: Program) -> Program:
    """The Program with one output for each node."""
    array = replace(program.arrays[0], shape=(len(program),))
    return replace(program, arrays=(array,), outputs=tuple(Output(0, k, k) for k in range(len(program))))


@pytest.mark.parametrize("name", [name for name in PASSES if name != "expand"])
@settings(max_examples=60, deadline=None)
@given(STEPS, POINTS)
def test_bounds_hold_after_a_pass(name: str, steps: Sequence[tuple[str, int, int]], point: Sequence[Fraction]) -> None:
    whole, _ = built(steps, point)
    program = noted(whole, exactly(with_every_node(whole), point))
    result = verify(PASSES[name](program))
    assert len(result.notes) == len(result)
    for note, value in zip(result.notes, exactly(with_every_node(result), point), strict=True):
        assert note.stage in {str(k) for k in range(len(program))}
        assert float(abs(value)) <= note.upper
    assert all(result.notes[output.node].upper < inf for output in result.outputs)


def test_a_sum_that_becomes_a_chain_keeps_its_bound_at_the_end_only() -> None:
    nodes = (*(("input", 0, k) for k in range(4)), ("mul", 0, 1), ("mul", 2, 3), ("add", 4, 5))
    program = alone("add")
    program = replace(
        program,
        inputs=(replace(program.inputs[0], shape=(4,)),),
        nodes=nodes,
        outputs=(Output(0, 0, 6),),
        notes=tuple(Note(f"s{k}", float(k)) for k in range(7)),
    )
    made = verify(contract(program))
    assert [node[0] for node in made.nodes[4:]] == ["mul", "fma"]
    assert made.notes == (*program.notes[:4], Note("s6"), Note("s6", 6.0))


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("op", ELEMENTARY)
def test_expansions_keep_notes(op: str, bits: int) -> None:
    plain = alone(op)
    program = replace(plain, notes=tuple(Note(f"s{k}", 1.0 + k) for k in range(len(plain))))
    made = verify(expand(program, bits))
    arity = len(plain) - 1
    assert made.note(made.outputs[0].node) == program.notes[-1]
    others = [note for k, note in enumerate(made.notes) if k != made.outputs[0].node and made.nodes[k][0] != "input"]
    assert others and set(others) == {Note(f"s{arity}")}


def test_expanded_sines_keep_notes() -> None:
    plain = alone("sin")
    program = replace(plain, notes=(Note("angle", 3.0), Note("sine", 1.0)))
    made, order = operations.expand_sines(
        program, [k for k, node in enumerate(plain.nodes) if node[0] not in LEAVES], 64
    )
    assert len(made.notes) == len(made) and order
    assert made.notes[:2] == program.notes
    assert set(made.notes[2:]) == {Note("sine")}
