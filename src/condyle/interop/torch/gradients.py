"""How functions of tensors are differentiated: by our vjp and jvp, which are functions of tensors again.

`called` is the call; its derivatives call it too, so that they can be differentiated as often as the library has
derivatives. `charted` and `uncharted` stand around configurations with quaternions: see `q_gradient`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from condyle.api import function
from condyle.errors import UnsupportedError
from condyle.interop.gradients import Layout, ambient_gradient, entries_of, step_of, tangent_gradient
from condyle.interop.torch.calls import Engine, call_of, run

# Between gradients by the nq entries of q and tangent ones, compiled: functions of q, called as any other.


class Charts(NamedTuple):
    """Calls, as in `calls`, of (q, x): what `gradients` has, x and the answer with nq entries.

    Tangent ones stand in front, with zeros behind them.
    """

    ambient_gradient: str
    tangent_gradient: str
    entries_of: str
    step_of: str


class Options(NamedTuple):
    """Of `UserFunction.compile`."""

    target: str
    dtype: str
    threads: int | None
    device: int | None


@lru_cache(maxsize=256)
def charts_of(layout: Layout, options: Options) -> Charts:
    """The calls for configurations of one kind."""
    ups, downs = (ambient_gradient, entries_of), (tangent_gradient, step_of)
    up = [_call(layout, options, f, True) for f in ups]
    down = [_call(layout, options, f, False) for f in downs]
    return Charts(up[0], down[0], up[1], down[1])


_HELD: list[Engine] = []
"""Engines of charts: few, and needed by every graph."""


def _call(layout: Layout, options: Options, f: Callable[..., Any], is_up: bool) -> str:
    nq, nv = sum(nq for _, nq, _ in layout), sum(nv for _, _, nv in layout)

    def chart(q: Any, x: Any) -> dict[str, Any]:
        if is_up:
            return {"y": f(np, layout, q, x[:nv])}
        return {"y": np.concatenate([f(np, layout, q, x), np.zeros(nq - nv)])}

    made = function(chart, {"q": nq, "x": nq}).compile(*options)
    _HELD.append(Engine(made.dynamics, made, made.specification))
    return _HELD[-1].what(made.specification)


torch: Any = import_module("torch")

_forward: Any = import_module("torch.autograd.forward_ad")
_transformed: Callable[[], Any] = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)
_modes: Callable[[], Any] = getattr(torch._C, "_len_torch_dispatch_stack", lambda: 1)
_traced: Callable[[], Any] = getattr(torch._C, "_get_tracing_state", lambda: True)
"""What PyTorch says of itself; where it no longer does, calls go the long way."""


INSIDE = (
    "torch.func inside torch.compile does not know these functions: put torch.func outside, or take the derivatives of "
    "the library, such as far.jacobian('fd')"
)


@torch.compiler.assume_constant_result
def _is_transformed() -> bool:
    """Whether a transform of torch.func is being compiled, which would find zeros for gradients."""
    return bool(_transformed())


def _is_forward() -> bool:
    return getattr(_forward, "_current_level", 0) >= 0


def _once(what: str, *inputs: Any) -> tuple[Any, ...]:
    """A call that is not differentiated: compiled graphs have one derivative."""
    return tuple(torch.ops.condyle.call(inputs, what))


def is_plain() -> bool:
    """Whether calls only compute: nothing is compiled, traced, mapped or differentiated forward."""
    if torch.compiler.is_compiling():
        return False
    return not (_transformed() or _modes() or _is_forward() or _traced() is not None)


class _Call(torch.autograd.Function):
    """A function in reverse mode."""

    @staticmethod
    def forward(what: str, *inputs: Any) -> tuple[Any, ...]:
        return _once(what, *inputs)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.what = inputs[0]
        if not torch.compiler.is_compiling():
            ctx.engine = call_of(ctx.what).engine  # lives as long as the graph
        ctx.save_for_backward(*inputs[1:])

    @staticmethod
    def backward(ctx: Any, *bars: Any) -> tuple[Any, ...]:
        call = _once if torch.compiler.is_compiling() else called
        return None, *call("v" + ctx.what, *ctx.saved_tensors, *bars)

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], what: str, *inputs: Any) -> tuple[Any, Any]:
        """One more batch dimension, in front of the others."""
        of, many, size = call_of(what), list(zip(inputs, in_dims[1:], strict=True)), info.batch_size
        ranks = [x.dim() - len(dims) - (d is not None) for (x, d), dims in zip(many, of.takes, strict=True)]
        most, given = max(ranks), list[Any]()
        for k, ((x, d), rank) in enumerate(zip(many, ranks, strict=True)):
            if d is None and k in of.owners:  # its cotangent is not summed over the new dimension
                x, d = x.expand(size, *x.shape), 0
            if d is not None:
                x = x.movedim(d, 0)
                x = x.reshape(size, *(1,) * (most - rank), *x.shape[1:])
            given.append(x)
        answers = list(called(what, *given))
        for k, owner in enumerate(of.owners):
            if owner is not None:
                answers[k] = answers[k].reshape(size, *answers[k].shape[1 + most - ranks[owner] :])
        return tuple(answers), (0,) * len(answers)


class _QuickCall(torch.autograd.Function):
    """A function in reverse mode for `is_plain` calls: one with `setup_context` takes 15 us more."""

    @staticmethod
    def forward(ctx: Any, what: str, *inputs: Any) -> tuple[Any, ...]:
        ctx.what, ctx.engine = what, call_of(what).engine
        ctx.save_for_backward(*inputs)
        return tuple(run(inputs, what))

    backward = _Call.backward


class _CallBothWays(_Call):
    """The same, in forward mode too, which `torch.compile` does not take."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.what = inputs[0]
        if not torch.compiler.is_compiling():
            ctx.engine = call_of(ctx.what).engine  # lives as long as the graph
        ctx.save_for_backward(*inputs[1:])
        ctx.save_for_forward(*inputs[1:])

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        saved = ctx.saved_tensors
        along = [torch.zeros_like(x) if t is None else t for x, t in zip(saved, tangents[1:], strict=True)]
        return called("j" + ctx.what, *saved, *along)


def called(what: str, *inputs: Any) -> tuple[Any, ...]:
    """The answers of a call; `what` as in `calls`."""
    if is_plain():
        for x in inputs:
            if x.requires_grad and torch.is_grad_enabled():
                return _QuickCall.apply(what, *inputs)
        return tuple(run(inputs, what))
    if torch.compiler.is_compiling():
        if _is_transformed():
            raise UnsupportedError(INSIDE)
        recorded = torch.is_grad_enabled() and any(x.requires_grad for x in inputs)  # graphs refuse what is not
        return _Call.apply(what, *_distinct(inputs)) if recorded else _once(what, *inputs)
    return _CallBothWays.apply(what, *inputs)


def _distinct(inputs: Sequence[Any]) -> list[Any]:
    """The same tensors, none twice, which graphs refuse."""
    found: list[Any] = []
    for k, x in enumerate(inputs):
        found.append(x.view_as(x) if any(x is y for y in inputs[:k]) else x)
    return found


class _Chart(torch.autograd.Function):
    """q itself; its derivatives are by the entries of q on this side, tangent ones on the function's."""

    @staticmethod
    def forward(charts: Charts, is_answer: bool, q: Any) -> Any:
        return q.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.charts, ctx.is_answer, q = inputs
        ctx.save_for_backward(output if ctx.is_answer else q)  # the side whose gradients are by entries

    @staticmethod
    def backward(ctx: Any, bar: Any) -> tuple[Any, ...]:
        call = _once if torch.compiler.is_compiling() else called
        what = ctx.charts.tangent_gradient if ctx.is_answer else ctx.charts.ambient_gradient
        return None, None, call(what, *ctx.saved_tensors, bar)[0]

    @staticmethod
    def vmap(info: Any, in_dims: Sequence[int | None], charts: Charts, is_answer: bool, q: Any) -> tuple[Any, int]:
        return _charted(charts, is_answer, q.movedim(in_dims[2], 0)), 0


class _QuickChart(torch.autograd.Function):
    """The same for `is_plain` calls."""

    @staticmethod
    def forward(ctx: Any, charts: Charts, is_answer: bool, q: Any) -> Any:
        ctx.charts, ctx.is_answer = charts, is_answer
        same = q.view_as(q)
        ctx.save_for_backward(same if is_answer else q)
        return same

    backward = _Chart.backward


class _ChartBothWays(_Chart):
    """The same, in forward mode too."""

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.charts, ctx.is_answer, q = inputs
        ctx.save_for_backward(output if ctx.is_answer else q)
        ctx.save_for_forward(output if ctx.is_answer else q)

    @staticmethod
    def jvp(ctx: Any, _: Any, __: Any, along: Any) -> Any:
        what = ctx.charts.entries_of if ctx.is_answer else ctx.charts.step_of
        return called(what, *ctx.saved_tensors, along)[0]


def _charted(charts: Charts, is_answer: bool, q: Any) -> Any:
    if is_plain():
        return _QuickChart.apply(charts, is_answer, q) if q.requires_grad and torch.is_grad_enabled() else q
    return (_Chart if torch.compiler.is_compiling() else _ChartBothWays).apply(charts, is_answer, q)


def charted(charts: Charts, q: Any) -> Any:
    """A configuration on its way into a function."""
    return _charted(charts, False, q)


def uncharted(charts: Charts, q: Any) -> Any:
    """A configuration that a function answered."""
    return _charted(charts, True, q)
