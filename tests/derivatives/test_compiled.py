"""Derivatives as they are compiled, in both number types, against the reference; batches of several states."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.compile.targets import TARGETS
from condyle.functions import function_of
from tests.derivatives.differences import State, every_function
from tests.driven import OPTIONS, driven, needs_drives
from tests.held import held
from tests.processor import slow

DERIVATIVE_KINDS = ("jvp", "vjp", "jacobian", "hessian")
VECTORS = [name for name in every_function() if function_of(name).is_vector]
QUICK = ("id", "fk", "ke", "integrate")
TREE = condyle.random_tree(3, 5, types=("revolute", "helical", "spherical"), floating_base=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("function", [name if name in QUICK else slow(name) for name in VECTORS])
def test_every_kind(function: str, dtype: str) -> None:
    """What float32 may lose where M is solved with grows with the condition of M, which is small here."""
    state = State(TREE, function)
    frames = [name for name, frame in TREE.frames.items() if frame.body >= 0]
    robot, options = (driven(TREE), OPTIONS) if needs_drives(function_of(function)) else (TREE, {})
    dyn = robot.compile(dtype=dtype, frames=(frames[-1], frames[0]), contacts=held(TREE, function), **options)
    more = {"jvp": state.tangent, "vjp": state.cotangent, "hessian": state.cotangent}
    for kind in DERIVATIVE_KINDS:
        name = f"{kind}_{function}"
        expected = state.derived(kind, *([more[kind]] if kind in more else []))
        given = [*state.point, *more.get(kind, [])]
        layouts, _ = dyn._compiler.layouts(function_of(name), TARGETS["numpy"], dtype)
        shapes = [layout.dims for layout in layouts]
        rows = [np.repeat(x, 3, 0).reshape(3, *dims).astype(dtype) for x, dims in zip(given, shapes, strict=True)]
        for one, theirs in zip(dyn.call(name, rows), expected, strict=True):
            flat = np.reshape(one, (3, -1)).astype(np.float64)
            scale = max(1.0, float(np.max(np.abs(theirs), initial=0.0)))
            assert np.array_equal(flat[0], flat[2], equal_nan=True)
            allowed = getattr(function_of(name).accuracy, dtype)
            np.testing.assert_allclose(flat[1], theirs[0], atol=allowed * scale, rtol=0, err_msg=name)
