"""In which forms users' functions reach recordings, GPUs and exports."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.cuda.target import Form
from condyle.compile.gpu import GpuFunction
from condyle.derivatives import derivative, vjp
from condyle.derivatives.recording import Recording
from condyle.functions import function_or_none
from condyle.symbolic.linear import expanded
from condyle.user import UserFunction
from tests.backends.cuda.simulate import simulate
from tests.processor import slow
from tests.programs import needs
from tests.user.test_function import network, reach


@pytest.fixture(scope="module")
def reached() -> UserFunction:
    return condyle.load("iiwa14").function(reach, inputs={"q": "nq", "v": "nv", "u": 7})


def test_a_recording_may_keep_large_products(monkeypatch: pytest.MonkeyPatch) -> None:
    offered: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def product(self: Recording, left: Any, right: Any) -> Any:
        offered.append((left.shape, right.shape))
        return expanded(left, right)

    monkeypatch.setattr(Recording, "product", product, raising=False)
    sizes = {"n": 6, "h": 64}
    f = condyle.function(network, inputs={"x": "n", "W1": ("h", "n"), "b1": "h", "W2": (1, "h")}, sizes=sizes)
    rng = np.random.default_rng(0)
    given = [rng.normal(size=size) for size in ((9, 6), (64, 6), (64,), (1, 64))]
    np.testing.assert_allclose(f.compile(target="numpy")(*given), f.reference(*given), 1e-12)
    assert offered[0] == ((64, 6), (6, 1)) and all(left == (64, 6) for left, _ in offered)


def test_a_gpu_gets_the_same_functions(reached: UserFunction) -> None:
    assert "traced" in reached.compile(target="cuda").explain(1000)
    compiler = reached.compile(target="cuda")._dynamics._compiler
    for function in (reached.specification, vjp(reached.specification)):
        assert compiler.gpu(function, "float64", 132).line(1000)


@pytest.mark.parametrize("kind", ["", "vjp", slow("jacobian"), slow("hessian")])
def test_a_gpu_computes_them(reached: UserFunction, kind: str) -> None:
    """A thread a state, as PTX that is interpreted."""
    function, rng = reached.specification, np.random.default_rng(3)
    function = derivative(kind, function) if kind else function
    kernels = reached.compile(target="cuda")._dynamics._compiler.gpu_kernels
    gpu = GpuFunction(kernels, function, "float64", 132)
    parts = gpu.launches(Form(1, kernels.usual(function)))
    given = [rng.uniform(-1.0, 1.0, (3, array.size)) for array in parts.inputs]
    known = reached.compile(target="numpy")._dynamics
    want = known.call(function, [x.reshape(3, *array.shape) for x, array in zip(given, parts.inputs, strict=True)])
    for x, y in zip(simulate(parts, given), want, strict=True):
        np.testing.assert_allclose(x, y.reshape(3, -1), rtol=1e-10, atol=1e-11)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_an_export_has_the_function_by_its_name(reached: UserFunction, tmp_path: Path, target: str) -> None:
    files = reached.export(target, tmp_path / "out", derivatives=("vjp",), name="my_arm")
    text = "".join(path.read_text() for path in files if path.suffix in (".h", ".cuh"))
    assert (
        "my_arm" in text and "reach" in text and "vjp_reach" in text and "user_" not in text.replace("user_reach", "")
    )
    assert function_or_none("reach") is None


@pytest.mark.parametrize("name", ["double", "fd", "vjp_fd", "ünlü", "a" * 21, "<lambda>", "module"])
def test_names_that_exports_do_not_take_become_another(name: str, tmp_path: Path) -> None:
    def f(x: Any) -> Any:
        return x * 2.0

    f.__name__ = name
    files = condyle.function(f, inputs={"x": 2}).export("c", tmp_path / "out")
    assert "robot_function.c" in [path.name for path in files]
    assert not any(name in path.read_text() for path in files if name in ("ünlü", "a" * 21, "<lambda>"))


@needs("cc")
@pytest.mark.slow
def test_an_exported_function_passes_its_own_test(reached: UserFunction, tmp_path: Path) -> None:
    reached.export("c", tmp_path / "out", derivatives=("jvp", "vjp", "jacobian"))
    sources = sorted(str(path) for path in (tmp_path / "out").glob("*.c"))
    subprocess.run(["cc", "-O1", *sources, "-lm", "-o", str(tmp_path / "check")], check=True)
    subprocess.run([str(tmp_path / "check")], check=True)


def test_inputs_may_have_names_of_the_librarys_quantities(tmp_path: Path) -> None:
    """Known answers go by what an input is, not by what it is called."""

    def alone(q: Any, v: Any, M: Any) -> Any:
        return M @ v + q[0]

    def of_robot(at: Any, M: Any, active: Any, friction: Any) -> Any:
        return M @ at.v[:3] + active + friction

    robot = condyle.load("iiwa14")
    sizes = {"q": "nq", "v": "nv", "M": (3, 3), "active": 3, "friction": 3}
    functions = condyle.function(alone, {"q": 2, "v": 3, "M": (3, 3)}), robot.function(of_robot, sizes)
    for k, function in enumerate(functions):
        function.export("c", tmp_path / str(k), name="arm")
        assert "M[n][3][3]" in (tmp_path / str(k) / "arm.h").read_text()
