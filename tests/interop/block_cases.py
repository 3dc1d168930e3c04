"""What functions by blocks must answer as a direct call does, whoever has the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import condyle

N = 90


def of_library(name: str, dtype: str, **options: Any) -> tuple[condyle.Robot, condyle.Dynamics]:
    robot = condyle.load(name, **options)
    return robot, robot.compile(threads=1, dtype=dtype, inputs=("inertias",))


def calls(robot: condyle.Robot, dtype: str) -> Iterator[tuple[str, Callable[[Any], Any], list[Any], dict[str, Any]]]:
    """A name, the method of an object, and its arguments: q, v, u, lam by states; one acceleration for all."""
    draw, nv, bodies = np.random.default_rng(1), robot.nv, len(robot.inertias)
    q, v = (x.astype(dtype) for x in robot.random_state(N, 3))
    u, lam = (draw.normal(size=(N, nv)).astype(dtype) for _ in range(2))
    f, f_one = draw.normal(size=(N, bodies, 6)).astype(dtype), draw.normal(size=(bodies, 6)).astype(dtype)
    pi = (robot.inertias * (1 + 0.1 * draw.random((N, 1, 1)))).astype(dtype)
    own = robot.inertias.astype(dtype)
    yield "forces and numbers by states", lambda x: x.forward_dynamics, [q, v, u], {"f_ext": f, "inertias": pi}
    yield "one for all", lambda x: x.inverse_dynamics, [q, v, u[0]], {"inertias": own * 1.5, "f_ext": f_one}
    yield "vjp, states", lambda x: x.vjp("fd"), [q, v, u, lam], {"inertias": pi}
    yield "vjp, sums", lambda x: x.vjp("fd"), [q, v[0], u, lam], {"f_ext": f_one}
    yield "vjp, one number", lambda x: x.vjp("id"), [q, v, u, lam], {"inertias": own * 0.5, "f_ext": f}
    yield "jacobian by", lambda x: x.jacobian("fd", by=("q", "inertias")), [q, v, u], {"f_ext": f}
    yield "jacobian by forces", lambda x: x.jacobian("fd", by="f_ext"), [q, v, u], {}
    yield "jvp", lambda x: x.jvp("id"), [q, v, u, v, u, lam], {"f_ext": f_one, "df_ext": f}
    yield "hessian by name", lambda x: x.hessian("id"), [q[:9], v[:9]], {"a": u[:9], "lam": lam[0]}
    yield "step's derivatives", lambda x: x.step_derivatives, [q, v, u, np.asarray(0.01, dtype)], {"f_ext": f}
    yield "rollout", lambda x: x.rollout, [q, v, np.stack([u, lam, u], 1), 0.01], {"every": 2, "f_ext": f_one}
    yield "rollout, torques held", lambda x: x.rollout, [q, v, u, 0.01], {"steps": 3, "f_ext": f_one}
    held = np.stack([u[0], lam[0]])
    bar = draw.normal(size=(N, 2, robot.nq)).astype(dtype)[..., :nv]
    yield "rollout's vjp", lambda x: x.vjp("rollout"), [q, v, held, 0.01, bar, bar], {"inertias": own}
    last = {"steps": 4, "last": True, "inertias": own}
    yield "rollout's vjp, torques held", lambda x: x.vjp("rollout"), [q, v, u, 0.01, bar[:, 0], bar[:, 0]], last


def of_user() -> tuple[condyle.Robot, Any]:
    """A function with an output that is the next state, and a number."""
    robot = condyle.load("iiwa14")

    def f(at: Any, u: Any, w: Any) -> Any:
        q, v = at.step(u, 0.01)
        return {"q": q, "v": v, "cost": w * (at.q @ at.q) + u @ u}

    return robot, robot.function(f, inputs={"q": "nq", "v": "nv", "u": "nv", "w": ()}).compile(threads=1)


def calls_of_user(robot: condyle.Robot) -> Iterator[tuple[str, Callable[[Any], Any], list[Any], dict[str, Any]]]:
    draw = np.random.default_rng(2)
    q, v = robot.random_state(N, 4)
    u, w = draw.normal(size=(N, 7)), np.asarray(0.5)
    bars = [draw.normal(size=(N, 7)), draw.normal(size=(N, 7)), draw.normal(size=N)]
    yield "call", lambda x: x, [q, v, u], {"w": 0.5}
    yield "vjp", lambda x: x.vjp(), [q, v, u, w, *bars], {}
    yield "jvp", lambda x: x.jvp(), [q, v, u, w, q, v, u, w], {}
    yield "jacobian", lambda x: x.jacobian(by=("u", "w")), [q, v, u, w], {}
    yield "hessian", lambda x: x.hessian("cost"), [q[:5], v[:5], u[:5], w], {}
    steps = np.stack([u, -u, u], 1)
    yield "rollout", lambda x: x.rollout, [q, v, steps, w], {"by_time": "u", "sum": "cost", "last": True}
    yield "iterate", lambda x: x.iterate, [q, v, u, w], {"until": "cost", "most": 4, "sum": "cost"}
    more = {"by_time": ("u",), "sum": ("cost",)}
    bars = [draw.normal(size=(N, 3, 7)), draw.normal(size=(N, 3, 7)), draw.normal(size=N)]
    yield "rollout's vjp", lambda x: x.vjp("rollout"), [q, v, steps, w, *bars], more


def same(found: Any, want: Any, dtype: str = "float64") -> None:
    """Names, shapes, number types and values; sums have another order."""
    assert getattr(found, "_fields", None) == getattr(want, "_fields", None)
    pairs = zip(found, want, strict=True) if isinstance(want, tuple) else ((found, want),)
    for x, y in pairs:
        assert x.shape == y.shape and x.dtype == y.dtype == np.dtype(dtype)
        if y.size:
            tolerance = 1e-11 if dtype == "float64" else 2e-4
            assert np.abs(np.asarray(x) - y).max() <= tolerance * max(1.0, np.abs(y).max())
