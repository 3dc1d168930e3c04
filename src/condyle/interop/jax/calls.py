"""The operation behind functions of JAX arrays: a primitive whose derivatives are again calls of it.

A call is a chain of derivatives and a function: ("vj", fd) is the vjp of the jvp of fd. Its arguments all have the same
batch dimensions, or none; its answers have them. Tangents and cotangents of a configuration have nv entries in a call.
`rules` has how calls are differentiated and mapped, and derivatives of rollouts by a scan; `processor` and `gpu` have
what XLA's programs call in their place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from typing import Any, NamedTuple

from condyle.calls.dynamics import Dynamics
from condyle.derivatives import derivative
from condyle.errors import UnsupportedError
from condyle.identity import Parts, digest, key_of
from condyle.interop.gradients import NO_GRADIENT, Layout, layout_of
from condyle.specification import Function
from condyle.specification.ports import Port

jax: Any = import_module("jax")
mlir: Any = import_module("jax.interpreters.mlir")
core: Any = import_module("jax.core")
extend: Any = import_module("jax.extend.core")

Shape = tuple[int, ...]
KIND_OF_LETTER = {"v": "vjp", "j": "jvp"}
TARGET = "condyle_call"


class Engine:
    """What computes. is_tangent: whether tangents of a configuration are the tangent space's, zeros behind."""

    def __init__(self, dyn: Dynamics, held: object, content: str, is_tangent: bool) -> None:
        """held: what must live as long; content: of the user's function that this is of."""
        self.dyn, self.held, self.is_tangent = dyn, held, is_tangent
        self.sizes = dyn.sizes
        self.layout: Layout = layout_of(dyn.__reduce__()[1].robot)
        self.parts: Parts = {**dyn.identity_parts, "function": digest(content)}
        self.key = key_of(self.parts)
        self.numbers: dict[object, int] = {}
        """Those by which XLA calls its functions: see `numbers`."""


class What(NamedTuple):
    """A function that is called: derivatives, the last one first, of a function."""

    engine: Engine
    chain: str
    base: Function

    @property
    def name(self) -> str:
        """For messages."""
        return "".join(f"{KIND_OF_LETTER[letter]}_" for letter in self.chain) + self.base.name

    @property
    def is_there(self) -> bool:
        """Whether the library has this derivative."""
        return _derived(self.chain, self.base) is not None

    @property
    def function(self) -> Function:
        """The derivative; UnsupportedError where there is none."""
        function = _derived(self.chain, self.base)
        if function is None:
            raise UnsupportedError(
                f"{self.name}: the library has no derivative of this order of {self.base.name}: take the highest one "
                "that it has, and differences of that"
            )
        return function

    @property
    def derived(self) -> What:
        """Along tangents."""
        if self.base.repeat is not None and self.base.repeat.until:
            raise UnsupportedError(NO_GRADIENT)
        return self._replace(chain="j" + self.chain)


def _derived(chain: str, function: Function) -> Function | None:
    """None where there is no such derivative."""
    try:
        for letter in reversed(chain):
            function = derivative(KIND_OF_LETTER[letter], function)
    except UnsupportedError:
        return None
    return function


class Dims(NamedTuple):
    """The dimensions of one array, and whether it is a configuration."""

    dims: Shape
    is_q: bool

    def tangent(self, nv: int) -> Dims:
        return Dims((*self.dims[:-1], nv), False) if self.is_q else self


@lru_cache(maxsize=4096)
def ports_of(what: What) -> tuple[list[Dims], list[Dims]]:
    """Of the inputs and of the answers."""
    nv = what.engine.sizes["nv"]
    takes: list[Dims] = _dims(what.base.inputs, what.engine.sizes)
    gives: list[Dims] = _dims(what.base.outputs, what.engine.sizes)
    for letter in reversed(what.chain):
        along: list[Dims] = [port.tangent(nv) for port in takes]
        more: list[Dims] = [port.tangent(nv) for port in gives]
        takes, gives = (takes + more, along) if letter == "v" else (takes + along, more)
    return takes, gives


def _dims(ports: Sequence[Port], sizes: Mapping[str, int]) -> list[Dims]:
    return [Dims(port.shape(sizes), port.dims[-1:] == ("nq",)) for port in ports]


call_p: Any = extend.Primitive("condyle_call")
call_p.multiple_results = True


def called(what: What, *inputs: Any) -> list[Any]:
    """The answers; inputs with one batch for all, or none."""
    return call_p.bind(*alike(*inputs), what=what)


def alike(*inputs: Any) -> list[Any]:
    """The same values, which all differ along the same axes of a `shard_map`."""
    axes = [_axes(x) for x in inputs]
    every = frozenset[Any]().union(*axes)
    return [_varied(x, every - own) for x, own in zip(inputs, axes, strict=True)]


def _axes(x: Any) -> frozenset[Any]:
    """The axes of a `shard_map` along which a value differs."""
    return _axes_of(jax.typeof(x))


def _axes_of(aval: Any) -> frozenset[Any]:
    axes: Any = getattr(getattr(aval, "mat", None), "varying", None)
    return frozenset(getattr(aval, "vma", ()) if axes is None else axes)  # vma: before JAX 0.10


def _varied(x: Any, axes: frozenset[Any]) -> Any:
    """The same value, whose cotangent is summed over these axes."""
    if not axes:
        return x
    if hasattr(jax.lax, "pcast"):
        return jax.lax.pcast(x, tuple(axes), to="varying")
    return jax.lax.pvary(x, tuple(axes))  # JAX 0.8.0 and before


@lru_cache(maxsize=4096)
def _compiled(what: What) -> Any:
    return jax.jit(partial(called, what))


def _computed(*inputs: Any, what: What) -> list[Any]:
    """Outside of `jit`."""
    return _compiled(what)(*inputs)


call_p.def_impl(_computed)


def batch_of(what: What, shapes: Sequence[Shape]) -> Shape:
    """The batch dimensions of a call."""
    pairs = zip(shapes, ports_of(what)[0], strict=True)
    return max((shape[: len(shape) - len(port.dims)] for shape, port in pairs), key=len)


@call_p.def_abstract_eval
def _abstract(*inputs: Any, what: What) -> list[Any]:
    batch, dtype = batch_of(what, [x.shape for x in inputs]), what.engine.dyn.dtype
    shapes = [(*batch, *port.dims) for port in ports_of(what)[1]]
    if not _axes_of(inputs[0]):
        return [core.ShapedArray(shape, dtype) for shape in shapes]
    sharding, spec = inputs[0].sharding, jax.sharding.PartitionSpec
    return [
        inputs[0].update(
            shape=shape, dtype=dtype, weak_type=False, sharding=sharding.update(spec=spec(*[None] * len(shape)))
        )
        for shape in shapes
    ]


def answers_of(what: What, inputs: Sequence[Any]) -> tuple[Shape, list[Any]]:
    """The batch dimensions of a call, and shapes and types of its answers."""
    batch = batch_of(what, [x.shape for x in inputs])
    return batch, [jax.ShapeDtypeStruct((*batch, *port.dims), what.engine.dyn.dtype) for port in ports_of(what)[1]]


def elsewhere(_: Any, *inputs: Any, what: What) -> Any:
    """The error of a call whose arrays lie where its target does not run."""
    target = what.engine.dyn.target
    cure = (
        "put the arrays on an NVIDIA GPU (pip install 'jax[cuda13]' where JAX sees none), or compile(target=\"cpu\")"
        if what.engine.dyn.on_device
        else 'for an NVIDIA GPU compile(target="cuda"); else set JAX_PLATFORMS=cpu, or use '
        'jax.default_device(jax.devices("cpu")[0]) around it'
    )
    raise UnsupportedError(f"{what.name}: target {target!r} does not run where JAX's arrays lie: {cure}")


mlir.register_lowering(call_p, elsewhere)
