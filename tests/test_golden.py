"""The C and CUDA C++ of a two-link robot as text, reviewed by people; `--update-golden` rewrites it."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.backends.c.source import source
from condyle.backends.common.facts import Facts
from condyle.backends.cuda.cpp.plan import plan
from condyle.backends.cuda.cpp.project import header
from condyle.compile.compiler import Compiler
from condyle.functions import FUNCTIONS
from condyle.ir.program import show
from condyle.model.tree import tree_of
from condyle.trace.loops import roll


def two_link() -> condyle.Robot:
    """Two rods in the vertical plane."""
    builder = condyle.Builder("two_link")
    builder.body("upper", mass=2.0, com=(0.5, 0.0, 0.0), inertia=np.diag((0.01, 0.2, 0.2)))
    builder.body("lower", mass=1.0, com=(0.25, 0.0, 0.0), inertia=np.diag((0.005, 0.05, 0.05)))
    builder.joint("shoulder", type="revolute", parent="world", child="upper", axis=(0, 1, 0))
    builder.joint("elbow", type="revolute", parent="upper", child="lower", axis=(0, 1, 0), xyz=(1.0, 0.0, 0.0))
    return builder.build()


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    robot = two_link()
    return Compiler(tree_of(robot), Facts(robot.nq, robot.nv, robot.fingerprint, "golden", "two_link", FUNCTIONS))


def own(text: str, function: str) -> str:
    """The part of a source that the support files do not bring."""
    head, _, rest = text.partition("#define REAL_BITS")
    return head + "...\n" + rest[rest.index(f"CD_CHUNK void {function}_0" if f"CD_CHUNK void {function}_0" in rest
                                            else f"static const cd_slot {function}_kind"):]  # fmt: skip


@pytest.mark.parametrize("function", ["id", "fd", "m", "dfd"])
def test_straight_c(compiler: Compiler, golden, function: str) -> None:
    text = source(compiler.code(FUNCTIONS[function]), compiler.facts, 64).main
    golden(f"two_link_{function}.c.txt", own(text, function))


def test_rolled_c(compiler: Compiler, golden) -> None:
    golden("two_link_id_rolled.c.txt", own(source(roll(compiler.tree, FUNCTIONS["id"]), compiler.facts, 64).main, "id"))


def test_cuda_cpp(compiler: Compiler, golden) -> None:
    joints = dict.fromkeys("qva", (0, 1))
    text = header(plan(*compiler.gpu_kernels.exported([FUNCTIONS["id"]])), compiler.facts, joints)
    golden("two_link_id.cuh.txt", text[text.index("/* id:") : text.index("/* Stops template argument deduction")])


def test_program_text(compiler: Compiler, golden) -> None:
    golden("two_link_id.program.txt", show(compiler.best(FUNCTIONS["id"]).code))
