"""The methods of `Dynamics` and of users' functions on JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, cast

import numpy as np

from condyle import specification
from condyle.calls.dynamics import Dynamics
from condyle.calls.rollouts import Options
from condyle.compile.options import numbers_of_compiled
from condyle.errors import DTypeError, ShapeError
from condyle.interop.gradients import is_plain, layout_of
from condyle.interop.jax.calls import KIND_OF_LETTER, Engine, What, called, ports_of
from condyle.interop.wrapped import Form, Function, Functions, Maker
from condyle.specification import Derivative
from condyle.user.function import CompiledFunction

for _part in ("rules", "processor"):
    import_module(f"condyle.interop.jax.{_part}")
jax: Any = import_module("jax")
jnp: Any = import_module("jax.numpy")


LETTERS = {kind: letter for letter, kind in KIND_OF_LETTER.items()}


class JaxMaker(Maker):
    """What all methods of one object share."""

    framework, gradient = "JAX", "jax.grad"

    def __init__(self, dyn: Dynamics, held: object, content: str, is_tangent: bool) -> None:
        options = dyn.__reduce__()[1]
        if dyn.on_device:
            import_module("condyle.interop.jax.gpu")
        self.engine = Engine(dyn, held, content, is_tangent or is_plain(layout_of(options.robot)))
        self.sizes, self.dtype = self.engine.sizes, dyn.dtype
        self.numbers = numbers_of_compiled(options)

    def what(self, function: specification.Function) -> What:
        chain = ""
        while isinstance(function.origin, Derivative) and function.origin.kind in LETTERS:
            chain, function = chain + LETTERS[function.origin.kind], function.origin.function
        return What(self.engine, chain, function)

    def repeated(self, what: What, *options: Any) -> What:
        return what._replace(base=Options(*options).repeated(what.base))

    def number(self, name: str, like: Any) -> Any:
        return self.numbers[name]

    def filled(self, shape: tuple[int, ...], value: float, like: Any) -> Any:
        return np.full(shape, value, self.dtype)

    def call(self, what: What, form: Form, arguments: Sequence[Any], method: str) -> Any:
        if self.dtype == np.float64 and not jax.config.jax_enable_x64:
            raise DTypeError(
                f"{method}: JAX is in single precision, and these functions are float64: "
                'jax.config.update("jax_enable_x64", True) at the start, or compile(dtype="float32")'
            )
        arrays = [self._array(method, name, x) for (name, _), x in zip(form.takes, arguments, strict=True)]
        own, whole = self._batches(what, form, arrays, method)
        triples = zip(arrays, own, ports_of(what)[0], strict=True)
        inputs = [x if b in ((), whole) else jnp.broadcast_to(x, (*whole, *port.dims)) for x, b, port in triples]
        found = called(what, *inputs)
        if what.chain.startswith("v"):  # cotangents have their inputs' own shapes
            found = [_summed(x, whole, batch) for x, batch in zip(found, own, strict=False)]
        return found[0] if form.result is None else form.result(*found)

    def _batches(
        self, what: What, form: Form, arrays: Sequence[Any], method: str
    ) -> tuple[list[tuple[int, ...]], tuple[int, ...]]:
        """The batch dimensions of each, and of all together."""
        own: list[tuple[int, ...]] = []
        for (name, _), x, port in zip(form.takes, arrays, ports_of(what)[0], strict=True):
            split = x.ndim - len(port.dims)
            if split < 0 or tuple(x.shape[split:]) != port.dims:
                expected = f"(..., {', '.join(map(str, port.dims))})"
                raise ShapeError(f"{method}: {name} has shape {tuple(x.shape)}, expected {expected}")
            own.append(tuple(x.shape[:split]))
        try:
            whole = np.broadcast_shapes(*own)
        except ValueError:
            listed = ", ".join(f"{name} {batch}" for (name, _), batch in zip(form.takes, own, strict=True))
            raise ShapeError(f"{method}: batch dimensions do not broadcast: {listed}") from None
        return own, whole

    def _array(self, method: str, name: str, value: Any) -> Any:
        """An argument as a JAX array of the right dtype; lists and integers convert."""
        if hasattr(value, "__dask_graph__"):
            raise DTypeError(f"{method}: {name} is lazy: use condyle.interop.dask.wrap(dyn), or pass {name}.compute()")
        if value is None or isinstance(value, dict):
            raise DTypeError(f"{method}: {name} is {type(cast(object, value)).__name__}, expected an array")
        dtype = getattr(value, "dtype", None)
        if dtype is None or jnp.issubdtype(dtype, jnp.integer) or jnp.issubdtype(dtype, bool):
            try:
                return jnp.asarray(value, dtype=self.dtype)
            except (TypeError, ValueError) as error:
                raise DTypeError(f"{method}: {name} cannot be read as an array: {error}") from error
        if dtype == self.dtype:
            return jnp.asarray(value)
        cure = f', or compile(dtype="{dtype}")' if str(dtype) in ("float32", "float64") else ""
        raise DTypeError(
            f"{method}: {name} is {dtype}, expected {self.dtype}: pass {name}.astype({self.dtype!s}){cure}"
        )


def _summed(x: Any, whole: tuple[int, ...], batch: tuple[int, ...]) -> Any:
    """Over the batch dimensions that an input lacks."""
    if batch == whole:
        return x
    more = len(whole) - len(batch)
    axes = [k for k, size in enumerate(whole) if k < more or batch[k - more] != size]
    return jnp.sum(x, tuple(axes)).reshape((*batch, *x.shape[len(whole) :]))


def functions(dyn: Dynamics, is_tangent: bool) -> Functions:
    """The functions of a robot on JAX arrays."""
    return Functions(dyn, JaxMaker(dyn, dyn, "", is_tangent), (functions, (dyn, is_tangent)))


def function(compiled: CompiledFunction, is_tangent: bool) -> Function:
    """A user's function on JAX arrays."""
    made = JaxMaker(compiled.dynamics, compiled, compiled.specification.content, is_tangent)
    return Function(compiled, made, (function, (compiled, is_tangent)))
