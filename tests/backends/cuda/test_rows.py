"""Kernels for rows of many problems are assembled. Their answers: `tests/gpu/test_scheduled.py`."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.backends.cuda.kernel import link, link_version
from condyle.backends.cuda.launches import over_rows
from condyle.backends.cuda.target import ARCHITECTURES
from condyle.calls.gpu import GpuDynamics
from condyle.errors import BuildError
from condyle.ir.program import Program
from condyle.specification import Function

try:
    link_version()
except BuildError as error:
    pytest.skip(str(error), allow_module_level=True)


def program() -> Program:
    """Rows of 40 numbers, which are staged in tiles of three widths, and sines."""
    function = condyle.function(lambda x, y: {"z": np.sin(x) * y[0], "w": x[:5] + y[1]}, {"x": 45, "y": 2})
    dynamics = function.compile("cuda").dynamics
    assert isinstance(dynamics, GpuDynamics) and isinstance(function.specification, Function)
    return dynamics._compiler.gpu_kernels.size(function.specification).program


@pytest.mark.parametrize("bits", [32, 64])
def test_it_is_assembled(bits: int) -> None:
    for text in over_rows(program(), bits).texts:
        for arch in ARCHITECTURES:
            assert link(text.ptx, arch)[1].spill_stores == 0
