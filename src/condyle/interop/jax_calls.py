"""The operation behind functions of JAX arrays: a primitive whose derivatives are again calls of it.

A call is named by a chain of derivatives and a function: ("vj", "fd") is the vjp of the jvp of fd. Its arguments all
have the same batch dimensions, or none; its answers have them. Tangents and cotangents of a configuration have nv
entries in a call. `jax_rules` has how calls are differentiated and mapped.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from importlib import import_module
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from condyle.dynamics import Dynamics
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS, found
from condyle.interop.gradients import Layout, layout_of
from condyle.model.tree import tree_of
from condyle.ports import Port
from condyle.runtime._native import export, xla_handler
from condyle.runtime.native import NativeKernel
from condyle.trace.structure import sizes

jax: Any = import_module("jax")
mlir: Any = import_module("jax.interpreters.mlir")
core: Any = import_module("jax.core")
extend: Any = import_module("jax.extend.core")

Shape = tuple[int, ...]
KINDS = {"v": "vjp", "j": "jvp"}
TARGET = "condyle_call"
_NUMBERS: set[int] = set()


class Engine:
    """What computes. is_tangent: whether tangents of a configuration are the tangent space's, zeros behind."""

    def __init__(self, dyn: Dynamics, held: object, named: str, is_tangent: bool) -> None:
        """held: what must live as long; named: the user's function that this is of."""
        self.dyn, self.held, self.is_tangent = dyn, held, is_tangent
        robot, *options = dyn.__reduce__()[1]
        self.sizes = {**sizes(tree_of(robot)), "n_frames": dyn.n_frames}
        self.layout: Layout = layout_of(robot)
        self._said = f"{robot.fingerprint} {options} {named}"
        self._numbers: dict[str, int | None] = {}

    def number(self, name: str) -> int | None:
        """That by which XLA calls a function; None for one that is no machine code, which Python calls."""
        if name not in self._numbers:
            kernel, number = self.dyn.kernel(name), None
            if isinstance(kernel, NativeKernel):
                number = _number(f"{self._said} {name}")
                export(number, kernel.entry, kernel.single)
                _HELD.append(kernel)
            self._numbers[name] = number
        return self._numbers[name]


_HELD: list[NativeKernel] = []
"""A program of XLA may call these as long as the process lives."""


def _number(said: str) -> int:
    """The same for the same function in every process, so that kept programs of XLA find it."""
    digests = (hashlib.sha256(f"{said} {k}".encode()).digest() for k in count())
    numbers = (int.from_bytes(digest[:8], "little", signed=True) for digest in digests)
    number = next(number for number in numbers if number not in _NUMBERS)
    _NUMBERS.add(number)
    return number


class What(NamedTuple):
    """A function that is called: derivatives, the last one first, of a function by its short name."""

    engine: Engine
    chain: str
    base: str

    @property
    def name(self) -> str:
        return "".join(f"{KINDS[letter]}_" for letter in self.chain) + self.base

    @property
    def derived(self) -> What:
        """Along tangents."""
        return self._replace(chain="j" + self.chain)


class Dims(NamedTuple):
    """The dimensions of one array, and whether it is a configuration."""

    dims: Shape
    is_q: bool

    def tangent(self, nv: int) -> Dims:
        return Dims((*self.dims[:-1], nv), False) if self.is_q else self


@lru_cache(maxsize=4096)
def ports_of(what: What) -> tuple[list[Dims], list[Dims]]:
    """Of the inputs and of the answers."""
    of, nv = FUNCTIONS[what.base], what.engine.sizes["nv"]
    takes: list[Dims] = _dims(of.inputs, what.engine.sizes)
    gives: list[Dims] = _dims(of.outputs, what.engine.sizes)
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
    axes = [_axes(x) for x in inputs]
    every = frozenset[Any]().union(*axes)
    return call_p.bind(*(_varied(x, every - own) for x, own in zip(inputs, axes, strict=True)), what=what)


def _axes(x: Any) -> frozenset[Any]:
    """The axes of a `shard_map` along which a value differs."""
    return _axes_of(jax.typeof(x))


def _axes_of(aval: Any) -> frozenset[Any]:
    return frozenset(getattr(getattr(aval, "mat", None), "varying", ()))


def _varied(x: Any, axes: frozenset[Any]) -> Any:
    """The same value, whose cotangent is summed over these axes."""
    return jax.lax.pcast(x, tuple(axes), to="varying") if axes else x


@lru_cache(maxsize=4096)
def _compiled(what: What) -> Any:
    return jax.jit(partial(called, what))


def _computed(*inputs: Any, what: What) -> list[Any]:
    """Outside of `jit`."""
    return _compiled(what)(*inputs)


call_p.def_impl(_computed)


def _batch(what: What, shapes: Sequence[Shape]) -> Shape:
    pairs = zip(shapes, ports_of(what)[0], strict=True)
    return max((shape[: len(shape) - len(port.dims)] for shape, port in pairs), key=len)


@call_p.def_abstract_eval
def _abstract(*inputs: Any, what: What) -> list[Any]:
    batch, dtype = _batch(what, [x.shape for x in inputs]), what.engine.dyn.dtype
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


def _run(*inputs: Any, what: What) -> list[Any]:
    """By XLA's call of machine code; by Python where there is none, such as with target "numpy"."""
    if found(what.name) is None:
        raise UnsupportedError(
            f"{what.name}: there is no such derivative; a rollout has its gradient, once, in reverse: for others put "
            "the method `step` into jax.lax.scan"
        )
    dyn, batch = what.engine.dyn, _batch(what, [x.shape for x in inputs])
    answers = [jax.ShapeDtypeStruct((*batch, *port.dims), dyn.dtype) for port in ports_of(what)[1]]
    number = what.engine.number(what.name) if math.prod(answers[0].shape) else None
    if number is not None:
        call = jax.ffi.ffi_call(TARGET, answers)
        return list(call(*inputs, number=np.int64(number), threads=np.int64(dyn.threads)))

    def by_python(*arrays: Any) -> Any:
        wanted = [(*batch, *port.dims) for port in ports_of(what)[0]]
        whole = [np.broadcast_to(np.asarray(x), shape) for x, shape in zip(arrays, wanted, strict=True)]
        return list(dyn.call(what.name, whole))

    return list(jax.pure_callback(by_python, answers, *inputs, vmap_method="sequential"))


jax.ffi.register_ffi_target(TARGET, xla_handler(), platform="cpu")
mlir.register_lowering(call_p, mlir.lower_fun(_run, multiple_results=True), platform="cpu")


def _elsewhere(_: Any, *inputs: Any, what: What) -> Any:
    raise UnsupportedError(
        f"{what.name}: this runs on the processor, and JAX's device is another: set JAX_PLATFORMS=cpu, or use "
        'jax.default_device(jax.devices("cpu")[0]) around it'
    )


mlir.register_lowering(call_p, _elsewhere)
