"""Between gradients by the nq entries of q and tangent ones, compiled: functions of q, called as any other."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from condyle.api import function
from condyle.interop.gradients import Layout, ambient_gradient, entries_of, step_of, tangent_gradient
from condyle.interop.torch.calls import Engine


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
