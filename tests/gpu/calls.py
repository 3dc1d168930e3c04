"""Arguments, what the reference answers, and arrays of other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cache
from types import SimpleNamespace

import numpy as np

import condyle
from condyle.api import compiler_of
from condyle.calls.gpu import GpuDynamics
from condyle.compile.compiler import Compiler
from condyle.functions import FUNCTIONS
from tests.backends.cuda.fake_driver import FakeDriver
from tests.forces import function_with

ARGUMENTS = {"q": (7,), "v": (7,), "a": (7,), "tau": (7,), "f_ext": (7, 6), "Minv": (7, 7)}


@cache
def traced() -> Compiler:
    """Programs and texts, made once for all tests."""
    compiler = compiler_of(condyle.load("iiwa14"))
    assert compiler.gpu_kernels.router is compiler  # there before the first copy, so that all copies share them
    return compiler


def dynamics(dtype: str = "float64", kernels: str | Mapping[str, str] = "auto") -> GpuDynamics:
    """A fresh one, that has called no driver yet."""
    dyn = condyle.load("iiwa14").compile(target="cuda", dtype=dtype, kernels=kernels)
    assert isinstance(dyn, GpuDynamics)
    named = dyn._compiler.kernels
    dyn._compiler = copy(traced())
    dyn._compiler.kernels = named
    dyn._compiler.bodies = cache(dyn._compiler._kernel)  # kernels are on the GPU of one test
    return dyn


def given(function: str, n: int, f_ext: bool = False, seed: int = 0) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.uniform(-1, 1, (n, *ARGUMENTS[port.name])) for port in function_with(function, f_ext).inputs]


def wanted(function: str, arguments: list[np.ndarray]) -> tuple[np.ndarray, ...]:
    called = function_with(function, len(arguments) > len(FUNCTIONS[function].inputs))
    return condyle.load("iiwa14").compile(target="numpy").call(called, arguments)


def same(got: object, want: tuple[np.ndarray, ...]) -> None:
    listed = got if isinstance(got, tuple) else (got,)
    for one, other in zip(listed, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


def on_gpu(api: FakeDriver, array: np.ndarray, **changes: object) -> SimpleNamespace:
    """Another library's array."""
    data = np.ascontiguousarray(array)
    address = api.memory.adopt(data.view(np.uint8).reshape(-1))
    interface = {
        "shape": data.shape,
        "typestr": data.dtype.str,
        "data": (address, False),
        "strides": None,
        "version": 2,
    }
    return SimpleNamespace(__cuda_array_interface__={**interface, **changes}, host=data)
