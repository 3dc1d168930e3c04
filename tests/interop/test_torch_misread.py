"""Calls on PyTorch tensors that could be misread: held torques, quaternions, tensors of several devices."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from condyle.errors import DeviceError, ShapeError, ShapeWarning, StateError
from tests.interop.torch_cases import arrays, fixed, floating, torch, wrap

__all__ = ["fixed", "floating"]

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # PyTorch's own


def test_torques_may_be_held(fixed):
    q, v, tau = (x.detach() for x in fixed.args)
    tau = tau.expand(len(q), -1).clone().requires_grad_()
    given, bars = arrays(q, v, tau), np.ones_like(arrays(v)[0])
    found = fixed.far.rollout(q, v, tau, 0.01, steps=4, last=True)
    want = fixed.dyn.rollout(*given, 0.01, steps=4, last=True)
    assert all(np.array_equal(x.detach().numpy(), y) for x, y in zip(found, want, strict=True))
    want = fixed.dyn.vjp("rollout")(*given, 0.01, 0 * bars, bars, steps=4, last=True).tau
    assert np.array_equal(torch.autograd.grad(found.v.sum(), tau)[0].numpy(), want)
    with pytest.warns(ShapeWarning, match=f"read as {len(tau)} time steps") as seen:
        assert fixed.far.rollout(q, v, tau, 0.01).q.shape == (len(q), len(tau), 3)
    assert seen[0].filename == __file__
    with pytest.raises(ShapeError, match="steps=T holds"):
        fixed.far.rollout(*(torch.stack([x, x]) for x in (q, v, tau)), 0.01)


@pytest.mark.slow
def test_compiled_graphs_of_held_torques(fixed):
    q, v, tau = (x.detach() for x in fixed.args)
    tau = tau.expand(len(q), -1).clone()
    for options in ({"steps": 4}, {}):  # the second warns
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ShapeWarning)
            torch.compiler.reset()
            compiled = torch.compile(lambda *of, o=options: fixed.far.rollout(*of, 0.01, **o).q, fullgraph=True)
            assert torch.equal(compiled(q, v, tau), fixed.far.rollout(q, v, tau, 0.01, **options).q)


def test_quaternions_are_looked_at_as_those_of_arrays(floating):
    q, v, tau = (x.detach() for x in floating.args)
    bad = q.clone()
    joint = next(joint for joint in floating.robot.joints if joint.kind.has_quaternion)
    bad[-1, joint.q_slice.stop - 4 : joint.q_slice.stop] *= 1.01
    far, loose = floating.far, wrap(floating.robot.compile(check=False, threads=1))
    for call in (
        lambda: far.forward_dynamics(bad, v, tau),
        lambda: far.vjp("fd")(bad, v, tau, v),
        lambda: far.rollout(bad, v, tau, 0.01, steps=2),
    ):
        with pytest.raises(StateError, match=r"length 1\.01 in state 1") as caught:
            call()
        assert caught.value.rows == (1,)
    assert torch.isfinite(loose.forward_dynamics(bad, v, tau)).all()


def test_tensors_of_several_devices_are_refused(fixed):
    given = [x.detach() for x in fixed.args]
    assert fixed.far.forward_dynamics(*(x.to("meta") for x in given)).device.type == "meta"
    for where in ("cpu cpu meta", "meta cpu cpu", "cpu meta meta"):
        mixed = [x.to(device) for x, device in zip(given, where.split(), strict=True)]
        with pytest.raises(DeviceError, match=r"q on .*, v on .*, tau on .*; pass all on one"):
            fixed.far.forward_dynamics(*mixed)
        with pytest.raises(DeviceError, match="lie on several devices"):
            fixed.far.forward_dynamics(mixed[0].requires_grad_(), *mixed[1:])
