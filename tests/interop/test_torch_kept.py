"""Graphs of PyTorch that are kept, also in files: never another robot's."""

from __future__ import annotations

import gc

import pytest

import condyle
from condyle.derivatives import jacobian
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import repeat
from tests.interop.torch_cases import F64, torch, wrap
from tests.zoo import tool_arm

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # PyTorch's own


class Tip(torch.nn.Module):
    """The place of a tool."""

    def __init__(self, far):
        super().__init__()
        self.far = far.frame_placements

    def forward(self, q):
        return self.far(q).translation * 1.0


def test_a_kept_graph_is_never_another_robots(tmp_path):
    """Its key has the exact place of a frame; and a graph from elsewhere finds the same robot, with any threads."""
    q = torch.zeros(1, 1, dtype=F64)

    def exported(offset, **options):
        far = wrap(tool_arm(offset).compile(frames=("tool",), **options))
        return torch.export.export(Tip(far), (q,)), far

    first, far = exported(0.3)
    torch.export.save(first, tmp_path / "first.pt2")
    assert first.module()(q)[0, 0, 0] == 0.3
    del far
    gc.collect()
    second, kept = exported(0.3 + 1e-9)
    for graph in (first, torch.export.load(tmp_path / "first.pt2")):
        with pytest.raises(UnsupportedError, match=r"not in this process; the nearest .* differs in robot.frames"):
            graph.module()(q)
    assert second.module()(q)[0, 0, 0] == 0.3 + 1e-9
    again = [wrap(tool_arm(0.3).compile(frames=("tool",), threads=1)) for _ in range(2)]
    assert torch.export.load(tmp_path / "first.pt2").module()(q)[0, 0, 0] == 0.3
    from condyle.interop.torch.calls import engine_of  # after PyTorch is known to be there

    keys = {far._maker.engine.key for far in (kept, *again)}
    assert len(keys) == 3
    with pytest.raises(UnsupportedError, match="differs in integrator"):
        engine_of(f"|{wrap(tool_arm(0.3).compile(frames=('tool',), integrator='rk4'))._maker.engine.key}|fk")


def test_a_kept_graph_finds_its_function_by_name_and_checks_its_key():
    """Also one that nobody has asked for in this process, of a user's function too."""
    from condyle.interop.torch.calls import Engine

    def gained(x):
        return {"x": 2.0 * x, "y": x}

    dyn, own = condyle.chain(2, 0).compile(threads=1), condyle.function(gained, {"x": 2}).compile()
    for user, function in (
        (None, FUNCTIONS["fd"].taking("f_ext", "inertias")),
        (None, repeat(FUNCTIONS["step"], 3, ("tau",), every=2)),
        (own.specification, jacobian(own.specification, "x")),
        (own.specification, repeat(own.specification, 3, summed=("y",))),
    ):
        what = Engine(dyn, None, user).what(function)
        other = Engine(dyn, None, user)
        assert other.function(what) == function
        with pytest.raises(UnsupportedError, match="is not the one of this version"):
            other.function(what.rpartition("|")[0])
        with pytest.raises(UnsupportedError, match="is not the one of this version"):
            other.function(what[:-1])
