"""What a target builds, keeps and hands on, by compilers that stand for long robots or machines that lack something."""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.api import compiler_of
from condyle.backends.cpu import build as machine_code
from condyle.backends.cpu.target import NEEDS
from condyle.compile import LINE, Scans, Target, targets
from condyle.compile.compiler import Compiler
from condyle.compile.kernels.composed import ColumnsKernel, ComposedKernel
from condyle.compile.options import bound_of
from condyle.compile.targets import CPU, CUDA, NUMPY, TARGETS, C, Text, available, by_calls, by_columns, cache_key
from condyle.errors import BuildError
from condyle.functions import FUNCTIONS, function_of
from condyle.runtime.native import NumpyKernel

ARM = condyle.chain(3, rng=0)
Q, V = ARM.random_state(4, 0)


def long_compiler(estimate: int = 10**9) -> Compiler:
    """Of an arm whose functions are all as long as is said."""
    compiler = compiler_of(ARM)
    compiler.estimate = lambda size: estimate
    return compiler


def test_targets_by_their_words() -> None:
    assert [TARGETS[name] for name in ("cpu", "c", "numpy", "cuda")] == [CPU, C, NUMPY, CUDA]
    assert {name: target.name for name, target in TARGETS.items()} == {name: name for name in TARGETS}
    assert [one.scans for one in (CPU, C, NUMPY, CUDA)] == [Scans.SEGMENTS, Scans.NONE, Scans.ALL, Scans.LANES]
    assert [one.is_reference for one in (CPU, C, NUMPY, CUDA)] == [False, False, True, False]
    assert [one.on_device for one in (CPU, C, NUMPY, CUDA)] == [False, False, False, True]
    assert [one.instead for one in (CPU, C, NUMPY, CUDA)] == [NUMPY, None, None, None]
    assert C.instruction_set == "" and C.computes is C


def test_a_target_that_says_nothing_builds_nothing() -> None:
    """A tile is a line of 64 bytes where no instruction set says otherwise."""
    plain = Target()
    assert LINE == 64 and plain.lanes("float64") == 8 and plain.lanes("float32") == 16
    assert plain.kept(None, FUNCTIONS["id"], "float64") is None and plain.instruction_set == ""
    with pytest.raises(NotImplementedError):
        plain.build(None, FUNCTIONS["id"], "float64")


def test_without_machine_code_c_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert CPU.computes is (CPU if machine_code.supported() else C)
    monkeypatch.setattr(machine_code, "supported", tuple)
    assert CPU.computes is C and CPU.instruction_set == "" and available(CPU) is C and available(C) is C
    made: list[tuple[Any, ...]] = []
    module = SimpleNamespace(build=lambda *given: made.append(given))
    monkeypatch.setattr(targets, "import_module", lambda name: made.append((name,)) or module)
    compiler, function = compiler_of(ARM), FUNCTIONS["m"]
    CPU.compiled(compiler, function, compiler.code(function), "float64")
    assert made[0] == ("condyle.backends.c.build",) and made[1][0] == compiler.code(function)
    assert made[1][1].functions == {"m": function} and made[1][2] == "float64"


def test_names_of_users_are_none_of_c(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[Any, ...]] = []
    monkeypatch.setattr(targets, "import_module", lambda _: SimpleNamespace(build=lambda *given: made.append(given)))
    compiler, function = compiler_of(ARM), function_of("vjp_m")
    C.compiled(compiler, function, compiler.code(function), "float32")
    ((code, facts, dtype),) = made
    assert code.name == "made" and facts == compiler.facts and dtype == "float32"


def test_without_machine_code_and_a_compiler_numpy_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise BuildError("no C compiler found")

    monkeypatch.setattr(machine_code, "supported", tuple)
    monkeypatch.setattr(targets, "find_compiler", missing)
    cure = r"NumPy answers instead, much slower\. Install a C compiler \(Debian: apt install gcc\)$"
    with pytest.warns(RuntimeWarning, match=f"^machine code {NEEDS}, and no C compiler found; {cure}"):
        assert available(CPU) is NUMPY


def test_a_compiler_that_is_missing_is_said_once_and_numpy_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where that is noticed when the first function is built; target "c" asks for one."""

    def missing(self: Target, compiler: Compiler, *given: Any) -> None:
        raise BuildError("no C compiler found")

    want = ARM.compile("numpy").mass_matrix(Q)
    monkeypatch.setattr(Text, "build", missing)
    monkeypatch.setattr(targets.MachineCode, "kept", lambda *_: None)
    dyn = ARM.compile("cpu")
    with pytest.warns(RuntimeWarning, match=r"^no C compiler found; NumPy answers instead"):
        assert np.array_equal(dyn.mass_matrix(Q), want)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(dyn.mass_matrix(Q), want)
    with pytest.raises(BuildError, match=r"^no C compiler found$"):
        ARM.compile("c").mass_matrix(Q)


@pytest.mark.parametrize("target", [NUMPY, C, CPU])
def test_jacobians_that_are_too_long_are_columns(target: Target) -> None:
    """Each along a unit vector, by a kernel that is short: the same answers."""
    function, compiler = function_of("jacobian_integrate"), compiler_of(ARM)
    column = function_of("jvp_integrate")
    compiler.estimate = lambda size: 10**9 if size == function.size else 1
    kernel = NumpyKernel(lambda given: [given["dq"] + given["ddv"]], column.inputs, np.dtype("f8"), "plain")
    asked: list[Any] = []
    compiler.kept = lambda *given: asked.append(given) or kernel  # type: ignore[method-assign]
    made = target.build(compiler, function, "float64")
    assert isinstance(made, ColumnsKernel) and made.count == 6 and made.dtype == np.float64
    assert made.description == "6 columns, each plain" and asked == [(column, target, "float64")]
    out = [np.full((4, 9), np.nan) for _ in range(2)]
    made(4, [Q, V], out, 1)
    want = ARM.compile("numpy").jacobian("integrate")(Q, V)
    for found, answer in zip(out, want, strict=True):
        np.testing.assert_allclose(found.reshape(4, 3, 3), answer, rtol=0, atol=1e-15)
    assert by_columns(target, compiler_of(ARM), function, "float64") is None


def test_columns_are_built_where_they_are_not_kept() -> None:
    function, compiler = function_of("jacobian_integrate"), long_compiler()
    built: list[Any] = []
    compiler.kept = lambda *_: None  # type: ignore[method-assign]
    compiler.build = lambda *given: built.append(given)  # type: ignore[method-assign]
    assert by_columns(NUMPY, compiler, function, "float32") is not None
    assert built == [(function_of("jvp_integrate"), NUMPY, "float32")]


@pytest.mark.parametrize("target", [C, CPU])
def test_what_is_too_long_and_has_no_loops_is_by_numpy(target: Target) -> None:
    made, out = target.build(long_compiler(), FUNCTIONS["integrate"], "float64"), np.full((4, 3), np.nan)
    assert isinstance(made, NumpyKernel) and made.description == "NumPy, joints"
    made(4, [Q, V], [out], 1)
    np.testing.assert_allclose(out, Q + V, rtol=0, atol=1e-15)


def test_a_step_of_a_long_robot_is_calls_of_others() -> None:
    compiler = long_compiler()
    asked: list[Any] = []

    def bodies(part: Any, target: Target, dtype: str) -> Any:
        asked.append((part, target, dtype))
        return NUMPY.build(compiler_of(ARM), part, dtype)

    compiler.bodies = bodies  # type: ignore[assignment]
    made = by_calls(C, compiler, FUNCTIONS["step"], "float64")
    assert (
        isinstance(made, ComposedKernel) and made.description == "calls of fd, integrate" and made.dtype == np.float64
    )
    out = [np.full((4, 3), np.nan) for _ in range(2)]
    made(4, [Q, V, V, np.full((4, 1), 0.01)], out, 1)
    want = ARM.compile("numpy").step(Q, V, V, 0.01)
    for found, answer in zip(out, want, strict=True):
        np.testing.assert_allclose(found, answer, rtol=1e-12)
    assert asked == [(FUNCTIONS["fd"], C, "float64"), (FUNCTIONS["integrate"], C, "float64")]
    assert by_calls(C, compiler_of(ARM), FUNCTIONS["step"], "float64") is None


def keyed(function: str = "id", dtype: str = "float64", routes: Any = None, **options: Any) -> Any:
    return cache_key(compiler_of(ARM, routes, bound=bound_of(ARM, **options)), function_of(function), dtype)


def test_a_key_says_all_that_determines_a_kernel() -> None:
    key = keyed()
    assert key == keyed() and key.routes == "[]" and key.name == "id" and key.dtype == "float64"
    tip = (*ARM.frames,)[-1:]
    others = [
        keyed("fd"),
        keyed(dtype="float32"),
        keyed(routes={FUNCTIONS["fd"]: "aba"}),
        keyed("fk", frames=tip),
        keyed("fv", frames=tip),
        keyed("fv", frames=tip, reference_frame="world"),
        keyed("step"),
        keyed("step", integrator="rk4"),
        cache_key(compiler_of(condyle.chain(3, rng=1)), FUNCTIONS["id"], "float64"),
    ]
    assert len({key, *others}) == len(others) + 1
    assert keyed(routes={FUNCTIONS["fd"]: "aba"}).routes == "[('fd', 'aba')]"
    assert keyed("fk", frames=tip).routes.startswith("[] {'frames': (TreeFrame(link=2, ")
    assert keyed(frames=tip) == key, "an option that it does not depend on"


def test_kernels_of_functions_without_content_are_not_kept() -> None:
    plain, user = FUNCTIONS["id"], ARM.function(lambda at: at.q, {"q": "nq"}).compile().specification
    unknown = condyle.specification.Function("ours", "ours", "", plain.inputs, plain.outputs)
    assert [Compiler.keeps(one) for one in (plain, function_of("vjp_id"), user, unknown)] == [True, True, True, False]
    assert CPU.kept(compiler_of(ARM), unknown, "float64") is None
