"""A function of a test's own, made of others, as launches: nothing in the target names one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from condyle.backends.cuda.cpp.plan import plan
from condyle.backends.cuda.target import TARGET, Form
from condyle.compile.gpu import GpuFunction, GpuKernels, partitions_of
from condyle.functions import FUNCTIONS, registered
from condyle.functions.quantities import TAU, Q, V
from condyle.model.tree import tree_of
from condyle.specification import Call, Function, MinusProduct, Route, Ways
from condyle.trace.reference import evaluate
from tests.backends.cuda.exported import compile_library
from tests.backends.cuda.simulate import Floats, compiler, robot, simulate
from tests.backends.cuda.test_kernels import given
from tests.programs import needs

DFD = FUNCTIONS["dfd"]


def routes() -> dict[str, Route]:
    run = DFD.routes["ltl+closed_form"].run
    return {name: Route(lambda tree: run(tree)[:1], part=name) for name in FUNCTIONS["did"].routes}


OWN = Function(
    "own",
    "own_derivative",
    "d a / d q",
    (Q, V, TAU),
    DFD.outputs[:1],
    Ways(routes),
    composition=(
        Call(FUNCTIONS["minv"], ("inverse",)),
        Call(FUNCTIONS["fd"], ("a",)),
        Call(FUNCTIONS["did"], ("by_q", "by_v")),
        MinusProduct("inverse", "by_q", DFD.outputs[0].name),
    ),
)
"""One product, three quantities that nobody is given, one of which nobody reads."""


@pytest.fixture
def kernels() -> Iterator[GpuKernels]:
    """Of a target that splits whatever it can."""
    with registered(OWN):
        yield GpuKernels(compiler(robot("iiwa14")), dataclasses.replace(TARGET, longest=0, longest_given=0))


def wanted(inputs: list[Floats]) -> Floats:
    one = robot("iiwa14")
    rows = dict(zip(("q", "v", "tau"), inputs, strict=True))
    return np.reshape(evaluate(tree_of(one), DFD, compiler(one).reference_route(DFD), rows)[0], (len(inputs[0]), -1))


@pytest.mark.parametrize("lanes", [1, 16])
def test_launches(kernels: GpuKernels, lanes: int) -> None:
    function = GpuFunction(kernels, OWN, "float64", 132)
    assert list(partitions_of(OWN)) == ["split", "completely-fused"]
    inputs = given(robot("iiwa14"), "dfd", 7)
    for partition, number in (("split", 4), ("completely-fused", 1)):
        made = function.launches(Form(lanes, partition))
        assert len(made.launches) == number
        (got,) = simulate(made, inputs)
        np.testing.assert_allclose(got, wanted(inputs), rtol=0, atol=1e-9 * np.abs(got).max())
    assert {array.name for array in function.launches(Form(1, "split")).scratch} == {"inverse", "a", "by_q", "by_v"}


@pytest.mark.slow
@needs("g++")
def test_export(kernels: GpuKernels, tmp_path: Path) -> None:
    """A product that is left over, and quantities in arrays of a thread's own."""
    library = compile_library(tmp_path, plan(*kernels.exported([OWN])), "composed", 7, 7)
    assert [kernel.name for kernel in library.found.kernels] == ["minv", "fd", "did"]
    inputs = given(robot("iiwa14"), "dfd", 7)
    for got in (library.kernels("own", inputs), library.threads("own", inputs, False)):
        np.testing.assert_allclose(got[0], wanted(inputs), rtol=0, atol=1e-9 * np.abs(got[0]).max())
