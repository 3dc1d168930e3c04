"""The C and CUDA C++ of a two-link robot, and what is public, as texts for people; `--update-golden` rewrites them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from inspect import Parameter, Signature, isfunction, signature
from types import ModuleType
from typing import Any

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


@pytest.mark.parametrize("function", ["id", "minv"])
def test_rolled_c(compiler: Compiler, golden, function: str) -> None:
    text = source(roll(compiler.tree, FUNCTIONS[function]), compiler.facts, 64).main
    golden(f"two_link_{function}_rolled.c.txt", own(text, function))


def test_cuda_cpp(compiler: Compiler, golden) -> None:
    joints = dict.fromkeys("qva", (0, 1))
    text = header(plan(*compiler.gpu_kernels.exported([FUNCTIONS["id"]])), compiler.facts, joints)
    golden("two_link_id.cuh.txt", text[text.index("/* id:") : text.index("/* Stops template argument deduction")])


def test_program_text(compiler: Compiler, golden) -> None:
    golden("two_link_id.program.txt", show(compiler.best(FUNCTIONS["id"]).code))


def arguments(value: Callable[..., Any]) -> str:
    """As a caller writes them, with what they are if they are left out."""
    parameters = signature(value).parameters.values()
    plain = [parameter.replace(annotation=Parameter.empty) for parameter in parameters if parameter.name != "self"]
    return re.sub(r" at 0x\w+", "", str(Signature(plain)))


def public() -> Iterator[str]:
    """What users may name, a line each: functions, classes with their methods, fields and properties."""
    for name in sorted(condyle.__all__):
        value = getattr(condyle, name)
        if isinstance(value, ModuleType):
            yield from (f"{name}.{one}{arguments(getattr(value, one))}" for one in sorted(value.__all__))
        elif not isinstance(value, type):
            yield f"{name}{arguments(value)}"
        else:
            with suppress(ValueError):  # a class that Python writes in C
                yield f"{name}{arguments(value)}"
            own = {key: what for base in value.__mro__[:-1] for key, what in vars(base).items() if key.isidentifier()}
            for key, what in sorted(own.items()):
                if not key.startswith("_") and base_of(value, key):
                    what = getattr(what, "__func__", what)
                    yield f"{name}.{key}{arguments(what) if isfunction(what) else ''}"


def base_of(value: type, name: str) -> bool:
    """Whether a name of a class is of this package, not of Python's own classes."""
    return any(name in vars(base) and base.__module__.startswith("condyle") for base in value.__mro__)


def test_public_names_and_arguments(golden) -> None:
    golden("public.txt", "\n".join(public()) + "\n")
