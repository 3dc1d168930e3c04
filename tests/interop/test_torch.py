"""Functions on PyTorch tensors: answers as of arrays, users' functions, graphs, what is refused, a GPU that is none."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import DeviceError, DTypeError, ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.specification import Function
from tests.devices import without_gpu
from tests.interop.torch_cases import F64, arrays, fixed, floating, hyq, torch, wrap

__all__ = ["fixed", "floating", "hyq"]

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # PyTorch's own


def test_functions_of_users(floating):
    tip = list(floating.robot.frames)[-1]

    def reach(at, u):
        return {"cost": (at.frame(tip).translation ** 2).sum() + (u**2).sum(), "twice": 2.0 * u}

    f = floating.robot.function(reach, inputs={"q": "nq", "u": 3}).compile(threads=1)
    far, u = wrap(f), torch.randn(3, dtype=F64, requires_grad=True)
    found, want = far(floating.q, u=u), f(*arrays(floating.q, u))
    assert type(found) is type(want) and np.array_equal(found.cost.detach().numpy(), want.cost)
    assert torch.autograd.gradcheck(
        lambda q, u: tuple(far(floating.unit(q), u)), (floating.q, u), check_forward_ad=True
    )
    assert np.array_equal(
        far.hessian("cost")(*floating.args[:1], u).detach(), f.hessian("cost")(*arrays(floating.q, u))
    )
    assert far.jacobian(by="u")(floating.q, u)._fields == f.jacobian(by="u")(*arrays(floating.q, u))._fields
    one = torch.ones((), dtype=F64)
    assert far.vjp()(floating.q, u, one, torch.ones_like(u)).u.shape == (3,)
    assert far.jvp()(floating.q, u, floating.v, u).dcost.shape == (2,)


def test_rollout_of_a_users_function():
    f = condyle.function(lambda x, u: {"x": x + 0.1 * u, "cost": (x * u).sum()}, {"x": 2, "u": 2}).compile(threads=1)
    x, u = torch.randn(2, dtype=F64, requires_grad=True), torch.randn(4, 2, dtype=F64, requires_grad=True)
    far = wrap(f)

    def rolled(x, u):
        return tuple(far.rollout(x, u, by_time="u", sum="cost"))

    assert torch.autograd.gradcheck(rolled, (x, u))
    assert far.rollout(x, u[0], steps=3, last=True, sum="cost").x.shape == (2,)


def test_derivatives_have_the_shapes_of_the_library_and_gradients(floating):
    q, v, tau = floating.args
    bar = torch.randn(2, floating.robot.nv, dtype=F64)
    found, want = floating.far.vjp("fd")(q, v, tau, bar), floating.dyn.vjp("fd")(*arrays(q, v, tau, bar))
    assert type(found) is type(want)
    assert all(np.array_equal(x.detach().numpy(), y) for x, y in zip(found, want, strict=True))
    along = torch.ones_like(torch.from_numpy(np.array(floating.robot.inertias)))
    changed = floating.far.jvp("fd")(q, v, tau, v, v, tau, dinertias=along)
    assert np.array_equal(
        changed.detach().numpy(),
        floating.dyn.jvp("fd")(*arrays(q, v, tau, v, v, tau, along)[:-1], dinertias=along.numpy()),
    )
    assert floating.far.jacobian("fd", by=("f_ext",))(q, v, tau).shape == (2, floating.robot.nv, 3, 6)
    one = torch.ones(2, dtype=F64)
    assert np.array_equal(
        floating.far.hessian("ke")(q, v, one).detach(), floating.dyn.hessian("ke")(*arrays(q, v, one))
    )
    assert torch.autograd.grad(floating.far.jacobian("ke", by="v")(q, v).sum(), v)[0].shape == v.shape


def test_single_precision():
    of = condyle.load("hyq", floating_base=True)
    dyn = of.compile(dtype="float32", threads=1)
    q, v = (torch.from_numpy(x.astype(np.float32)).requires_grad_() for x in of.random_state(4, 0))
    tau = torch.zeros(of.nv, requires_grad=True)
    a = wrap(dyn).forward_dynamics(q, v, tau)
    a.sum().backward()
    assert a.dtype == torch.float32 and q.grad.dtype == torch.float32
    assert np.array_equal(a.detach().numpy(), dyn.forward_dynamics(*arrays(q, v, tau)))


def test_nothing_is_copied(fixed):
    q, v, tau = (x.detach() for x in fixed.args)
    a = fixed.far.forward_dynamics(q, v, tau)
    assert a.is_contiguous() and a.numpy().base is not None and not a.requires_grad
    a.mul_(2.0)  # an answer belongs to its caller
    assert torch.equal(a, 2.0 * fixed.far.forward_dynamics(q, v, tau))
    strided = torch.stack([q, q], -1)[..., 1]
    assert torch.equal(fixed.far.forward_dynamics(strided, v, tau), fixed.far.forward_dynamics(q, v, tau))


def test_opcheck(floating):
    from condyle.interop.torch.calls import Engine

    engine = Engine(floating.dyn, None)
    q, v, tau = (x.detach() for x in floating.args)
    numbers = [torch.from_numpy(np.array(floating.robot.inertias)), torch.from_numpy(np.array(floating.robot.gravity))]
    plain = engine.what(FUNCTIONS["fd"].taking("inertias", "gravity"))
    for what, given in ((plain, [q, v, tau, *numbers]), ("v" + plain, [q, v, tau, *numbers, v])):
        torch.library.opcheck(torch.ops.condyle.call, (given, what))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["fixed", "floating"])
def test_compiled_graphs_have_no_breaks(case, request):
    of = request.getfixturevalue(case)
    tau = torch.randn(2, 3, of.robot.nv, dtype=F64, requires_grad=True)

    def loss(q, v, tau):
        end = of.far.rollout(q, v, tau, 0.01, last=True)
        a = of.far.forward_dynamics(end.q, end.v, tau=tau[:, 0])
        return (a.sin() * a).sum()

    compiled = torch.compile(loss, fullgraph=True)
    given = of.q, of.v, tau
    found, want = compiled(*given), loss(*given)
    assert torch.allclose(found, want)
    for x, y in zip(torch.autograd.grad(found, given), torch.autograd.grad(want, given), strict=True):
        assert torch.allclose(x, y)


@pytest.mark.slow
def test_compiled_graphs_without_gradients_and_with_an_argument_twice(fixed):
    q, v, tau = fixed.args
    jacobian = fixed.far.jacobian("fd", by="q")
    torch.compiler.reset()

    def both(q, v):
        return fixed.far.forward_dynamics(q, v, v), jacobian(q, v, v)

    compiled = torch.compile(both, fullgraph=True, backend="aot_eager")
    for given in ((q, v), (q.detach(), v.detach())):
        assert all(torch.equal(x, y) for x, y in zip(compiled(*given), both(*given), strict=True))
    func = torch.func.grad(lambda q: fixed.far.forward_dynamics(q, v, tau).sum())
    with pytest.raises(Exception, match=r"put torch\.func outside"):
        torch.compile(func, fullgraph=True, backend="aot_eager")(q)


def test_what_does_not_fit_is_said(fixed):
    q, v, tau = fixed.args
    fd = fixed.far.forward_dynamics
    with pytest.raises(
        DTypeError,
        match=r'q is torch.float32, expected torch.float64: pass q.to\(torch.float64\), or compile\(dtype="float32"\)',
    ):
        fd(q.float(), v, tau)
    with pytest.raises(ShapeError, match=r"v has shape \(2, 2\), expected \(..., 3\)"):
        fd(q, v[:, :2], tau)
    with pytest.raises(ShapeError, match="do not broadcast"):
        fd(q, v.expand(3, 2, 3)[:, :1].expand(3, 5, 3), tau)
    with pytest.raises(TypeError, match="'tau' is missing"):
        fd(q, v)
    with pytest.raises(TypeError, match="'inertias' is none of these"):
        fd(q, v, tau, inertias=tau)
    with pytest.raises(TypeError, match="5 arguments given"):
        fd(q, v, tau, None, tau)
    with pytest.raises(UnsupportedError, match="leave out= out"):
        fd(q, v, tau, out=tau)
    with pytest.raises(DTypeError, match="q is dict"):
        fd({}, v, tau)
    with pytest.raises(UnsupportedError, match="time axis"):
        wrap(condyle.function(lambda x: {"x": 2.0 * x}, {"x": 2}).compile()).rollout(torch.ones(2, dtype=F64))
    with pytest.raises(ShapeError, match="expected a time axis"):
        fixed.far.rollout(q, v, tau, 0.1)
    with pytest.raises(UnsupportedError, match="q_gradient='flat'"):
        wrap(fixed.dyn, q_gradient="flat")
    with pytest.raises(UnsupportedError, match=r"wrap\(Robot\)"):
        wrap(fixed.robot)
    with pytest.raises(AttributeError):
        fixed.far.no_such_method
    assert np.array_equal(
        fd([0, 0, 0], [0.0] * 3, torch.zeros(3, dtype=torch.int64)).numpy(),
        fixed.dyn.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3)),
    )


def test_without_pytorch_the_pip_line_is_said(fixed, monkeypatch):
    monkeypatch.setattr(torch, "__version__", "1.13.1+cu117")
    with pytest.raises(UnsupportedError, match=r"PyTorch 1.13.1\+cu117 is too old, 2.6 is needed"):
        wrap(fixed.dyn)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'condyle\[torch\]'"):
        wrap(fixed.dyn)


def test_tensors_of_a_gpu_need_its_target(fixed):
    from condyle.interop.torch.calls import Engine

    with pytest.raises(DeviceError, match=r'compile\(target="cuda"\)'):
        Engine(fixed.dyn, None).on(0)


class FakeGpu:
    """What `GpuDynamics` is to a call: dense arguments of one batch or one row, answers into `out`."""

    def __init__(self, dyn: condyle.Dynamics) -> None:
        self.dyn = dyn

    def call(self, function: Function, args: Any, out: Any) -> None:
        assert all(x.is_contiguous() for x in args)
        self.dyn.call(function, arrays(*args), tuple(arrays(*out)))


def test_calls_on_a_gpu_with_a_fake_one(floating):
    from condyle.interop.torch.calls import Engine, call_of

    dyn, streams = floating.robot.compile(threads=1), list[int]()
    engine = Engine(dyn, None)

    def on(stream: int) -> FakeGpu:
        streams.append(stream)
        return FakeGpu(dyn)

    engine.on = on  # pyright: ignore
    q, v, tau = (x.detach() for x in floating.args)
    more = v.expand(3, 2, -1)
    for what, given in (
        ("|fd", (q, v, tau)),
        ("|fd", (q, more, tau)),
        ("|fd", (q[0], v[0], tau)),
        ("v|fd", (q, more, tau, more)),
        ("j|fd", (q, v, tau, q, v, tau)),
        ("|integrate", (q, more)),
    ):
        chain, name = what.split("|")
        call = call_of(chain + engine.what(FUNCTIONS[name]))
        found, want = call.on_gpu(given, 7), call.on_processor(given)
        assert all(torch.allclose(x, y) and x.shape == y.shape for x, y in zip(found, want, strict=True))
    assert set(streams) == {7}


def test_copies_and_pickles(floating):
    q, v, tau = (x.detach() for x in floating.args)
    want = floating.far.forward_dynamics(q, v, tau)
    for far in (copy.deepcopy(floating.far), pickle.loads(pickle.dumps(floating.far))):
        assert torch.equal(far.forward_dynamics(q, v, tau), want)


def test_tensors_of_other_devices(fixed):
    q, v, tau = (x.detach() for x in fixed.args)
    found = fixed.far.forward_dynamics(q.to("meta"), v.to("meta"), tau.to("meta"))
    assert found.device.type == "meta" and found.shape == q.shape
    with pytest.raises((DeviceError, NotImplementedError)):
        fixed.far.forward_dynamics(q, v.to("meta"), tau)


@pytest.mark.gpu
def test_answers_and_gradients_on_a_gpu(hyq, request):
    torch.cuda.is_available() or without_gpu(request.config, "PyTorch sees no NVIDIA GPU; pip install torch for CUDA")
    far = wrap(hyq.robot.compile(target="cuda"))
    there = [x.detach().cuda().requires_grad_() for x in hyq.args]
    with torch.cuda.stream(torch.cuda.Stream()):
        a = far.forward_dynamics(*there)
        found = torch.autograd.grad(a.sum(), there)
        torch.cuda.current_stream().synchronize()
    want = hyq.far.forward_dynamics(*hyq.args)
    assert torch.allclose(a.cpu(), want)
    for x, y in zip(found, torch.autograd.grad(want.sum(), hyq.args), strict=True):
        assert x.is_cuda and torch.allclose(x.cpu(), y)


def test_program_of_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "pytorch.md"
    code = "".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and code, done.stderr
