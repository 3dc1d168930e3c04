"""Gradients of functions on tensors: the library's vjp, PyTorch's own checks, torch.func, rollouts."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import condyle
from condyle.errors import UnsupportedError
from tests.interop.torch_cases import F64, arrays, fixed, floating, hyq, torch, wrap

__all__ = ["fixed", "floating", "hyq"]

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # PyTorch's own


@pytest.mark.parametrize("case", ["fixed", "floating", "hyq"])
def test_gradients_are_those_of_the_vjp(case, request):
    of = request.getfixturevalue(case)
    a = of.far.forward_dynamics(*of.args)
    bar = torch.randn_like(a)
    found = torch.autograd.grad(a, of.args, bar)
    want = of.dyn.vjp("fd")(*arrays(*of.args), bar.numpy())
    assert found[2].shape == of.tau.shape
    assert np.array_equal(found[1].numpy(), want.v) and np.array_equal(found[2].numpy(), want.tau)
    tangent = wrap(of.dyn, q_gradient="tangent")
    (by_q,) = torch.autograd.grad(tangent.forward_dynamics(*of.args), of.q, bar)
    assert np.array_equal(by_q.numpy()[:, : of.robot.nv], want.q) and not by_q[:, of.robot.nv :].any()
    far = wrap(of.dyn, q_gradient="ambient")
    assert torch.equal(torch.autograd.grad(far.forward_dynamics(*of.args), of.q, bar)[0], found[0])


@pytest.mark.parametrize("case", ["fixed", "floating"])
def test_gradcheck_of_both_modes_and_of_second_derivatives(case, request):
    of = request.getfixturevalue(case)
    assert torch.autograd.gradcheck(of.fd, of.args, check_forward_ad=True, atol=1e-4)
    assert torch.autograd.gradgradcheck(of.fd, of.args, check_fwd_over_rev=True, atol=1e-3)


def test_gradcheck_of_a_quadruped(hyq):
    one = [x[0].detach().requires_grad_() if x.dim() == 2 else x for x in hyq.args]
    assert torch.autograd.gradcheck(hyq.fd, one, check_forward_ad=True, atol=1e-4, rtol=1e-4)


def test_gradcheck_of_answers_that_are_configurations(floating):
    def moved(q, v):
        return floating.far.integrate(floating.unit(q), v)

    given = floating.q, floating.v
    assert torch.autograd.gradcheck(moved, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(moved, given, check_fwd_over_rev=True)


def test_forces_and_numbers_of_the_robot_have_gradients(floating):
    q, v, tau = (x.detach() for x in floating.args)
    inertias = torch.from_numpy(np.array(floating.robot.inertias)).requires_grad_()
    f_ext = torch.randn(2, len(inertias), 6, dtype=F64, requires_grad=True)

    def fd(inertias, f_ext):
        return 0.1 * floating.far.forward_dynamics(q, v, tau, f_ext=f_ext, inertias=inertias)

    assert torch.autograd.gradcheck(fd, (inertias, f_ext), check_forward_ad=True, atol=1e-4)
    torch.autograd.grad(fd(inertias, f_ext).sum(), inertias)
    own = floating.far.forward_dynamics(q, v, tau, inertias=inertias)
    assert torch.equal(own, floating.far.forward_dynamics(q, v, tau))


def test_rollout_is_one_call_back_and_its_gradient_is_right(floating):
    tau = 0.1 * torch.randn(2, 3, floating.robot.nv, dtype=F64)
    given = floating.q.detach().requires_grad_(), floating.v.detach().requires_grad_(), tau.requires_grad_()

    def last(q, v, tau):
        return tuple(floating.far.rollout(floating.unit(q), v, tau, 0.01, last=True))

    assert torch.autograd.gradcheck(last, given, atol=1e-5)
    every = floating.far.rollout(*given, 0.01)
    want = floating.dyn.rollout(*arrays(*given), 0.01)
    assert type(every) is type(want) and np.array_equal(every.q.detach().numpy(), want.q)
    kept = floating.far.rollout(*given, 0.01, every=2, gravity=torch.zeros(3, dtype=F64))
    assert kept.q.shape == (2, 2, floating.robot.nq)
    (by_tau,) = torch.autograd.grad(every.v.sum(), tau, create_graph=True)
    with pytest.raises(UnsupportedError, match="derivative"):
        torch.autograd.grad(by_tau.sum(), tau)


def test_gradients_outlive_the_object():
    robot = condyle.chain(2, 1)
    q, v = (torch.from_numpy(x).requires_grad_() for x in robot.random_state(3, 0))
    loss = wrap(robot.compile(threads=1)).forward_dynamics(q, v, v).sum()
    gc.collect()
    loss.backward()
    assert q.grad.shape == q.shape
