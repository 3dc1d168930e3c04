"""The operator behind functions of PyTorch tensors: `torch.ops.condyle.call(tensors, what)`.

`what` says derivatives, engine and function: "vj|ENGINE|fd" is the vjp of the jvp of fd. PyTorch compiles graphs with
it as a constant, so that it holds on to nothing else. Tangents and cotangents of a configuration have nq entries here,
the tangent's nv in front and zeros behind: PyTorch wants gradients in the shape of what they are of.
"""

from __future__ import annotations

import hashlib
import math
import weakref
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from condyle.derivatives.names import parsed
from condyle.dynamics import Dynamics
from condyle.errors import DeviceError, ShapeError, UnsupportedError
from condyle.functions import FUNCTIONS, found
from condyle.runtime._native import empty
from condyle.runtime.sums import summed

torch: Any = import_module("torch")

Array = NDArray[np.floating]
Shape = tuple[int, ...]
KINDS = {"v": "vjp", "j": "jvp"}


class Engine:
    """What computes, by a key of text: a digest of all that shapes depend on, and a number among those alike."""

    def __init__(self, dyn: Dynamics, held: object, named: str = "") -> None:
        """held: what must live as long; named: the user's function that this is of."""
        self.dyn, self.held = dyn, held
        self.robot, *options = dyn.__reduce__()[1]
        self.sizes = dyn.sizes
        said = hashlib.sha256(f"{self.robot.fingerprint} {options} {named}".encode()).hexdigest()[:16]
        self.key = next(key for key in (f"{said}.{k}" for k in count()) if key not in _ENGINES)
        self.calls: dict[str, Call] = {}
        self._streams: dict[int, Any] = {}
        _ENGINES[self.key] = self

    def on(self, stream: int) -> Any:
        """The `GpuDynamics` whose calls go into this stream."""
        bind: Any = getattr(self.dyn, "on", None)
        if bind is None:
            raise DeviceError(
                f"tensors lie on a GPU, and target {self.dyn.target!r} takes those of the processor: "
                'compile(target="cuda"), or pass x.cpu()'
            )
        if stream not in self._streams:
            self._streams[stream] = bind(stream)
        return self._streams[stream]


_ENGINES: weakref.WeakValueDictionary[str, Engine] = weakref.WeakValueDictionary()


def engine_of(what: str) -> Engine:
    """The engine of a call; what `wrap` answers keeps it, and so do recorded gradients."""
    try:
        return _ENGINES[what.split("|", 2)[1]]
    except KeyError:
        raise UnsupportedError(
            "the object of condyle.interop.torch.wrap is gone: keep it as long as its graphs"
        ) from None


def call_of(what: str) -> Call:
    """What a call needs, made once."""
    engine = engine_of(what)
    known = engine.calls.get(what)
    if known is None:
        known = engine.calls[what] = Call(engine, what)
    return known


def _owners(name: str) -> list[int | None]:
    """Of each answer the input whose batch dimensions it has; None where it has those of all inputs together."""
    known = parsed(name)
    if known is not None and known.kind == "vjp":
        return list(range(len(known.base.inputs)))
    if known is not None and known.kind == "jvp":
        return _owners(known.of)
    return [None] * len(FUNCTIONS[name].outputs)


class Call:
    """One function on tensors.

    takes, gives: the dimensions of inputs and answers as PyTorch has them. owners: see `_owners`.
    """

    def __init__(self, engine: Engine, what: str) -> None:
        chain, _, base = what.split("|", 2)
        self.engine = engine
        self.name = "".join(f"{KINDS[letter]}_" for letter in chain) + base
        if found(self.name) is None:
            raise UnsupportedError(
                f"{FUNCTIONS[base].method}: there is no derivative {self.name!r}; a rollout has its gradient, once"
            )
        function, of = FUNCTIONS[self.name], FUNCTIONS[base]
        self.method = function.method
        self.names = [port.name for port in function.inputs]
        self.takes = [port.shape(engine.sizes) for port in of.inputs]
        self.gives = [port.shape(engine.sizes) for port in of.outputs]
        for letter in reversed(chain):
            more, answers = (self.gives, self.takes) if letter == "v" else (self.takes, self.gives)
            self.takes, self.gives = self.takes + more, answers
        self._inner = [port.shape(engine.sizes) for port in function.inputs]
        self._answers = [port.shape(engine.sizes) for port in function.outputs]
        self.owners = _owners(self.name)
        repeats = function.repeat is not None  # there may be many, of which the `Dynamics` keeps some
        self._compute: Callable[..., Any] | None = None if repeats else engine.dyn.function(self.name)
        self._is_wide = self.takes != self._inner or self.gives != self._answers
        known = parsed(self.name)
        sums = any(owner is not None for owner in self.owners)
        self._sums = sums and known is not None and known.kind != "vjp"  # which sums by itself

    def batches(self, shapes: Sequence[Sequence[int]]) -> tuple[Shape, list[Shape]]:
        """The batch dimensions of all inputs together, and of each answer; ShapeError."""
        own: list[Shape] = []
        for name, shape, dims in zip(self.names, shapes, self.takes, strict=True):
            split = len(shape) - len(dims)
            if split < 0 or tuple(shape[split:]) != dims:
                expected = f"(..., {', '.join(map(str, dims))})"
                raise ShapeError(f"{self.method}: {name} has shape {tuple(shape)}, expected {expected}")
            own.append(tuple(shape[:split]))
        whole = own[0] if all(batch == own[0] for batch in own) else self._broadcast(own)
        return whole, [whole if owner is None else own[owner] for owner in self.owners]

    def _broadcast(self, own: Sequence[Shape]) -> Shape:
        try:
            return tuple(torch.broadcast_shapes(*own))
        except RuntimeError:
            listed = ", ".join(f"{name} {batch}" for name, batch in zip(self.names, own, strict=True))
            raise ShapeError(f"{self.method}: batch dimensions do not broadcast: {listed}") from None

    def shapes(self, given: Sequence[Any]) -> list[Shape]:
        """Of the answers."""
        _, batches = self.batches([x.shape for x in given])
        return [batch + dims for batch, dims in zip(batches, self.gives, strict=True)]

    def scattered(self, given: Sequence[Any]) -> DeviceError:
        """The error of tensors that do not lie together."""
        listed = ", ".join(f"{name} on {x.device}" for name, x in zip(self.names, given, strict=True))
        return DeviceError(f"{self.method}: tensors lie on several devices: {listed}; pass all on one")

    def on_processor(self, given: Sequence[Any]) -> list[Any]:
        """The answers, in fresh memory; inputs are read where they lie."""
        try:
            arrays = [(x.detach() if x.requires_grad else x).numpy() for x in given]
        except TypeError:
            raise self.scattered(given) from None
        if self._is_wide:
            arrays = [self._narrowed(x, dims) for x, dims in zip(arrays, self._inner, strict=True)]
        compute = self._compute or self.engine.dyn.function(self.name)
        found = compute(*arrays)
        answers = cast("Sequence[Any]", found if isinstance(found, tuple) else (found,))
        if self._sums:
            _, batches = self.batches([x.shape for x in given])
            shapes = [batch + dims for batch, dims in zip(batches, self._answers, strict=True)]
            answers = [summed(x, shape) for x, shape in zip(answers, shapes, strict=True)]
        if self._is_wide:
            answers = [self._widened(x, dims) for x, dims in zip(answers, self.gives, strict=True)]
        return [torch.from_numpy(np.asarray(x)) for x in answers]

    def on_gpu(self, given: Sequence[Any], stream: int) -> list[Any]:
        """The answers on the tensors' GPU, ready in the order of the stream."""
        whole, batches = self.batches([x.shape for x in given])
        inputs: list[Any] = []
        for x, dims in zip(given, self._inner, strict=True):
            x = self._narrowed(x.detach(), dims)
            batch = tuple(x.shape[: x.dim() - len(dims)])
            inputs.append((x if batch == whole or math.prod(batch) == 1 else x.expand(whole + dims)).contiguous())
        if math.prod(whole) == 1 or not inputs:
            inputs = [x.expand(whole + dims).contiguous() for x, dims in zip(inputs, self._inner, strict=True)]
        answers = [given[0].new_empty(whole + dims) for dims in self._answers]
        self.engine.on(stream).call(self.name, inputs, None, answers)
        answers = [x.sum_to_size(batch + dims) for x, batch, dims in zip(answers, batches, self._answers, strict=True)]
        pads = [dims[-1] - x.shape[-1] if dims else 0 for x, dims in zip(answers, self.gives, strict=True)]
        return [torch.nn.functional.pad(x, (0, n)) if n else x for x, n in zip(answers, pads, strict=True)]

    def _narrowed(self, x: Any, dims: Shape) -> Any:
        return x[..., : dims[-1]] if dims and x.ndim and x.shape[-1] > dims[-1] else x

    def _widened(self, x: Array, dims: Shape) -> Array:
        if not dims or x.shape[-1] == dims[-1]:
            return x
        wide = empty((*x.shape[:-1], dims[-1]), x.dtype)  # memory that is kept: fresh pages take longer than the copy
        wide[..., : x.shape[-1]] = x
        wide[..., x.shape[-1] :] = 0.0
        return wide


LIBRARY: Any = torch.library.Library("condyle", "DEF")
LIBRARY.define("call(Tensor[] inputs, str what) -> Tensor[]")


def run(inputs: Sequence[Any], what: str) -> list[Any]:
    """The answers, where the first tensor lies."""
    device = inputs[0].device
    if device.type == "cpu":
        return call_of(what).on_processor(inputs)
    if device.type == "meta":
        return _fake(inputs, what)
    if device.type != "cuda":
        raise DeviceError(f"tensors lie on {device}: pass those of the processor or of an NVIDIA GPU, by x.cpu() say")
    return call_of(what).on_gpu(inputs, torch.cuda.current_stream(device).cuda_stream)


def _fake(inputs: Sequence[Any], what: str) -> list[Any]:
    call = call_of(what)
    if any(x.device.type != inputs[0].device.type for x in inputs):
        raise call.scattered(inputs)
    return [inputs[0].new_empty(shape) for shape in call.shapes(inputs)]


for _device in ("CPU", "CUDA"):
    LIBRARY.impl("call", run, _device)
torch.library.register_fake("condyle::call", _fake, lib=LIBRARY)
