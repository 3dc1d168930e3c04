"""Plans of optimal control on JAX arrays: a callback with a vjp of its own."""

from __future__ import annotations

from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from condyle.errors import DTypeError
from condyle.interop.plans import Answers, Plans
from condyle.jobs.optimal_control.solver import Solver, checked

jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")


class JaxSolver:
    """`solve` on JAX arrays, under `jit`, `vmap` and `grad`.

    XLA calls Python for it: about 1 ms a call more, and arrays are copied. There is no second derivative.
    """

    def __init__(self, solver: Solver, is_tangent: bool) -> None:
        self._plans = Plans(solver, is_tangent)
        self._call = lru_cache(maxsize=16)(self._traced)

    def solve(self, q: Any, v: Any, *, most: int = 100, tolerance: float = 1e-6, **inputs: Any) -> Answers:
        """As `Solver.solve`: a named tuple q, v, u, cost, solved. Derivatives are those of `Solver.vjp`."""
        most, dtype = checked(most, tolerance), self._plans.solver.dtype  # not in the callback, whose errors JAX hides
        if dtype == "float64" and not jax.config.jax_enable_x64:
            raise DTypeError(
                "solve: JAX is in single precision, and this solver is float64: "
                'jax.config.update("jax_enable_x64", True) at the start, or compile(dtype="float32")'
            )
        arrays = [jnp.asarray(x, dtype) for x in self._plans.arguments(q, v, inputs)]
        batch = self._plans.batch([x.shape for x in arrays])
        whole = [jnp.broadcast_to(x, (*batch, *d)) for x, d in zip(arrays, self._plans.takes.values(), strict=True)]
        return Answers(*self._call(most, tolerance)(*whole))

    def _traced(self, most: int, tolerance: float) -> Any:
        plans = self._plans

        def called(f: Any, dims: Any, *arrays: Any) -> Any:
            batch = arrays[0].shape[:-1]
            shapes = [jax.ShapeDtypeStruct((*batch, *each), plans.solver.dtype) for each in dims]
            return jax.pure_callback(f, shapes, *arrays, vmap_method="broadcast_all")

        def forward(*arrays: Any) -> Any:
            f = partial(plans.forward, {"most": most, "tolerance": tolerance})
            found, n = called(f, [*plans.gives, *plans.kept.values()], *arrays), len(plans.gives)
            return tuple(found[:n]), (arrays, tuple(found[n:]))

        def backward(kept: Any, bars: Any) -> Any:
            return tuple(called(plans.backward, plans.takes.values(), *kept[0], *kept[1], *bars[:4]))

        def answers(*arrays: Any) -> Any:
            return forward(*arrays)[0]

        solve = jax.custom_vjp(answers)
        solve.defvjp(forward, backward)
        return solve
